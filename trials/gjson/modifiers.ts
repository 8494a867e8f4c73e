/** Built-in modifiers of GJSON; a missing value is `undefined`. */
import type { Budget } from "./budget.ts";
import { compareText, isObject, isValidJson, Members, membersOf, textOf } from "./gjson_values.ts";
import { jsonTextOf } from "./json_text.ts";
import { isTruthy } from "./query.ts";

/** `argument` is the JSON after the colon, parsed; undefined if there is none or it is not JSON. */
export type Modifier = (value: unknown, argument: unknown, budget: Budget) => unknown;

/** All modifiers of GJSON 1.14.1. No white space is kept between tokens, so `@ugly` changes nothing. */
export const MODIFIERS: ReadonlyMap<string, Modifier> = new Map<string, Modifier>([
  ["this", (value) => value],
  ["ugly", (value) => value],
  [
    "pretty",
    (value, argument, budget) =>
      option(argument, "sortKeys", budget) ? sorted(value, budget) : value,
  ],
  ["valid", (value, _, budget) => isValidJson(value, budget) ? value : undefined],
  ["reverse", reverse],
  ["flatten", flatten],
  ["join", join],
  ["keys", keys],
  ["values", values],
  ["tostr", (value, _, budget) => textOf(value, budget)],
  ["fromstr", fromText],
  ["group", group],
]);

/** Whether an argument such as `{"deep":true}` switches an option on; the last of repeated keys counts. */
function option(argument: unknown, name: string, budget: Budget): boolean {
  if (!isObject(argument)) return false;
  const given = membersOf(argument, budget).findLast(([key]) => key === name);
  return given !== undefined && isTruthy(given[1]);
}

function sorted(value: unknown, budget: Budget): unknown {
  budget.spend(4);
  if (Array.isArray(value)) {
    return budget.deeper(() => value.map((it) => sorted(it, budget)));
  }
  if (!isObject(value)) return value;
  return budget.deeper(() => {
    const members = membersOf(value, budget).map(([key, it]) => [key, sorted(it, budget)] as const);
    return new Members(members.toSorted(([a], [b]) => compareText(a, b)));
  });
}

function reverse(value: unknown, _: unknown, budget: Budget): unknown {
  if (Array.isArray(value)) {
    budget.spend(value.length);
    return value.toReversed();
  }
  return isObject(value) ? new Members(membersOf(value, budget).toReversed()) : value;
}

function flatten(value: unknown, argument: unknown, budget: Budget): unknown {
  if (!Array.isArray(value)) return value;
  const isDeep = option(argument, "deep", budget);
  const flat = (list: readonly unknown[]): unknown[] => {
    budget.spend(list.length);
    return list.flatMap((it) => {
      if (!Array.isArray(it)) return [it];
      budget.spend(it.length);
      return isDeep ? budget.deeper(() => flat(it)) : it;
    });
  };
  return flat(value);
}

/** Merges the objects of an array: a later value replaces an earlier one, unless `preserve` is set. */
function join(value: unknown, argument: unknown, budget: Budget): unknown {
  if (!Array.isArray(value)) return value;
  const members = value.filter(isObject).flatMap((it) => membersOf(it, budget));
  budget.spend(value.length);
  return option(argument, "preserve", budget)
    ? new Members(members)
    : new Members([...new Map(members)]);
}

function keys(value: unknown, _: unknown, budget: Budget): unknown {
  if (isObject(value)) return membersOf(value, budget).map(([key]) => key);
  if (!Array.isArray(value)) return value === undefined ? [] : [null];
  budget.spend(value.length);
  return value.map(() => null);
}

function values(value: unknown, _: unknown, budget: Budget): unknown {
  if (Array.isArray(value)) return value;
  if (isObject(value)) return membersOf(value, budget).map(([, it]) => it);
  return value === undefined ? [] : [value];
}

/** Parses the JSON in a string; what is not JSON is missing. Null is missing, other values stay. */
function fromText(value: unknown, _: unknown, budget: Budget): unknown {
  if (!isValidJson(value, budget) || value === null) return undefined;
  if (typeof value !== "string") return value;
  budget.spendText(value.length);
  return jsonTextOf(value);
}

/** Turns an object of arrays into an array of objects: the first elements, the second ones, and so on. */
function group(value: unknown, _: unknown, budget: Budget): unknown {
  if (!isObject(value)) return undefined;
  const rows: [string, unknown][][] = [];
  for (const [key, list] of membersOf(value, budget)) {
    if (!Array.isArray(list)) continue;
    budget.spend(list.length);
    for (const [at, element] of list.entries()) {
      const row = rows[at];
      if (row === undefined) rows.push([[key, element]]);
      else row.push([key, element]);
    }
  }
  return rows.map((row) => new Members(row));
}
