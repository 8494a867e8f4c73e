/** JSON values: narrowing, reading and comparison, without casts. */

/** A JSON object. */
export type JsonObject = { [key: string]: unknown };

/** Says whether a value is a JSON object: no list, and not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** Returns the JSON value of a text; undefined if it is not JSON. */
export function jsonOfText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the JSON value that the bytes hold; undefined if they are not strict UTF-8, or not JSON. */
export function jsonOfBytes(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(strictUtf8.decode(bytes));
  } catch {
    return undefined;
  }
}

/** The value as an object; an empty one if it is anything else. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The value as a list; an empty one if it is anything else. */
export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value as a list of objects; other items become empty objects, so that indices stay. */
export function asObjects(value: unknown): JsonObject[] {
  return asList(value).map(asObject);
}

/** The value as text, or undefined. */
function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The texts of a list; other items are left out. */
export function asTexts(value: unknown): string[] {
  return asList(value).filter((item) => typeof item === "string");
}

/** The value at the end of the keys, or undefined. */
export function at(value: unknown, ...keys: string[]): unknown {
  let here = value;
  for (const key of keys) {
    if (!isObject(here) || !Object.hasOwn(here, key)) return undefined;
    here = here[key];
  }
  return here;
}

/** The object at the end of the keys; an empty one if there is none. */
export function objectAt(value: unknown, ...keys: string[]): JsonObject {
  return asObject(at(value, ...keys));
}

/** The objects of the list at the end of the keys; other items are left out. */
export function objectsAt(value: unknown, ...keys: string[]): JsonObject[] {
  return asList(at(value, ...keys)).filter(isObject);
}

/** The text at the end of the keys, or undefined. */
export function textAt(value: unknown, ...keys: string[]): string | undefined {
  return asText(at(value, ...keys));
}

/** The number at the end of the keys, or undefined. */
export function numberAt(value: unknown, ...keys: string[]): number | undefined {
  const found = at(value, ...keys);
  return typeof found === "number" ? found : undefined;
}

/** The map of texts at the end of the keys; values that are no text are left out. */
export function textMapAt(value: unknown, ...keys: string[]): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [key, item] of Object.entries(objectAt(value, ...keys))) {
    if (typeof item === "string") result[key] = item;
  }
  return result;
}

/** Sets a key as an own property, also one such as `__proto__`. */
export function setKey(target: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    target[key] = value;
  }
}

/** A copy without the members that are undefined: JSON has none. */
export function compact<T extends object>(value: T): T;
export function compact(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

/** The value without members that are null, at any depth: to Kubernetes they are not set. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

/** Says whether two JSON values are equal; the order of members does not count. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => sameJson(item, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && sameJson(one[key], other[key]));
}

/** Returns the merge patch of one object to another (RFC 7386): what is absent in the second is null. */
export function mergePatch(old: object, now: object): Record<string, unknown> {
  const before = new Map<string, unknown>(Object.entries(old));
  const after = new Map<string, unknown>(Object.entries(now));
  const changed = [...after].filter(([name, value]) => !sameJson(before.get(name), value))
    .map(([name, value]) => {
      const former = before.get(name);
      return [name, isObject(former) && isObject(value) ? mergePatch(former, value) : value];
    });
  const gone = [...before.keys()].filter((name) => !after.has(name));
  return Object.fromEntries([...changed, ...gone.map((name) => [name, null])]);
}

/**
 * Reports whether `live` has all that `wanted` says; other fields of `live`, such as defaults, do not
 * count. A null in `wanted` says nothing, or, with `nullIsAbsent`, that the field must be absent.
 */
export function covers(live: unknown, wanted: unknown, nullIsAbsent = false): boolean {
  if (wanted === undefined) return true;
  if (wanted === null) return !nullIsAbsent || live === undefined || live === null;
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length &&
      wanted.every((item, index) => covers(live[index], item, nullIsAbsent));
  }
  if (typeof wanted !== "object") return live === wanted;
  if (typeof live !== "object" || live === null) return Object.keys(wanted).length === 0;
  const fields = new Map<string, unknown>(Object.entries(live));
  return Object.entries(wanted)
    .every(([name, value]) => covers(fields.get(name), value, nullIsAbsent));
}
