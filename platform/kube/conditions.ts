/** Conditions of a status: pure reading and writing, by the rules of `metav1.Condition`. */
import { cutText } from "../base/hostile_text.ts";

/** Most characters of a condition's message that definitions take. */
const MESSAGE_LENGTH = 32_768;

/** Status of a condition. */
export type ConditionStatus = "True" | "False" | "Unknown";

/** The fields of a condition that are read here; `metav1.Condition` has them all. */
export interface ConditionLike {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** A condition as {@link setCondition} writes it. */
export interface FullCondition extends ConditionLike {
  reason: string;
  message: string;
  lastTransitionTime: string;
}

/** The wanted fields of a condition. */
export interface ConditionUpdate {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

/** The condition of that type. */
export function findCondition<C extends ConditionLike>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** The first condition that is of one of those types and has the status `True`. */
export function trueCondition<C extends ConditionLike>(
  conditions: readonly C[] | undefined,
  ...types: readonly string[]
): C | undefined {
  return conditions?.find(({ type, status }) => status === "True" && types.includes(type));
}

/** Whether a condition of one of those types is there with status `True`. */
export function isConditionTrue(
  conditions: readonly ConditionLike[] | undefined,
  ...types: readonly string[]
): boolean {
  return trueCondition(conditions, ...types) !== undefined;
}

function says(old: ConditionLike, update: ConditionUpdate): boolean {
  return old.status === update.status && old.reason === update.reason &&
    old.message === update.message;
}

/**
 * The list with the condition of `wanted.type` saying what `wanted` says, its message cut to what definitions take, in its
 * old place or at the end. `lastTransitionTime` becomes `now` only if the status changes. If nothing changes, the very same
 * list is returned, so that `===` shows whether a write is needed. The input is not changed.
 */
export function setCondition<C extends ConditionLike>(
  conditions: C[] | undefined,
  wanted: ConditionUpdate,
  now: string,
): (C | FullCondition)[] {
  const list = conditions ?? [];
  const update = { ...wanted, message: cutText(wanted.message, MESSAGE_LENGTH) };
  const old = findCondition(list, update.type);
  if (old === undefined) return [...list, { ...update, lastTransitionTime: now }];
  if (says(old, update) && old.lastTransitionTime !== undefined) return list;
  const since = old.status === update.status ? old.lastTransitionTime ?? now : now;
  const changed = { ...old, ...update, lastTransitionTime: since };
  return list.map((condition) => condition === old ? changed : condition);
}

/** The list without the condition of that type; the very same list if there is none. */
export function removeCondition<C extends ConditionLike>(
  conditions: C[] | undefined,
  type: string,
): C[] {
  const list = conditions ?? [];
  return findCondition(list, type) === undefined
    ? list
    : list.filter((condition) => condition.type !== type);
}
