/** Strategic merge patch of Kubernetes, for the fields that a runtime patch may set. Pure. */
import { asObject, isObject, type JsonObject, setKey } from "../../platform/base/json.ts";
import { unshared } from "./copy.ts";

/** A patch cannot delete, as upstream. */
const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

function mergeInto(target: JsonObject, patch: object): void {
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined || value === null || isEmptyList(value)) continue;
    // Definitions give an empty name to a reference that says none; it refers to nothing else than before.
    if (name === "name" && value === "") continue;
    const old = Object.hasOwn(target, name) ? target[name] : undefined;
    if (isObject(old) && isObject(value)) mergeInto(old, value);
    else setKey(target, name, unshared(value));
  }
}

/**
 * Merges objects recursively: lists and scalars are replaced; absent and null fields, empty lists and names change nothing.
 * Neither input is changed or shared with the result.
 */
export function mergeObjects<T extends object>(target: T | undefined, patch: T): T {
  const result = unshared(target ?? patch);
  if (target !== undefined) mergeInto(asObject(result), patch);
  return result;
}

/** Merges maps by key: the patch wins. Returns undefined if there is neither. */
export function mergeMaps(
  target: Record<string, string> | undefined,
  patch: Record<string, string> | undefined | null,
): Record<string, string> | undefined {
  if (!patch) return target;
  return Object.fromEntries([...Object.entries(target ?? {}), ...Object.entries(patch)]);
}

/** How a list of objects merges. */
export interface ListMerge<T, P> {
  /** The key that identifies an item. */
  readonly keyOf: (item: T | P) => string;
  /** Returns the runtime's item with the patch. */
  readonly merge: (item: T, patch: P) => T;
  /** Returns an item that only the patch has. */
  readonly create: (patch: P) => T;
}

/**
 * Merges lists by key, in Kubernetes' order: items of the patch in the patch's order; those that
 * only the target has keep their relative order and precede the first item of the patch that followed
 * them in the target, else they come last.
 */
export function mergeLists<T, P>(
  target: readonly T[] | undefined,
  patch: readonly P[] | undefined | null,
  by: ListMerge<T, P>,
): T[] | undefined {
  if (!patch) return target && [...target];
  const items = target ?? [];
  const place = new Map(items.map((item, index) => [by.keyOf(item), index]));
  const patched = new Set(patch.map((item) => by.keyOf(item)));
  const others = items.filter((item) => !patched.has(by.keyOf(item)));
  const result: T[] = [];
  for (const item of patch) {
    const at = place.get(by.keyOf(item));
    while (at !== undefined && others[0] !== undefined) {
      if ((place.get(by.keyOf(others[0])) ?? 0) > at) break;
      result.push(...others.splice(0, 1));
    }
    const old = at === undefined ? undefined : items[at];
    result.push(old === undefined ? by.create(item) : by.merge(old, item));
  }
  return [...result, ...others];
}

/** Returns the merge by one field of items that have the same type in target and patch. */
export function byField<T extends object>(keyOf: (item: T) => string): ListMerge<T, T> {
  return { keyOf, merge: mergeObjects, create: (item) => unshared(item) };
}

/** Puts each item into the list: one of the same key is replaced in place, any other is appended. */
export function upserted<T>(
  list: readonly T[] | undefined,
  items: readonly T[],
  key: keyof T,
): T[] {
  const result = [...list ?? []];
  for (const item of items) {
    const index = result.findIndex((other) => other[key] === item[key]);
    if (index < 0) result.push(item);
    else result[index] = item;
  }
  return result;
}
