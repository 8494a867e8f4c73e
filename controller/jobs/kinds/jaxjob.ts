/** JAXJob: the processes of jax.distributed; the first worker coordinates. */
import type { EnvVar } from "../../../platform/kube/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules } from "../kind_rules.ts";
import { type Replica, replicaName, replicasOf, type Run, totalReplicas } from "../run.ts";
import { portOf, variables } from "./rendezvous.ts";
import { decides } from "./verdicts.ts";

const kind = V1_KINDS.JAXJob;

function environment(run: Run, { of, index }: Replica): EnvVar[] {
  const worker = replicasOf(run, "Worker") ?? of;
  return variables({
    PYTHONUNBUFFERED: 1,
    COORDINATOR_PORT: portOf(run, worker),
    COORDINATOR_ADDRESS: replicaName(run, { of: worker, index: 0 }),
    NUM_PROCESSES: totalReplicas(run),
    PROCESS_ID: index,
  });
}

export const jaxJob: KindRules = {
  kind,
  environment,
  isMaster: (_, { index }) => index === 0,
  judge: decides,
  namesNamespace: () => true,
};
