/** Parser of GJSON queries, `#(…)`. */
import { readGoFloat } from "../../platform/base/go_float.ts";
import { endOfQuoted } from "./brackets.ts";

export type Operator = "" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "%" | "!%";

/** A query; see {@link parseQuery}. */
export interface Query {
  readonly path: string;
  /** Empty if the query only asks whether the path leads to a value. */
  readonly operator: Operator;
  /** Without its quotes; begins with `~` if the element is converted to a boolean first. */
  readonly value: string;
  /** The value as a number, or 0 if it is not a number. */
  readonly number: number;
  /** Index of the character after the closing bracket. */
  readonly end: number;
  /** Index of the operator; undefined if there is none. */
  readonly operatorAt: number | undefined;
}

const OPERATORS: readonly Operator[] = ["!=", "!%", "<=", ">=", "<", ">", "=", "%"];

/** Parses the query at the start of a text. Returns undefined if its brackets or quotes are not closed. */
export function parseQuery(text: string): Query | undefined {
  if (text[1] !== "(" && text[1] !== "[") return undefined;
  let operatorAt: number | undefined;
  let hasEscape = false;
  let depth = 1;
  let at = 2;
  for (; at < text.length; at++) {
    const char = text[at] ?? "";
    if (depth === 1 && operatorAt === undefined && "!=<>%".includes(char)) {
      operatorAt = at;
    } else if (char === "\\") {
      at++;
    } else if (char === "[" || char === "(") {
      depth++;
    } else if (char === "]" || char === ")") {
      if (--depth === 0) break;
    } else if (char === '"') {
      const end = endOfQuoted(text, at);
      hasEscape ||= text.slice(at, end).includes("\\");
      at = end;
    }
  }
  if (depth > 0) return undefined;
  if (operatorAt === undefined) {
    return {
      path: trim(text.slice(2, at)),
      operator: "",
      value: "",
      number: 0,
      end: at + 1,
      operatorAt,
    };
  }
  const comparison = parseComparison(trim(text.slice(operatorAt, at)), hasEscape);
  const number = numberOf(comparison.value);
  return { path: trim(text.slice(2, operatorAt)), ...comparison, number, end: at + 1, operatorAt };
}

function parseComparison(
  text: string,
  hasEscape: boolean,
): { operator: Operator; value: string } {
  const plain = text.startsWith("==") ? text.slice(1) : text;
  // A lone "!" is an incomplete "!=" or "!%", and no operator.
  const operator = OPERATORS.find((it) => plain.startsWith(it)) ?? "";
  const value = trim(plain.slice(operator.length));
  if (value.length < 2 || !value.startsWith('"') || !value.endsWith('"')) {
    return { operator, value };
  }
  const inside = value.slice(1, -1);
  return { operator, value: hasEscape ? unescape(inside) : inside };
}

/** Returns the text without spaces and control characters at both ends. */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) <= 0x20) start++;
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--;
  return text.slice(start, end);
}

/** The beginning of a text, up to the first invalid escape or control character. */
// deno-lint-ignore no-control-regex
const VALID = /^(?:[^\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[^]{4}))*/;
const CONTROLS = new Map(Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }));

/** Replaces JSON's escapes; the result ends before the first invalid escape or control character. */
function unescape(text: string): string {
  const valid = VALID.exec(text)?.[0] ?? "";
  const plain = valid.replace(
    /\\(?:u([^]{4})|(.))/g,
    (_, hex?: string, letter = "") =>
      hex === undefined
        ? CONTROLS.get(letter) ?? letter
        : String.fromCharCode(Number.parseInt(hex, 16) || 0),
  );
  return plain.toWellFormed();
}

const HEX = String.raw`[\da-f](?:_?[\da-f])*`;
const HEXADECIMAL = new RegExp(
  String.raw`^([+-]?)0x(?=_?\.?[\da-f])((?:_?${HEX})?)(?:\.((?:${HEX})?))?p([+-]?\d+(?:_\d+)*)$`,
  "i",
);

/** Parses a number as Go does, hexadecimal ones too. Returns 0 for other text. */
function numberOf(text: string): number {
  const decimal = readGoFloat(text);
  if (decimal !== undefined) return decimal.value;
  const [, sign, whole = "", part = "", exponent] = HEXADECIMAL.exec(text) ?? [];
  if (exponent === undefined) return 0;
  const plain = (digits: string) => digits.replaceAll("_", "");
  const fraction = plain(part);
  const digits = Number(`0x${plain(whole)}${fraction}`);
  const value = digits * 2 ** (Number(plain(exponent)) - 4 * fraction.length);
  return sign === "-" ? -value : value;
}
