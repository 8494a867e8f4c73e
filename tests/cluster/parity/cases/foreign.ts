/** TrainJobs for whose children there are objects of somebody else, or of nobody. */
import type { CaseTable } from "../case.ts";
import type { Manifest } from "../manifest.ts";
import {
  container,
  create,
  type Fields,
  job,
  node,
  renders,
  runtime,
  trainJob,
} from "../sketches.ts";

const object = (kind: "ConfigMap" | "Secret", name: string, more: Fields = {}): Manifest => ({
  apiVersion: "v1",
  kind,
  metadata: { name, labels: { of: "somebody" } },
  ...more,
});
const JOBS = [node(), job("launcher", { containers: [container("node")] })];
const beside = (foreign: Manifest, policy: Fields = {}) => [
  { actions: [create(foreign)] },
  ...renders(
    runtime({ mlPolicy: { numNodes: 1, ...policy }, jobs: JOBS }),
    trainJob({ trainer: { numNodes: 1 } }),
  ),
];
const MPI = { mpi: {} };
const FLUX = { flux: {} };

/** See above. */
export const FOREIGN: CaseTable = {
  "a snapshot of that name that is nobody's": beside(
    object("ConfigMap", "tj-runtime-snapshot", { data: { runtime: "mine" } }),
  ),
  "a hostfile of that name that is nobody's": beside(
    object("ConfigMap", "tj-mpi-hostfile", { data: { hostfile: "mine", other: "x" } }),
    MPI,
  ),
  "keys of mpi of that name that are nobody's": beside(
    object("Secret", "tj-mpi-ssh-auth", { stringData: { mine: "x" } }),
    MPI,
  ),
  "scripts of flux of that name that are nobody's": beside(
    object("ConfigMap", "tj-flux-entrypoint", { data: { mine: "x" } }),
    FLUX,
  ),
  "a certificate of flux of that name that is nobody's": beside(
    object("Secret", "tj-flux-curve", { stringData: { mine: "x" } }),
    FLUX,
  ),
};
