/** Time to live of a finished JobSet. Pure. */
import type { JobSetStatus } from "../../../crds/jobset.ts";
import { JOBSET_CONDITIONS } from "../../../crds/jobset_names.ts";
import type { Condition } from "../../../platform/kube/kubernetes.ts";

/** Returns the condition that ended the JobSet, if there is one. */
export function terminalCondition(status: JobSetStatus | undefined): Condition | undefined {
  return status?.conditions?.find(({ type, status }) =>
    status === "True" &&
    (type === JOBSET_CONDITIONS.completed || type === JOBSET_CONDITIONS.failed)
  );
}

/**
 * Returns the milliseconds until a finished JobSet is deleted, 0 if it is due, and undefined if it is
 * kept.
 */
export function timeToDeletion(
  status: JobSetStatus | undefined,
  { ttlSeconds, now }: { ttlSeconds: number | undefined; now: number },
): number | undefined {
  const finished = terminalCondition(status);
  if (finished === undefined || ttlSeconds === undefined) return undefined;
  const finishedAt = Date.parse(finished.lastTransitionTime);
  return Math.max(0, finishedAt + ttlSeconds * 1000 - now);
}
