/** Whether a value meets a query's comparison. */
import type { Budget } from "./budget.ts";
import { compareText } from "./json.ts";
import { fitsPattern } from "./pattern.ts";
import type { Operator, Query } from "./query_text.ts";

/** Whether `~` takes a value for true. */
export function isTruthy(value: unknown): boolean {
  if (typeof value === "string") return /^(1|t|true)$/i.test(value);
  return value === true || (typeof value === "number" && value !== 0);
}

/**
 * Whether the value that a query's path led to meets its comparison. Without an operator whatever is
 * there does; null, arrays and objects meet no comparison, not even `!=`.
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

/** False comes before true; what is neither is unequal to both, and is not asked after for `<=` and `>=`. */
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
