/** Comparisons of GJSON queries. */
import type { Budget } from "./budget.ts";
import { compareText } from "./gjson_values.ts";
import { fitsPattern } from "./pattern.ts";
import type { Operator, Query } from "./query_text.ts";

/** Whether `~` counts a value as true. */
export function isTruthy(value: unknown): boolean {
  if (typeof value === "string") return /^(1|t|true)$/i.test(value);
  return value === true || (typeof value === "number" && value !== 0);
}

/**
 * Whether the value that a query's path led to meets its comparison. Any value meets a query without an
 * operator; null, arrays and objects meet no comparison, not even `!=`.
 */
export function meets(value: unknown, query: Query, budget: Budget): boolean {
  const isCast = query.value.startsWith("~");
  const left = isCast ? isTruthy(value) : value;
  const right = isCast ? query.value.slice(1) : query.value;
  if (left === undefined) return false;
  if (query.operator === "") return true;
  switch (typeof left) {
    case "string":
      return textMeets(left, query.operator, right, budget);
    case "number":
      return numberMeets(left, query.operator, query.number);
    case "boolean":
      return BOOLEANS[query.operator]?.(left, right) ?? false;
    default:
      return false;
  }
}

function textMeets(left: string, operator: Operator, right: string, budget: Budget): boolean {
  if (operator === "%") return fitsPattern(left, right, budget);
  if (operator === "!%") return !fitsPattern(left, right, budget);
  return orderMeets(compareText(left, right), operator);
}

function numberMeets(left: number, operator: Operator, right: number): boolean {
  if (Number.isNaN(left) || Number.isNaN(right)) return operator === "!=";
  return orderMeets(left === right ? 0 : left < right ? -1 : 1, operator);
}

/** What the order of two values has to be: negative if the left one is less, 0 if they are equal. */
const ORDERS: Partial<Record<Operator, (order: number) => boolean>> = {
  "=": (order) => order === 0,
  "!=": (order) => order !== 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

const orderMeets = (order: number, operator: Operator): boolean =>
  ORDERS[operator]?.(order) ?? false;

/** False ranks before true; any other operand is unequal to both, and `<=` and `>=` ignore it. */
const BOOLEANS: Partial<Record<Operator, (left: boolean, right: string) => boolean>> = {
  "=": (left, right) => right === String(left),
  "!=": (left, right) => right !== String(left),
  ">": (left, right) => left && right === "false",
  "<": (left, right) => !left && right === "true",
  ">=": (left) => left,
  "<=": (left) => !left,
};
