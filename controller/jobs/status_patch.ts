/** Patch of the engine's own fields of a job's status; pushes and stops write the others. Pure. */
import { mergePatch, sameJson } from "../../platform/base/json.ts";
import type { ReplicaStatus, V1Status } from "../../crds/v1/job.ts";

/** Fields of the status that only the engine writes. */
const ENGINE_FIELDS = [
  "conditions",
  "replicaStatuses",
  "completedIndexes",
  "startTime",
  "completionTime",
  "lastReconcileTime",
  "failure",
] as const satisfies readonly (keyof V1Status)[];

type Statuses = Readonly<Record<string, ReplicaStatus>>;

function replicaStatusesPatch(old: Statuses | undefined, now: Statuses): Record<string, unknown> {
  const types = new Set([...Object.keys(old ?? {}), ...Object.keys(now)]);
  const patches = [...types].flatMap((type): [string, unknown][] => {
    const before = old?.[type];
    const after = now[type];
    if (sameJson(before, after)) return [];
    return [[type, after === undefined ? null : mergePatch(before ?? {}, after)]];
  });
  return Object.fromEntries(patches);
}

/** Returns a merge patch from one status to the other; undefined if none of the engine's fields differs. */
export function statusPatch(
  old: V1Status | undefined,
  now: V1Status,
): Record<string, unknown> | undefined {
  const differing = ENGINE_FIELDS.filter((field) => !sameJson(old?.[field], now[field]));
  if (differing.length === 0) return undefined;
  const patchOf = (field: typeof ENGINE_FIELDS[number]): unknown => {
    const { replicaStatuses, completedIndexes } = now;
    if (field === "replicaStatuses" && replicaStatuses !== undefined) {
      return replicaStatusesPatch(old?.replicaStatuses, replicaStatuses);
    }
    if (field === "completedIndexes" && completedIndexes !== undefined) {
      return mergePatch(old?.completedIndexes ?? {}, completedIndexes);
    }
    if (field === "failure" && now.failure !== undefined) {
      return mergePatch(old?.failure ?? {}, now.failure);
    }
    return now[field] ?? null;
  };
  return Object.fromEntries(differing.map((field) => [field, patchOf(field)]));
}
