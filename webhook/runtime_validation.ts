/** Rules of TrainingRuntimes and ClusterTrainingRuntimes beyond the schema (contract trainjob.md 6). Pure. */
import { isDeepStrictEqual } from "node:util";
import type { ReplicatedJob } from "../crds/jobset.ts";
import { IDENTITY_VOLUME, LABELS, STEP_CONTAINERS } from "../crds/names.ts";
import type { AnyTrainingRuntime, TrainingRuntimeSpec } from "../crds/training_runtime.ts";
import { type FieldProblem, forbidden, invalid } from "../crds/field_problem.ts";
import { containersOf, hasNamed, podSpecOf, replicatedJobsOf, stepOf } from "./runtime_template.ts";

/** A problem as other rooms report it: a text, or a text with the field that it is about. */
export type ReportedProblem = string | FieldProblem;

/** What is wrong, and what the user should know anyway. */
export interface Verdict {
  readonly problems: readonly FieldProblem[];
  readonly warnings: readonly string[];
}

/** Value of the support label that calls for a warning. */
const DEPRECATED = "deprecated";
const DEPRECATION_POLICY =
  "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy";

/** Whether the runtime is on its way out. */
export function isDeprecated(runtime: AnyTrainingRuntime): boolean {
  return runtime.metadata.labels?.[LABELS.support] === DEPRECATED;
}

/** What a deprecated runtime is said to be; `subject` begins the sentence. */
export function deprecationWarning(subject: string): string {
  return `${subject} is deprecated and will be removed in a future release of Kubeflow Trainer. ` +
    `See runtime deprecation policy: ${DEPRECATION_POLICY}`;
}

function jobProblems(job: ReplicatedJob, field: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (podSpecOf(job)?.volumes?.some((volume) => volume.name === IDENTITY_VOLUME.name)) {
    const detail = `volume ${IDENTITY_VOLUME.name} is reserved for the pod's identity`;
    problems.push(forbidden(`${field}.template.spec.template.spec.volumes`, detail));
  }
  const step = stepOf(job);
  if (step === undefined) return problems;
  if ((job.replicas ?? 1) !== 1) {
    problems.push(invalid(`${field}.replicas`, job.replicas, "always must be 1"));
  }
  if (!hasNamed(containersOf(job), STEP_CONTAINERS[step])) {
    problems.push(
      invalid(
        `${field}.template.spec.template.spec.containers`,
        containersOf(job).map((container) => container.name),
        `must contain the required container for the ancestor: ${step}`,
      ),
    );
  }
  return problems;
}

/** What another room says about a runtime's spec, as problems of the runtime's fields. */
function reported(problems: readonly ReportedProblem[]): FieldProblem[] {
  return problems.map((problem) =>
    typeof problem === "string"
      ? forbidden("spec", problem)
      : forbidden(problem.field, problem.message)
  );
}

/**
 * Judges a runtime, of either kind, at creation and at every change of its spec (G18). A change of
 * its metadata alone is always admitted.
 *
 * @param unsupported names what a spec asks for and nothing executes
 */
export function validateRuntime(
  runtime: AnyTrainingRuntime,
  old: AnyTrainingRuntime | undefined,
  unsupported: (spec: TrainingRuntimeSpec) => readonly ReportedProblem[],
): Verdict {
  const warnings = old === undefined && isDeprecated(runtime)
    ? [deprecationWarning(`${runtime.kind} "${runtime.metadata.name}"`)]
    : [];
  const { spec } = runtime;
  if (spec === undefined || (old !== undefined && isDeepStrictEqual(spec, old.spec))) {
    return { problems: [], warnings };
  }
  const jobs = replicatedJobsOf(spec);
  const problems = jobs.flatMap((job, index) =>
    jobProblems(job, `spec.template.spec.replicatedJobs[${index}]`)
  );
  return { problems: [...problems, ...reported(unsupported(spec))], warnings };
}
