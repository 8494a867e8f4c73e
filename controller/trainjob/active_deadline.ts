/** Deadline of a TrainJob, `spec.activeDeadlineSeconds`. Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import type { Condition } from "../../platform/kube/kubernetes.ts";
import { TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import { JOBSET_CONDITIONS } from "../../crds/jobset_names.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { findCondition, isConditionTrue } from "../../platform/kube/conditions.ts";
import { isFinished, isRestarting, type ObservedJob, restartCountOf } from "./observed.ts";

/** The conditions that tell of pauses: a restart is none, and moves no start. */
function pausesOf(jobSet: JobSet | undefined): readonly Condition[] | undefined {
  return restartCountOf(jobSet) > 0 ? undefined : jobSet?.status?.conditions;
}

/** A pause lasts until the JobSet is resumed; one that is created again begins suspended. */
function isPaused(trainJob: TrainJob, jobSet: JobSet | undefined): boolean {
  const { spec, status } = trainJob;
  if (isRestarting({ trainJob, jobSet })) return false;
  if (spec.suspend === true || jobSet?.spec?.suspend === true) return true;
  return jobSet === undefined
    ? isConditionTrue(status?.conditions, TRAINJOB_CONDITIONS.suspended)
    : isConditionTrue(pausesOf(jobSet), JOBSET_CONDITIONS.suspended);
}

/** Returns the latest of the times, in milliseconds since the epoch; undefined if there is none. */
function latest(times: readonly (string | undefined)[]): number | undefined {
  const known = times.map((time) => Date.parse(time ?? "")).filter((time) => !Number.isNaN(time));
  return known.length > 0 ? Math.max(...known) : undefined;
}

/** The time of the last resumption that the JobSet reports. */
function resumptionOf(jobSet: JobSet | undefined): string | undefined {
  const condition = findCondition(pausesOf(jobSet), JOBSET_CONDITIONS.suspended);
  return condition?.status === "False" ? condition.lastTransitionTime : undefined;
}

/**
 * Returns when the present run began, in milliseconds since the epoch: with the last resumption, else with the
 * creation of the TrainJob; undefined while the job is suspended.
 */
export function runStart(trainJob: TrainJob, jobSet: JobSet | undefined): number | undefined {
  if (isPaused(trainJob, jobSet)) return undefined;
  const { metadata, status } = trainJob;
  return latest([metadata.creationTimestamp, status?.startTime, resumptionOf(jobSet)]);
}

/**
 * Returns `status.startTime` after a pass that leaves those conditions: what the JobSet says of a resumption goes with
 * the JobSet. It is absent while the job is suspended, and in the first run, which began with the TrainJob.
 */
export function startTimeOf(
  { trainJob: { status }, jobSet }: Pick<ObservedJob, "trainJob" | "jobSet">,
  conditions: readonly Condition[],
  nowMs: number,
): string | undefined {
  if (isFinished(status)) return status?.startTime;
  const type = TRAINJOB_CONDITIONS.suspended;
  if (isConditionTrue(conditions, type)) return undefined;
  // What goes in this pass; upstream's controller leaves one that is False.
  const gone = findCondition(status?.conditions, type);
  const resumed = gone?.status === "True" ? rfc3339(nowMs) : gone?.lastTransitionTime;
  const start = latest([status?.startTime, resumed, resumptionOf(jobSet)]);
  return start === undefined ? undefined : rfc3339(start);
}

/**
 * Returns the time until the deadline, in milliseconds: negative once it has passed, infinite if there is none, and while
 * the job is suspended.
 */
export function deadlineMs(trainJob: TrainJob, jobSet: JobSet | undefined, now: number): number {
  const seconds = trainJob.spec.activeDeadlineSeconds ?? 0;
  const start = seconds > 0 ? runStart(trainJob, jobSet) : undefined;
  return start === undefined ? Infinity : start + seconds * 1000 - now;
}
