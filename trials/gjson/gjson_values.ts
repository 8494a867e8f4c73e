/** JSON values that GJSON paths read and make; a missing value is `undefined`. */
import type { Budget } from "./budget.ts";

/**
 * An object whose members have an order of their own and may repeat, as multipaths, modifiers and literals
 * make it. Objects of the job stay as they are and count as sorted by their keys, as in the text that Katib
 * evaluates.
 */
export class Members {
  constructor(readonly list: readonly (readonly [string, unknown])[]) {}
}

/** Whether a value is an object of either sort. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Orders texts by their UTF-8 bytes, as Go does. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/** Surrogates rank highest: they stand for the code points above all others. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Returns the members in their order: those of a job's object sorted, without `undefined` values. */
export function membersOf(object: object, budget: Budget): readonly (readonly [string, unknown])[] {
  if (object instanceof Members) {
    budget.spend(object.list.length);
    return object.list;
  }
  const members = Object.entries(object).filter(([, value]) => value !== undefined);
  budget.spend(members.length);
  return members.sort(([a], [b]) => compareText(a, b));
}

/** Returns the values of the members with that key, in their order; a job's object has at most one. */
export function valuesAt(object: object, key: string, budget: Budget): readonly unknown[] {
  budget.spend(1);
  if (object instanceof Members) {
    budget.spend(object.list.length);
    return object.list.filter(([name]) => name === key).map(([, value]) => value);
  }
  const own = Object.getOwnPropertyDescriptor(object, key);
  return own?.value === undefined ? [] : [own.value];
}

/** Quotes a string as Go's encoder does, which escapes `<`, `>`, `&` and two line separators as well. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Returns the compact JSON text of a value, or an empty text if there is no value. */
export function textOf(value: unknown, budget: Budget): string {
  return budget.deeper(() => {
    const text = ownText(value, budget);
    budget.spendText(text.length);
    return text;
  });
}

/** Returns what GJSON's literals write for the numbers that JSON lacks. */
function notFinite(value: number): string {
  return Number.isNaN(value) ? "nan" : "inf";
}

function ownText(value: unknown, budget: Budget): string {
  if (Array.isArray(value)) {
    return `[${value.map((it) => textOf(it, budget)).join(",")}]`;
  }
  if (isObject(value)) {
    const members = membersOf(value, budget);
    return `{${members.map(([key, it]) => `${quoted(key)}:${textOf(it, budget)}`).join(",")}}`;
  }
  budget.spend(1);
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number" && !Number.isFinite(value)) return notFinite(value);
  return value === undefined ? "" : JSON.stringify(value);
}

/** Whether all of a value can be written as JSON: a literal may have introduced NaN or infinity. */
export function isValidJson(value: unknown, budget: Budget): boolean {
  budget.spend(1);
  if (value === undefined) return false;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) {
    return budget.deeper(() => value.every((it) => isValidJson(it, budget)));
  }
  if (!isObject(value)) return true;
  return budget.deeper(() => membersOf(value, budget).every(([, it]) => isValidJson(it, budget)));
}
