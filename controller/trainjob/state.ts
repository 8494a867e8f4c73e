/** Value of `status.state`, which the STATE column shows (docs/decisions/0002). Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import type { Condition } from "../../platform/kube/kubernetes.ts";
import { LABELS, STEPS, TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import type { TrainJobStatus } from "../../crds/trainjob.ts";
import { isConditionTrue } from "../../platform/kube/conditions.ts";
import { isRestarting, type ObservedJob, ownJobSet } from "./observed.ts";

/** Returns the names of the replicated jobs of the trainer step. */
export function trainerJobs(jobSet: JobSet | undefined): string[] {
  return (jobSet?.spec?.replicatedJobs ?? [])
    .filter(({ template }) => template.metadata?.labels?.[LABELS.ancestorStep] === STEPS.trainer)
    .map(({ name }) => name);
}

/** Jobs that are ready or have ended had a pod that ran; an active one may only have a pending pod. */
function hasRun(jobSet: JobSet | undefined): boolean {
  const trainers = trainerJobs(jobSet);
  return (jobSet?.status?.replicatedJobsStatus ?? []).some(({ name, ready, succeeded, failed }) =>
    trainers.includes(name) && ready + succeeded + failed > 0
  );
}

/**
 * Returns the state: the end of the job if it has one, else its suspension, else whether a pod of the
 * trainer step has run. A job that has run stays Running until it is suspended or ends, also between
 * the pods of a restart, for which its JobSet may be suspended.
 */
export function stateOf(
  observed: ObservedJob,
  conditions: readonly Condition[],
): TrainJobStatus["state"] {
  const { complete, failed, earlyStopped } = TRAINJOB_CONDITIONS;
  if (isConditionTrue(conditions, earlyStopped)) return "EarlyStopped";
  if (isConditionTrue(conditions, complete)) return "Complete";
  if (isConditionTrue(conditions, failed)) return "Failed";
  const { spec, status } = observed.trainJob;
  const isSuspended = isConditionTrue(conditions, TRAINJOB_CONDITIONS.suspended);
  if (spec.suspend === true && isSuspended) return "Suspended";
  const jobSet = ownJobSet(observed);
  const wasRunning = status?.state === "Running";
  if (jobSet?.spec?.suspend === true) {
    if (observed.isStopping && status?.state) return status.state;
    return isRestarting(observed) && wasRunning ? "Running" : "Created";
  }
  const ran = wasRunning || observed.trainerPodRuns || hasRun(jobSet);
  return jobSet && ran ? "Running" : "Created";
}
