/** `spec.activeDeadlineSeconds` (contract trainjob.md 2.5; design, decision 10). Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import { JOBSET_CONDITIONS, TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { findCondition, isConditionTrue } from "../../kube/conditions.ts";

/** Shortest wait for a deadline, in milliseconds. */
const WAIT_MIN_MS = 1000;

/** Where a job stands with its deadline; `wait` is in milliseconds. */
export type Deadline =
  | { readonly kind: "none" }
  | { readonly kind: "exceeded" }
  | { readonly kind: "waits"; readonly waitMs: number };

/** A pause lasts until a JobSet has been told to go on: one that is made anew begins paused. */
function isPaused({ spec, status }: TrainJob, jobSet: JobSet | undefined): boolean {
  if (spec.suspend === true || jobSet?.spec?.suspend === true) return true;
  return jobSet === undefined
    ? isConditionTrue(status?.conditions, TRAINJOB_CONDITIONS.suspended)
    : isConditionTrue(jobSet.status?.conditions, JOBSET_CONDITIONS.suspended);
}

/**
 * The clock starts when the JobSet was last resumed, else when the TrainJob was created, and stands
 * while the job is paused.
 */
export function deadlineOf(trainJob: TrainJob, jobSet: JobSet | undefined, now: number): Deadline {
  const seconds = trainJob.spec.activeDeadlineSeconds;
  if (seconds === undefined || seconds <= 0 || isPaused(trainJob, jobSet)) return { kind: "none" };
  const resumed = findCondition(jobSet?.status?.conditions, JOBSET_CONDITIONS.suspended);
  const since = resumed?.lastTransitionTime ?? trainJob.metadata.creationTimestamp;
  const start = since === undefined ? NaN : Date.parse(since);
  if (Number.isNaN(start)) return { kind: "none" };
  const left = start + seconds * 1000 - now;
  return left < 0
    ? { kind: "exceeded" }
    : { kind: "waits", waitMs: Math.max(WAIT_MIN_MS, left + 1) };
}
