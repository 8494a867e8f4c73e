/**
 * Kubernetes' CEL libraries: lists, regular expressions, URLs, quantities, and the optional
 * `oldSelf`. A quantity and an optional are maps with one key that JSON objects of a schema cannot
 * have.
 */
import {
  type CelFunc,
  celFunc,
  type CelInput,
  celMethod,
  CelScalar,
  type CelValue,
  isCelList,
  isCelMap,
  listType,
} from "@bufbuild/cel";
import { RE2JS } from "re2js";
import {
  compareQuantities,
  isQuantity,
  parseQuantity,
  type Quantity,
} from "../../../platform/base/quantity.ts";

const { STRING, INT, BOOL, DYN } = CelScalar;
const LIST = listType(DYN);
const QUANTITY = "\u0000quantity";
const OPTIONAL = "\u0000optional";

/** Returns the value of `oldSelf` under a rule with `optionalOldSelf`. */
export function optionalValue(value: CelInput | undefined): CelInput {
  return new Map<string, CelInput>([[OPTIONAL, value === undefined ? [] : [value]]]);
}

function inside(value: CelValue, key: string): CelValue | undefined {
  const found = isCelMap(value) ? value.get(key) : undefined;
  if (found === undefined) throw new Error(`not ${key === QUANTITY ? "a quantity" : "optional"}`);
  return found;
}

function optionalItem(value: CelValue): CelValue | undefined {
  const list = inside(value, OPTIONAL);
  return isCelList(list) ? list.get(0) : undefined;
}

function amount(value: CelValue): Quantity {
  const parsed = parseQuantity(String(inside(value, QUANTITY)));
  if (!parsed) throw new Error("the exponent of the quantity is too large");
  return parsed;
}

function compare(one: CelValue, other: CelValue): number {
  return compareQuantities(amount(one), amount(other));
}

function wholeNumber(value: CelValue): bigint {
  const { numerator, denominator } = amount(value);
  if (numerator % denominator !== 0n) throw new Error("the quantity is not a whole number");
  return numerator / denominator;
}

type Comparable = string | bigint | number;

function comparables(list: Iterable<CelValue>): Comparable[] {
  return [...list].map((item) => {
    if (typeof item === "string" || typeof item === "bigint" || typeof item === "number") {
      return item;
    }
    throw new Error("the items cannot be compared");
  });
}

/** Returns the item of a list that comes first by `before`. */
function extreme(list: Iterable<CelValue>, before: (a: Comparable, b: Comparable) => boolean) {
  const [first, ...rest] = comparables(list);
  if (first === undefined) throw new Error("min and max of an empty list");
  return rest.reduce((best, item) => before(item, best) ? item : best, first);
}

function sum(list: Iterable<CelValue>): bigint | number {
  const items = comparables(list);
  if (items.every((item) => typeof item === "bigint")) {
    return items.reduce<bigint>((total, item) => total + BigInt(item), 0n);
  }
  return items.reduce<number>((total, item) => total + Number(item), 0);
}

function isUrl(text: string): boolean {
  return text.startsWith("/") || URL.canParse(text);
}

function findAll(text: string, pattern: string, most = Infinity): string[] {
  const matcher = RE2JS.compile(pattern).matcher(text);
  const found: string[] = [];
  while (found.length < most && matcher.find()) found.push(matcher.group() ?? "");
  return found;
}

function quantity(text: string): CelInput {
  if (!isQuantity(text)) throw new Error(`"${text}" is not a quantity`);
  return new Map<string, CelInput>([[QUANTITY, text]]);
}

/** All functions, for the environment of rules and conditions. */
export const KUBERNETES_FUNCTIONS: CelFunc[] = [
  celMethod("isSorted", LIST, [], BOOL, function () {
    const items = comparables(this);
    return items.every((item, index) => {
      const before = items[index - 1];
      return before === undefined || before <= item;
    });
  }),
  celMethod("sum", LIST, [], DYN, function () {
    return sum(this);
  }),
  celMethod("min", LIST, [], DYN, function () {
    return extreme(this, (a, b) => a < b);
  }),
  celMethod("max", LIST, [], DYN, function () {
    return extreme(this, (a, b) => a > b);
  }),
  celMethod("indexOf", LIST, [DYN], INT, function (item) {
    return BigInt([...this].indexOf(item));
  }),
  celMethod("lastIndexOf", LIST, [DYN], INT, function (item) {
    return BigInt([...this].lastIndexOf(item));
  }),
  celMethod("find", STRING, [STRING], STRING, function (pattern) {
    return findAll(this, pattern, 1)[0] ?? "";
  }),
  celMethod("findAll", STRING, [STRING], LIST, function (pattern) {
    return findAll(this, pattern);
  }),
  celMethod("findAll", STRING, [STRING, INT], LIST, function (pattern, most) {
    return findAll(this, pattern, Number(most));
  }),
  celFunc("isURL", [STRING], BOOL, isUrl),
  celFunc("isQuantity", [STRING], BOOL, isQuantity),
  celFunc("quantity", [STRING], DYN, quantity),
  celMethod("isGreaterThan", DYN, [DYN], BOOL, function (other) {
    return compare(this, other) > 0;
  }),
  celMethod("isLessThan", DYN, [DYN], BOOL, function (other) {
    return compare(this, other) < 0;
  }),
  celMethod("compareTo", DYN, [DYN], INT, function (other) {
    return BigInt(compare(this, other));
  }),
  celMethod("asInteger", DYN, [], INT, function () {
    return wholeNumber(this);
  }),
  celMethod("hasValue", DYN, [], BOOL, function () {
    return optionalItem(this) !== undefined;
  }),
  celMethod("value", DYN, [], DYN, function () {
    const item = optionalItem(this);
    if (item === undefined) throw new Error("optional.none() has no value");
    return item;
  }),
  celMethod("orValue", DYN, [DYN], DYN, function (other) {
    return optionalItem(this) ?? other;
  }),
];
