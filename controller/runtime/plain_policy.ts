/** ML policy plain: nodes that need not find each other (contract trainjob.md 4.6). */
import type { MlPolicyPlugin } from "./ml_policy.ts";

/** Node count and variables of the trainer are all it has; the stages before it have set them. */
export const plainPolicy: MlPolicyPlugin = {
  name: "plain",
  isFor: (policy) => !policy?.torch,
  apply: () => undefined,
};
