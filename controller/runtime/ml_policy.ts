/** Stage: the ML policy of the runtime, by which nodes find each other (contract trainjob.md 4). */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { MlPolicy } from "../../crds/training_runtime.ts";
import type { Draft, Stage } from "./draft.ts";
import { plainPolicy } from "./plain_policy.ts";
import { torchPolicy } from "./torch_policy.ts";

/** One way of distributing a training. */
export interface MlPolicyPlugin {
  readonly name: string;
  readonly isFor: (policy: MlPolicy | undefined) => boolean;
  readonly apply: (draft: Draft) => FieldProblem | undefined;
}

/** All that are executed; each decides for itself, in this order. */
export const ML_POLICIES: readonly MlPolicyPlugin[] = [plainPolicy, torchPolicy];

/** Applies every plugin that the runtime's policy asks for. */
export const mlPolicy: Stage = {
  name: "mlPolicy",
  apply(draft) {
    for (const plugin of ML_POLICIES) {
      const problem = plugin.isFor(draft.mlPolicy) ? plugin.apply(draft) : undefined;
      if (problem) return problem;
    }
    return undefined;
  },
};
