/** ML policy jax: the variables of `jax.distributed`. */
import { JAX_ENV, RENDEZVOUS_PORT } from "../../../crds/policy_names.ts";
import { COMPLETION_INDEX, declareRendezvous, firstNode } from "../pod_addresses.ts";
import { trainerCount } from "../node_counts.ts";
import type { Policy } from "../policy.ts";

/** Every node is one process. The TrainJob's own variables win, as upstream. */
export const jax: Policy = {
  variables: (draft) => [
    { name: JAX_ENV.numProcesses, value: String(trainerCount(draft)) },
    { name: JAX_ENV.processId, valueFrom: COMPLETION_INDEX },
    { name: JAX_ENV.coordinatorAddress, value: `${firstNode(draft)}:${RENDEZVOUS_PORT}` },
  ],
  apply: declareRendezvous,
};
