/** Patch of the engine's own fields of a job's status; pushes and stops write the others. Pure. */
import { compact, mergePatch } from "../../platform/base/json.ts";
import type { V1Status } from "../../crds/v1/job.ts";

/** The fields of the status that only the engine writes. */
const engineFields = ({ conditions, replicaStatuses, completedIndexes, ...others }: V1Status) => {
  const { startTime, completionTime, lastReconcileTime, failure } = others;
  const times = { startTime, completionTime, lastReconcileTime };
  return compact({ conditions, replicaStatuses, completedIndexes, ...times, failure });
};

/** Returns a merge patch from one status to the other; undefined if none of the engine's fields differs. */
export function statusPatch(old: V1Status, now: V1Status): Record<string, unknown> | undefined {
  const patch = mergePatch(engineFields(old), engineFields(now));
  return Object.keys(patch).length > 0 ? patch : undefined;
}
