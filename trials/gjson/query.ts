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
      return booleanMeets(left, query.operator, right);
    default:
      return false;
  }
}

function textMeets(left: string, operator: Operator, right: string, budget: Budget): boolean {
  switch (operator) {
    case "%":
      return fitsPattern(left, right, budget);
    case "!%":
      return !fitsPattern(left, right, budget);
    default:
      return orderMeets(compareText(left, right), operator);
  }
}

function numberMeets(left: number, operator: Operator, right: number): boolean {
  if (Number.isNaN(left) || Number.isNaN(right)) return operator === "!=";
  return orderMeets(left === right ? 0 : left < right ? -1 : 1, operator);
}

function orderMeets(order: number, operator: Operator): boolean {
  switch (operator) {
    case "=":
      return order === 0;
    case "!=":
      return order !== 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    default:
      return false;
  }
}

/** False ranks before true; any other operand is unequal to both, and `<=` and `>=` ignore it. */
function booleanMeets(left: boolean, operator: Operator, right: string): boolean {
  switch (operator) {
    case "=":
      return right === String(left);
    case "!=":
      return right !== String(left);
    case ">":
      return left && right === "false";
    case "<":
      return !left && right === "true";
    case ">=":
      return left;
    case "<=":
      return !left;
    default:
      return false;
  }
}
