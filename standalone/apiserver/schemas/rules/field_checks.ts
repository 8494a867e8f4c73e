/** Checks of single fields that several kinds need: a syntax, a name, a range. */
import { asObjects, at, type JsonObject, textAt } from "../../../../platform/base/json.ts";
import {
  duplicate,
  invalid,
  required,
  type StatusCause,
  under,
} from "../../../../crds/status_cause.ts";
import type { Syntax } from "../../../../crds/name_syntax.ts";

/** Checks the syntax of a text. */
export function checkSyntax(field: string, text: string, syntax: Syntax): StatusCause[] {
  return syntax(text).map((problem) => invalid(field, text, problem));
}

/** Checks the name of an object in a list: it is there, of the syntax, and none of those `seen`, to which it is added. */
export function checkItemName(
  item: unknown,
  path: string,
  syntax: Syntax,
  seen: Set<string> = new Set(),
): StatusCause[] {
  const field = under(path, "name");
  const name = textAt(item, "name") ?? "";
  if (name === "") return [required(field)];
  const causes = checkSyntax(field, name, syntax);
  if (seen.has(name)) causes.push(duplicate(field, name));
  seen.add(name);
  return causes;
}

/** Checks each object of the list under a key, with the path of its place. */
export function checkItems(
  object: unknown,
  path: string,
  key: string,
  check: (item: JsonObject, path: string) => StatusCause[],
): StatusCause[] {
  const list = under(path, key);
  return asObjects(at(object, key)).flatMap((item, index) => check(item, under(list, index)));
}

/** Checks that there are texts under the keys. */
export function checkTexts(object: unknown, path: string, ...keys: string[]): StatusCause[] {
  return keys.filter((key) => (textAt(object, key) ?? "") === "")
    .map((key) => required(under(path, key)));
}

/** Checks that the numbers under the keys are not below 0. */
export function checkNotNegative(
  object: unknown,
  path: string,
  keys: readonly string[],
): StatusCause[] {
  return keys.flatMap((key) => {
    const value = at(object, key);
    return typeof value === "number" && value < 0
      ? [invalid(under(path, key), value, "must be greater than or equal to 0")]
      : [];
  });
}

/** Checks that a number is in a range, of which both ends are part. */
export function checkRange(
  field: string,
  value: unknown,
  least: number,
  most: number,
): StatusCause[] {
  if (typeof value !== "number" || (value >= least && value <= most)) return [];
  return [invalid(field, value, `must be between ${least} and ${most}, inclusive`)];
}

/** Returns the problem of the lifetime of a service-account token. */
export function lifetimeProblem(seconds: number): string | undefined {
  if (seconds < 600) return "may not specify a duration less than 10 minutes";
  return seconds > 2 ** 32 ? "may not specify a duration larger than 2^32 seconds" : undefined;
}
