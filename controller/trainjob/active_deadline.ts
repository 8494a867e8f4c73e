/** Deadline of a TrainJob, `spec.activeDeadlineSeconds`. Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import { TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import { JOBSET_CONDITIONS } from "../../crds/jobset_names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { findCondition, isConditionTrue } from "../../kube/conditions.ts";

/** Shortest wait for a deadline, in milliseconds. */
const WAIT_MIN_MS = 1000;

/** State of a job's deadline. */
export type Deadline =
  | { readonly kind: "none" }
  | { readonly kind: "exceeded" }
  | { readonly kind: "waits"; readonly waitMs: number };

/** A pause lasts until the JobSet is resumed; one that is created again begins suspended. */
function isPaused({ spec, status }: TrainJob, jobSet: JobSet | undefined): boolean {
  if (spec.suspend === true || jobSet?.spec?.suspend === true) return true;
  return jobSet === undefined
    ? isConditionTrue(status?.conditions, TRAINJOB_CONDITIONS.suspended)
    : isConditionTrue(jobSet.status?.conditions, JOBSET_CONDITIONS.suspended);
}

/**
 * Returns when the present run began, in milliseconds since the epoch: with the last resumption of the
 * JobSet, else with the creation of the TrainJob; undefined while the job is suspended.
 */
export function runStart(trainJob: TrainJob, jobSet: JobSet | undefined): number | undefined {
  if (isPaused(trainJob, jobSet)) return undefined;
  const resumed = findCondition(jobSet?.status?.conditions, JOBSET_CONDITIONS.suspended);
  const since = resumed?.lastTransitionTime ?? trainJob.metadata.creationTimestamp;
  const start = since === undefined ? NaN : Date.parse(since);
  return Number.isNaN(start) ? undefined : start;
}

/** Returns the state of the deadline, which does not approach while the job is suspended. */
export function deadlineOf(trainJob: TrainJob, jobSet: JobSet | undefined, now: number): Deadline {
  const seconds = trainJob.spec.activeDeadlineSeconds;
  if (seconds === undefined || seconds <= 0) return { kind: "none" };
  const start = runStart(trainJob, jobSet);
  if (start === undefined) return { kind: "none" };
  const left = start + seconds * 1000 - now;
  return left < 0
    ? { kind: "exceeded" }
    : { kind: "waits", waitMs: Math.max(WAIT_MIN_MS, left + 1) };
}
