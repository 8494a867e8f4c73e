/** Path of the first place where two values differ. Pure. */
import { isObject, sameJson } from "../../platform/base/json.ts";

/** Returns the path, such as `.template.spec.containers[0].args`; undefined if the values are equal. */
export function firstDifference(one: unknown, other: unknown): string | undefined {
  if (sameJson(one, other)) return undefined;
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    const index = one.findIndex((item, at) => !sameJson(item, other[at]));
    // A list of texts is one thing to a reader.
    return isObject(one[index]) ? `[${index}]${firstDifference(one[index], other[index])}` : "";
  }
  if (!isObject(one) || !isObject(other)) return "";
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  const key = keys.find((it) => !sameJson(one[it], other[it]));
  return key === undefined ? undefined : `.${key}${firstDifference(one[key], other[key])}`;
}
