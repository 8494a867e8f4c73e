/** When a finished JobSet goes (contract jobset.md 3.8): pure. */
import type { JobSetStatus } from "../../../crds/jobset.ts";
import { JOBSET_CONDITIONS } from "../../../crds/names.ts";
import type { Condition } from "../../../crds/kubernetes.ts";

/** The condition that ended the JobSet, if one did. */
export function terminalCondition(status: JobSetStatus | undefined): Condition | undefined {
  return status?.conditions?.find(({ type, status }) =>
    status === "True" &&
    (type === JOBSET_CONDITIONS.completed || type === JOBSET_CONDITIONS.failed)
  );
}

/**
 * Milliseconds until a JobSet that has finished shall be deleted, 0 where it is time; undefined
 * where it stays.
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
