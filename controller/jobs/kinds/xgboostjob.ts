/** XGBoostJob: Rabit's or LightGBM's master and workers. */
import type { EnvVar } from "../../../platform/kube/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules } from "../kind_rules.ts";
import { variableBytes } from "../../job_bounds.ts";
import {
  type Replica,
  replicaName,
  type Replicas,
  replicasOf,
  type Run,
  totalReplicas,
} from "../run.ts";
import { mostContainers, portOf, rankAfterMasters, variables } from "./rendezvous.ts";
import { decidedBy } from "./verdicts.ts";

const kind = V1_KINDS.XGBoostJob;
const ADDRESSES = "WORKER_ADDRS";

/** The names of the workers, for LightGBM; as many as there are besides one master. */
function* workerNames(run: Run, worker: Replicas): Generator<string> {
  const names = totalReplicas(run) - 1;
  for (let index = 0; index < names; index++) yield replicaName(run, { of: worker, index });
}

function workerEnvironment(run: Run, total: number): EnvVar[] {
  const worker = replicasOf(run, "Worker");
  if (total <= 1 || worker === undefined) return [];
  const names = [...workerNames(run, worker)];
  return variables({ WORKER_PORT: portOf(run, worker), [ADDRESSES]: names.join() });
}

function podLists(run: Run) {
  const worker = replicasOf(run, "Worker");
  if (worker === undefined) return [];
  const pieces = workerNames(run, worker).map((name) => `${name},`);
  return [{ name: ADDRESSES, pieces, maxBytes: variableBytes(ADDRESSES, mostContainers(run)) }];
}

function environment(run: Run, { of, index }: Replica): EnvVar[] {
  const master = replicasOf(run, "Master");
  const total = totalReplicas(run);
  return [
    ...variables({
      MASTER_PORT: portOf(run, master),
      MASTER_ADDR: `${run.name}-master-0`,
      WORLD_SIZE: total,
      RANK: rankAfterMasters(run, of.type, index),
      PYTHONUNBUFFERED: 1,
    }),
    ...workerEnvironment(run, total),
  ];
}

export const xgBoostJob: KindRules = {
  kind,
  environment,
  podLists,
  isMaster: (_, { of }) => of.type === "Master",
  judge: decidedBy(() => "Master"),
  namesNamespace: () => false,
};
