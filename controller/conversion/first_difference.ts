/** Path of the first place where two values differ. Pure. */
import { isDeepStrictEqual } from "node:util";

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the path, such as `.template.spec.containers[0].args`; undefined if the values are equal. */
export function firstDifference(one: unknown, other: unknown): string | undefined {
  if (isDeepStrictEqual(one, other)) return undefined;
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    const index = one.findIndex((item, at) => !isDeepStrictEqual(item, other[at]));
    // A list of texts is one thing to a reader.
    return isFields(one[index]) ? `[${index}]${firstDifference(one[index], other[index])}` : "";
  }
  if (!isFields(one) || !isFields(other)) return "";
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  const key = keys.find((it) => !isDeepStrictEqual(one[it], other[it]));
  return key === undefined ? undefined : `.${key}${firstDifference(one[key], other[key])}`;
}
