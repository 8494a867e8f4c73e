/** Plan for what is taken away from a TrainJob. Pure. */
import type { ChildWrite } from "./children.ts";
import { hasEnded } from "./ended_jobsets.ts";
import { suspension } from "./jobset_plan.ts";
import { isFinished, jobSetRuns, type ObservedJob, ownJobSet, wasStopped } from "./observed.ts";

/**
 * Plans what is taken away, which depends on the job and its JobSet alone, so that nothing that is wrong with the rest
 * holds it back: a suspension, and the JobSet of a job that its deadline or its rules have stopped.
 */
export function planRemoval(job: ObservedJob): ChildWrite {
  const { spec, status } = job.trainJob;
  const jobSet = ownJobSet(job);
  if (!jobSet || jobSet.metadata.deletionTimestamp !== undefined) return { kind: "none" };
  const { uid } = jobSet.metadata;
  if (wasStopped(status)) return { kind: "delete", uid, propagation: "Background" };
  const pauses = spec.suspend === true && jobSetRuns(job) && !isFinished(status) &&
    !hasEnded(jobSet);
  return pauses ? suspension(jobSet) : { kind: "none" };
}
