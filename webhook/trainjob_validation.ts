/** Validation of TrainJobs beyond the schema. Pure; the rules of rendering come as a function. */
import { sameJson } from "../platform/base/json.ts";
import { type FieldProblem, forbidden, invalid } from "../crds/field_problem.ts";
import { TRAINJOB } from "../crds/job_kinds.ts";
import type { JobSet } from "../crds/jobset.ts";
import { KINDS } from "../crds/kinds.ts";
import type { AnyTrainingRuntime } from "../crds/training_runtime.ts";
import { runtimeRefOf, type TrainJob } from "../crds/trainjob.ts";
import { deprecationWarning, isDeprecated, type Verdict } from "./runtime_validation.ts";
import { samePatches } from "./trainjob_defaulting.ts";
import { annotationWarnings, trialAnnotationProblems } from "./trial_annotations.ts";

/**
 * Returns every problem of a TrainJob with its runtime; for an update, with `old`, only those that the
 * TrainJob did not have before.
 */
export type TrainJobRules = (
  job: TrainJob,
  runtime: AnyTrainingRuntime,
  old?: TrainJob,
) => readonly FieldProblem[];

const ownWarnings = (job: TrainJob, old?: TrainJob) =>
  annotationWarnings(job, old, TRAINJOB.foreignController?.(job));

/** Optional fields that are immutable; the schema's own rule misses their addition and removal (G3). */
const FROZEN_FIELDS = ["initializer", "trainer", "activeDeadlineSeconds"] as const;

const PATCHES = "spec.runtimePatches";

/** Returns the problem of a runtime that does not exist, with upstream's spelling of the field. */
function missingRuntimeProblem(job: TrainJob): FieldProblem {
  const ref = runtimeRefOf(job);
  const [field, what] = ref.kind === KINDS.trainingRuntime.kind
    ? ["spec.runtimeRef", "trainingRuntime"]
    : ["spec.RuntimeRef", "clusterTrainingRuntime"];
  const message =
    `${ref.kind}.${ref.apiGroup} "${ref.name}" not found: specified ${what} must be ` +
    "created before the TrainJob is created";
  return invalid(field, ref, message);
}

/** Reports whether a TrainJob may have run: it is not suspended, or its status counts pods. */
export function mayHaveRun({ spec, status }: TrainJob): boolean {
  if (spec.suspend !== true || status?.trainerStatus !== undefined) return true;
  return (status?.jobsStatus ?? []).some(({ ready, succeeded, failed, active }) =>
    ready + succeeded + failed + active > 0
  );
}

/** Judges a new TrainJob. `runtime` is the live one, undefined if there is none. */
export function validateNewTrainJob(
  job: TrainJob,
  runtime: AnyTrainingRuntime | undefined,
  rules: TrainJobRules,
): Verdict {
  const ofTrials = trialAnnotationProblems(job, undefined, mayHaveRun);
  if (runtime === undefined) {
    return { problems: [missingRuntimeProblem(job), ...ofTrials], warnings: [] };
  }
  const deprecation = isDeprecated(runtime)
    ? [deprecationWarning(`Referenced ${runtime.kind} "${runtime.metadata.name}"`)]
    : [];
  return {
    problems: [...ofTrials, ...rules(job, runtime)],
    warnings: [...deprecation, ...ownWarnings(job)],
  };
}

/** Reports whether an update has to be judged against the runtime: only patches can have changed. */
export function needsRuntime(job: TrainJob, old: TrainJob): boolean {
  return !samePatches(job.spec.runtimePatches, old.spec.runtimePatches);
}

/** Patches may change only around a suspension, and only without active Jobs. */
function patchChangeProblems(
  job: TrainJob,
  old: TrainJob,
  jobSet: JobSet | undefined,
): FieldProblem[] {
  if (!job.spec.suspend && !old.spec.suspend) {
    return [
      forbidden(
        PATCHES,
        "RuntimePatches can only be modified when the TrainJob is suspended before or after the update",
      ),
    ];
  }
  const active = (jobSet?.status?.replicatedJobsStatus ?? []).filter((status) => status.active > 0);
  return active.map((status) =>
    forbidden(
      PATCHES,
      `RuntimePatches cannot be modified when the JobSet's ReplicatedJob ${status.name} is still active`,
    )
  );
}

/**
 * Judges a change. What did not change is not judged again, so that a job can always be released; `context` is for one
 * that {@link needsRuntime}.
 */
export function validateChangedTrainJob(
  job: TrainJob,
  old: TrainJob,
  context?: {
    /** The runtime of the job's snapshot, else the live one; undefined if there is neither (G11). */
    readonly runtime?: AnyTrainingRuntime;
    readonly jobSet?: JobSet;
    readonly rules: TrainJobRules;
  },
): Verdict {
  const frozen = FROZEN_FIELDS
    .filter((field) => !sameJson(job.spec[field], old.spec[field]))
    .map((field) => forbidden(`spec.${field}`, "field is immutable"));
  const problems = [...frozen, ...trialAnnotationProblems(job, old, mayHaveRun)];
  const warnings = ownWarnings(job, old);
  if (context === undefined) return { problems, warnings };
  const { runtime, jobSet, rules } = context;
  const withRuntime = runtime === undefined
    ? [missingRuntimeProblem(job)]
    : rules(job, runtime, old);
  return {
    problems: [...problems, ...patchChangeProblems(job, old, jobSet), ...withRuntime],
    warnings,
  };
}
