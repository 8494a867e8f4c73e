/** Run of a job as an owner begins to watch it, by what the job's object tells. */
import { type AnyJob, type JobKind, jobRefOf } from "../../crds/job_kind.ts";
import { paceOf, progressOf, shouldProgress, timeSpentOf } from "../../crds/job_state.ts";
import type { StallPolicy } from "../../crds/stall_policy.ts";
import { beginDone, beginRun } from "../../trials/stalls/silence_watch.ts";
import { type Moment, openTimeSpent } from "../../trials/stalls/time_spent.ts";
import { type RunOptions, WatchedRun } from "./watched_run.ts";

/** Whether a job should make progress, and its policy has its stalls told. */
export const isOpenJob = (kind: JobKind, job: AnyJob, { action }: StallPolicy): boolean =>
  shouldProgress(kind, job) && action !== "Ignore";

/** Opens the run. */
export function openRun(
  kind: JobKind,
  object: AnyJob,
  { now, ...given }: Omit<RunOptions, "watch" | "isOpen" | "spent" | "pace"> & {
    readonly now: Moment;
  },
): WatchedRun {
  const { monotonicMs } = now;
  const progress = progressOf(kind, object);
  const kept = paceOf(object);
  // It has reported to an owner before this one, to whom it had taught nothing yet.
  const pace = kept ?? (progress && { silences: {} });
  const isOver = progress?.progressPercentage === 100;
  return new WatchedRun(jobRefOf(kind, object), {
    ...given,
    pace: kept,
    watch: isOver ? beginDone(monotonicMs, pace, progress) : beginRun(monotonicMs, pace),
    isOpen: isOpenJob(kind, object, given.policy),
    spent: openTimeSpent(timeSpentOf(object), {
      now,
      createdMs: Date.parse(String(object.metadata.creationTimestamp ?? "")),
      hasReported: progress !== undefined,
    }),
  });
}
