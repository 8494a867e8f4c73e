/** Validation of TrainingRuntimes and ClusterTrainingRuntimes beyond the schema. Pure. */
import { sameJson } from "../platform/base/json.ts";
import type { FieldProblem } from "../crds/field_problem.ts";
import { ANNOTATIONS, LABELS } from "../crds/names.ts";
import { readStallPolicy } from "../crds/stall_policy.ts";
import { readTimeToLive } from "../crds/time_to_live.ts";
import type { AnyTrainingRuntime, TrainingRuntimeSpec } from "../crds/training_runtime.ts";
import { valueProblems } from "./trial_annotations.ts";

/** Problems for which an object is refused, and warnings that its user is shown either way. */
export interface Verdict {
  readonly problems: readonly FieldProblem[];
  readonly warnings: readonly string[];
}

/** Returns every problem of a runtime's spec. */
export type RuntimeRules = (spec: TrainingRuntimeSpec) => readonly FieldProblem[];

/** Value of the support label that calls for a warning. */
const DEPRECATED = "deprecated";
const DEPRECATION_POLICY =
  "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy";

const READERS = {
  [ANNOTATIONS.timeToLive]: readTimeToLive,
  [ANNOTATIONS.stallPolicy]: readStallPolicy,
};

/** Reports whether the runtime is deprecated. */
export function isDeprecated(runtime: AnyTrainingRuntime): boolean {
  return runtime.metadata.labels?.[LABELS.support] === DEPRECATED;
}

/** Returns the warning about a deprecated runtime; `subject` begins the sentence. */
export function deprecationWarning(subject: string): string {
  return `${subject} is deprecated and will be removed in a future release of Kubeflow Trainer. ` +
    `See runtime deprecation policy: ${DEPRECATION_POLICY}`;
}

/**
 * Judges a runtime, of either kind, at creation and at every change of its spec (G18), and of its annotations. Any
 * other change of only its metadata is admitted.
 */
export function validateRuntime(
  runtime: AnyTrainingRuntime,
  old: AnyTrainingRuntime | undefined,
  rules: RuntimeRules,
): Verdict {
  const warnings = old === undefined && isDeprecated(runtime)
    ? [deprecationWarning(`${runtime.kind} "${runtime.metadata.name}"`)]
    : [];
  const { spec } = runtime;
  const isUnchanged = old !== undefined && sameJson(spec, old.spec);
  const ofSpec = spec === undefined || isUnchanged ? [] : rules(spec);
  return { problems: [...valueProblems(runtime, old, READERS), ...ofSpec], warnings };
}
