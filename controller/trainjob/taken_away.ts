/** Plan for what is taken away from a TrainJob. Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import { FOREGROUND_FINALIZER } from "../../crds/names.ts";
import type { ChildWrite } from "./children.ts";
import { hasEnded } from "./ended_jobsets.ts";
import { isIdle, reportsSuspended, suspension } from "./jobset_plan.ts";
import { isFinished, jobSetRuns, type ObservedJob, ownJobSet, stoppedMs } from "./observed.ts";

/** The write to the JobSet. */
export interface Removal {
  readonly write: ChildWrite;
  /** Time until the next look, in milliseconds. */
  readonly requeueAfterMs?: number;
}

const NOTHING: Removal = { write: { kind: "none" } };

/** Time after which the JobSet of a job that was stopped is deleted although its executor has not ended its pods. */
const LATE_MS = 10_000;

/**
 * Plans the end of the JobSet of a job that was stopped at that time. Pods of suspended Jobs end at once; those of a
 * deleted JobSet wait for the garbage collector. So it is deleted after its last pod, or if its executor is late.
 */
function endOf(live: JobSet, sinceMs: number, nowMs: number): Removal {
  const { uid } = live.metadata;
  const requeueAfterMs = sinceMs + LATE_MS - nowMs;
  const isSuspended = live.spec?.suspend === true;
  const rests = isSuspended && reportsSuspended(live) && isIdle(live);
  if (hasEnded(live) || rests || requeueAfterMs <= 0) {
    return { write: { kind: "delete", uid, propagation: "Background" } };
  }
  return { write: isSuspended ? NOTHING.write : suspension(live), requeueAfterMs };
}

/** Whether the user's suspension of the job is still to be written to its JobSet. */
export function awaitsSuspension(job: ObservedJob): boolean {
  const { spec, status } = job.trainJob;
  const jobSet = ownJobSet(job);
  return spec.suspend === true && jobSet?.metadata.deletionTimestamp === undefined &&
    jobSetRuns(job) && !isFinished(status) && jobSet !== undefined && !hasEnded(jobSet);
}

/**
 * Plans what is taken away, which depends only on the job and its JobSet, so that nothing that is wrong with the rest
 * holds it back: a suspension; the JobSet of a job that its deadline or its rules have stopped; and the pods of one that
 * is being deleted together with what it owns, which need not wait for the garbage collector.
 */
export function planRemoval(job: ObservedJob, nowMs: number): Removal {
  const { metadata: { deletionTimestamp, finalizers = [] }, status } = job.trainJob;
  const jobSet = ownJobSet(job);
  if (!jobSet || jobSet.metadata.deletionTimestamp !== undefined) return NOTHING;
  if (deletionTimestamp !== undefined) {
    const goes = finalizers.includes(FOREGROUND_FINALIZER) && jobSetRuns(job) && !hasEnded(jobSet);
    return goes ? { write: suspension(jobSet) } : NOTHING;
  }
  const sinceMs = stoppedMs(status);
  if (sinceMs !== undefined) return endOf(jobSet, sinceMs, nowMs);
  return awaitsSuspension(job) ? { write: suspension(jobSet) } : NOTHING;
}
