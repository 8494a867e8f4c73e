/** Conditions of a job of any kind, with others set. Pure. */
import type { AnyJob, JobKind } from "./job_kind.ts";
import {
  type ConditionLike,
  type ConditionUpdate,
  findCondition,
  setCondition,
} from "../platform/kube/conditions.ts";

/** A condition that is to be set; with `onlyIfPresent` one that is only changed. */
export type JobConditionUpdate = ConditionUpdate & { readonly onlyIfPresent?: boolean };

/** Returns the conditions with those set, one after the other, in the form of the kind. */
export function conditionsWith(
  { conditions: { haveUpdateTime } }: JobKind,
  job: Pick<AnyJob, "status">,
  updates: readonly JobConditionUpdate[],
  now: string,
): ConditionLike[] {
  const before: readonly ConditionLike[] = job.status?.conditions ?? [];
  const after = updates.reduce<ConditionLike[]>((list, { onlyIfPresent, ...update }) => {
    if (onlyIfPresent && findCondition(list, update.type) === undefined) return list;
    return setCondition(list, update, now);
  }, [...before]);
  if (!haveUpdateTime) return after;
  return after.map((one) => before.includes(one) ? one : { ...one, lastUpdateTime: now });
}

/** Returns the conditions of a job that is failed for a reason that no pod of it gives. */
export function failedConditions(
  kind: JobKind,
  job: Pick<AnyJob, "status">,
  { reason, message }: Pick<ConditionUpdate, "reason" | "message">,
  now: string,
): ConditionLike[] {
  const failed = kind.conditions.ends.find(({ end }) => end === "Failed");
  const update = { status: "True", reason, message } as const;
  return conditionsWith(kind, job, [
    // What an ended job is not any more.
    ...kind.stop.filter(({ status }) => status === "False").map((it) => ({
      ...it,
      reason,
      message,
    })),
    ...(failed === undefined ? [] : [{ type: failed.type, ...update }]),
  ], now);
}
