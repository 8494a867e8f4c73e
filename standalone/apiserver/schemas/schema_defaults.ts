/** Defaults of a structural schema. */
import { isObject, type JsonObject, setKey } from "../../../platform/base/json.ts";
import type { Structure } from "./structure.ts";

/** Returns a copy of the value with defaults for fields that are missing, or null and not nullable. */
export function applyDefaults(value: unknown, structure: Structure): unknown {
  if (Array.isArray(value)) {
    const items = structure.items();
    return items === undefined ? value : value.map((item) => applyDefaults(item, items));
  }
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    const known = structure.member(key);
    setKey(result, key, known === undefined ? item : applyDefaults(item, known));
  }
  for (const name of structure.propertyNames) {
    const known = structure.property(name);
    if (known === undefined || known.default === undefined) continue;
    const missing = !Object.hasOwn(result, name) || (result[name] === null && !known.nullable);
    if (missing) setKey(result, name, applyDefaults(structuredClone(known.default), known));
  }
  structure.fill?.(result);
  return result;
}
