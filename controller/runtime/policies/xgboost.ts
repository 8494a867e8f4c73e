/** ML policy xgboost: the variables by which workers find their tracker. */
import { type FieldProblem, forbidden } from "../../../crds/field_problem.ts";
import { RENDEZVOUS_PORT, XGBOOST_ENV } from "../../../crds/policy_names.ts";
import { type Draft, trainerContainer } from "../draft.ts";
import { COMPLETION_INDEX, declareRendezvous, firstNode } from "../pod_addresses.ts";
import { trainerCount } from "../node_counts.ts";
import { gpusOf } from "../node_resources.ts";
import type { Policy } from "../policy.ts";

const RESERVED: readonly string[] = Object.values(XGBOOST_ENV);

/** Workers of all nodes: one for each GPU, else one for each node. */
function workers(draft: Draft): number {
  const gpus = gpusOf(trainerContainer(draft)?.resources);
  return trainerCount(draft) * Math.max(1, gpus);
}

function envProblems({ trainJob }: Draft): FieldProblem[] {
  return (trainJob.spec.trainer?.env ?? []).flatMap(({ name }, index) =>
    RESERVED.includes(name)
      ? [forbidden(`spec.trainer.env[${index}]`, `${name} is reserved for the XGBoost runtime`)]
      : []
  );
}

/** The tracker runs in node 0; the task of a node is its index. */
export const xgboost: Policy = {
  validate: envProblems,
  variables: (draft) => [
    { name: XGBOOST_ENV.trackerUri, value: firstNode(draft) },
    { name: XGBOOST_ENV.trackerPort, value: String(RENDEZVOUS_PORT) },
    { name: XGBOOST_ENV.taskId, valueFrom: COMPLETION_INDEX },
    { name: XGBOOST_ENV.numWorker, value: String(workers(draft)) },
  ],
  apply: declareRendezvous,
};
