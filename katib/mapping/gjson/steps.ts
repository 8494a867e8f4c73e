/** The text of a path taken apart, one step at a time, as far as the value it has come to tells how. */

/** The first step of a path where it has come to an object: a key. */
export interface KeyStep {
  readonly key: string;
  /** Whether `*` and `?` in the key stand for other characters. */
  readonly isPattern: boolean;
  /** What follows and is looked for in the key's value. */
  readonly next?: string;
  /** What follows and is asked of all that this path finds, once it has been found. */
  readonly pipe?: string;
}

/** The first step of a path where it has come to an array. */
export type ArrayStep =
  & (
    | { readonly kind: "index"; readonly index: number }
    | { readonly kind: "count" }
    /** `#.` and a path: that of every element. */
    | { readonly kind: "each"; readonly path: string }
    | { readonly kind: "query"; readonly query: Query; readonly all: boolean }
    /** No array has such a thing. */
    | { readonly kind: "nothing" }
  )
  & { readonly next?: string; readonly pipe?: string };

export type Operator = "" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "%" | "!%";

/** What stands between the brackets of `#(…)`. */
export interface Query {
  readonly path: string;
  /** Empty: the question is whether the path leads somewhere. */
  readonly operator: Operator;
  /** Without its quotes; with `~` before it where the element is taken for a boolean first. */
  readonly value: string;
  /** Index of the character after the closing bracket. */
  readonly end: number;
  /** Index of the operator; undefined: there is none. */
  readonly operatorAt: number | undefined;
}

/** After a dot these begin something that is asked of the value as a whole. */
function beginsPipe(path: string, at: number): boolean {
  const char = path[at];
  return char === "@" || char === "[" || char === "{";
}

/** The first step for an object. */
export function keyStep(path: string): KeyStep {
  let key = "";
  let isPattern = false;
  let isEscaped = false;
  for (let at = 0; at < path.length; at++) {
    const char = path[at];
    if (char === "|") return { key, isPattern, pipe: path.slice(at + 1) };
    if (char === ".") {
      if (!beginsPipe(path, at + 1)) return { key, isPattern, next: path.slice(at + 1) };
      // Found by trial: behind a key with an escape in it the pipe is forgotten, and nothing is found.
      if (isEscaped) return { key, isPattern, next: "" };
      return { key, isPattern, pipe: path.slice(at + 1) };
    }
    if (char === "\\") {
      isEscaped = true;
      at++;
      key += path[at] ?? "";
      continue;
    }
    if (char === "*" || char === "?") isPattern = true;
    key += char;
  }
  return { key, isPattern };
}

/** The first step for an array: escapes mean nothing there. */
export function arrayStep(path: string): ArrayStep {
  if (path.startsWith("#.")) return { kind: "each", path: path.slice(2) };
  const query = path[0] === "#" ? parseQuery(path) : undefined;
  if (query === undefined && /^#[([]/.test(path)) return { kind: "nothing" };
  const from = query?.end ?? 0;
  const end = from + path.slice(from).search(/[.|]|$/);
  const part = path.slice(0, end);
  const rest = path.slice(end + 1);
  const isPiped = path[end] === "|" ||
    (path[end] === "." && !part.includes("#") && beginsPipe(path, end + 1));
  const after = end >= path.length ? {} : isPiped ? { pipe: rest } : { next: rest };
  if (query !== undefined) {
    return { kind: "query", query, all: path[query.end] === "#", ...after };
  }
  if (part === "#") return { kind: "count", ...after };
  if (/^\d+$/.test(part)) return { kind: "index", index: Number(part), ...after };
  return { kind: "nothing", ...after };
}

const OPERATORS: readonly Operator[] = ["!=", "!%", "<=", ">=", "<", ">", "=", "%"];

/** Takes `#(…)` at the start of a text apart; undefined: its brackets or quotes are not closed. */
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
    return { path: trim(text.slice(2, at)), operator: "", value: "", end: at + 1, operatorAt };
  }
  const comparison = parseComparison(trim(text.slice(operatorAt, at)), hasEscape);
  return { path: trim(text.slice(2, operatorAt)), ...comparison, end: at + 1, operatorAt };
}

function parseComparison(
  text: string,
  hasEscape: boolean,
): { operator: Operator; value: string } {
  const plain = text.startsWith("==") ? text.slice(1) : text;
  // A lone "!" is the query's beginning of "!=" or "!%", and says nothing by itself.
  const operator = OPERATORS.find((it) => plain.startsWith(it)) ?? "";
  const value = trim(plain.slice(operator.length));
  if (value.length < 2 || !value.startsWith('"') || !value.endsWith('"')) {
    return { operator, value };
  }
  const inside = value.slice(1, -1);
  return { operator, value: hasEscape ? unescape(inside) : inside };
}

/** Index of the quote that closes the one at `start`, or of the text's end. */
export function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

/** Without the spaces and control characters at both ends. */
export function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) <= 0x20) start++;
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--;
  return text.slice(start, end);
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ['"', '"'],
]);

/** JSON's escapes replaced; the text ends before the first one that is none, and at a control character. */
export function unescape(text: string): string {
  let plain = "";
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char < " ") return plain;
    if (char !== "\\") {
      plain += char;
      continue;
    }
    at++;
    const escape = text[at] ?? "";
    const simple = ESCAPES.get(escape);
    if (simple !== undefined) {
      plain += simple;
      continue;
    }
    const hex = text.slice(at + 1, at + 5);
    if (escape !== "u" || hex.length < 4) return plain;
    const unit = Number.parseInt(hex, 16);
    plain += String.fromCharCode(Number.isNaN(unit) ? 0 : unit);
    at += 4;
  }
  return plain.toWellFormed();
}
