/** MPIJob (v1): a launcher that reaches its workers through the API server, without SSH. */
import type { EnvVar } from "../../../platform/kube/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules } from "../kind_rules.ts";
import { isLauncher, type Replica, type Run } from "../run.ts";
import { mpiChildren, mpiPodLists, mpiRole } from "./mpi_children.ts";
import { launcherEnvironment, mpiPodSpec } from "./mpi_replicas.ts";
import { decidedBy } from "./verdicts.ts";

function environment(_: Run, { of }: Replica): EnvVar[] {
  const [container] = of.template.spec?.containers ?? [];
  return of.type === "Launcher" && container ? launcherEnvironment(of, container) : [];
}

export const mpiJob: KindRules = {
  kind: V1_KINDS.MPIJob,
  environment,
  onlyFirstContainer: true,
  isMaster: (_, { of }) => of.type === "Launcher",
  shape: mpiPodSpec,
  podLists: mpiPodLists,
  grants: (run, byType) => [mpiRole(run, byType)],
  isLast: isLauncher,
  children: mpiChildren,
  /** A worker that failed ends the job: the launcher cannot reach it any more. */
  judge: decidedBy(() => "Launcher"),
  namesNamespace: () => false,
};
