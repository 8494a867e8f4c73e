/** MPIJob (v1): a launcher that reaches its workers through the API server, without SSH. */
import type { EnvVar } from "../../../crds/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules, Standing, TypeVerdict } from "../kind_rules.ts";
import { type Replica, replicaName, replicasOf, type Run } from "../run.ts";
import { mpiChildren, mpiPodLists } from "./mpi_children.ts";
import { launcherEnvironment, mpiPodSpec } from "./mpi_replicas.ts";
import { decides, failsOnly } from "./verdicts.ts";

function environment(_: Run, { of }: Replica): EnvVar[] {
  const [container] = of.template.spec?.containers ?? [];
  return of.type === "Launcher" && container ? launcherEnvironment(of, container) : [];
}

/** A worker that failed ends the job: the launcher cannot reach it any more. */
function judge(run: Run, type: string, standing: Standing): TypeVerdict {
  return type === "Launcher" ? decides(run, type, standing) : failsOnly(standing, type);
}

/** The names of the workers that run. */
function runningWorkers(run: Run, standing: Standing): string[] {
  const of = replicasOf(run, "Worker");
  if (of === undefined) return [];
  return standing.pods(of.type).filter(({ pod }) => pod.status?.phase === "Running")
    .map(({ index }) => replicaName(run, { of, index }));
}

export const mpiJob: KindRules = {
  kind: V1_KINDS.MPIJob,
  environment,
  onlyFirstContainer: true,
  isMaster: (_, { of }) => of.type === "Launcher",
  shape: mpiPodSpec,
  podLists: mpiPodLists,
  children: (run, standing) => mpiChildren(run, runningWorkers(run, standing)),
  judge,
  namesNamespace: () => false,
};
