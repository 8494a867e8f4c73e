/** Syntax check of GJSON paths. */
import { readJsonText } from "./json_text.ts";
import { literalAt } from "./literal.ts";
import { MODIFIERS } from "./modifiers.ts";
import { parseModifier, parseMultipath } from "./pieces.ts";
import { parseQuery } from "./query_text.ts";

/** A path without syntax mistakes. */
export interface GjsonPath {
  readonly text: string;
}

/** The path, or what is wrong with it; `position` counts characters from 1. */
export type PathReading =
  | { readonly ok: true; readonly path: GjsonPath }
  | { readonly ok: false; readonly position: number; readonly message: string };

/** Most characters of a path. */
export const MAX_PATH_LENGTH = 4096;
/** Deepest nesting of queries and multipaths. */
const MAX_NESTING = 32;

/**
 * Checks a path. GJSON itself accepts every text and takes what is not closed for a key, so that a mistake
 * would never show; here it is refused. What GJSON takes for a key although it is closed, such as an unknown
 * modifier, stays a key.
 */
export function parsePath(text: string): PathReading {
  if (text.length > MAX_PATH_LENGTH) {
    return mistake(MAX_PATH_LENGTH, `more than ${MAX_PATH_LENGTH} characters`);
  }
  if (text.trim() === "") return mistake(0, "an empty path");
  const found = checkPath(text, 0, 0);
  return found === undefined ? { ok: true, path: { text } } : mistake(found.index, found.message);
}

function mistake(index: number, message: string): PathReading {
  return { ok: false, position: index + 1, message };
}

interface Mistake {
  readonly index: number;
  readonly message: string;
}

/** The index after a component, or what is wrong with it. */
type Component = { readonly end: number } | Mistake;

/** Returns the first mistake of a path that begins at `offset` of the whole. */
function checkPath(path: string, offset: number, nesting: number): Mistake | undefined {
  if (nesting > MAX_NESTING) {
    return { index: offset, message: `more than ${MAX_NESTING} nested brackets` };
  }
  let at = 0;
  // A literal can stand where a path begins: at the start, after a pipe, after "#" and a dot.
  let isStart = true;
  while (at < path.length) {
    const rest = path.slice(at);
    const component = checkComponent(rest, isStart, nesting);
    if ("message" in component) {
      return { index: offset + at + component.index, message: component.message };
    }
    at += component.end;
    const separator = path[at];
    if (separator !== undefined && separator !== "." && separator !== "|") {
      return {
        index: offset + at,
        message: `expected ".", "|" or the end, not "${separator}"`,
      };
    }
    isStart = separator === "|" || rest.startsWith("#");
    at++;
  }
  return undefined;
}

function checkComponent(rest: string, isStart: boolean, nesting: number): Component {
  switch (rest[0]) {
    case "@":
      return checkModifier(rest);
    case "!":
      return isStart ? checkLiteral(rest) : checkKey(rest);
    case "[":
    case "{":
      return checkMultipath(rest, nesting);
    case "#":
      return rest[1] === "(" || rest[1] === "[" ? checkQuery(rest, nesting) : checkKey(rest);
    default:
      return checkKey(rest);
  }
}

function checkKey(rest: string): Component {
  for (let at = 0; at < rest.length; at++) {
    const char = rest[at];
    if (char === "." || char === "|") return { end: at };
    if (char !== "\\") continue;
    if (++at >= rest.length) {
      return { index: at - 1, message: "a backslash at the end escapes nothing" };
    }
  }
  return { end: rest.length };
}

function checkModifier(rest: string): Component {
  const call = parseModifier(rest);
  if (call === undefined) return { index: 0, message: "an argument that is not closed" };
  if (!MODIFIERS.has(call.name)) return checkKey(rest);
  if (/^[{["]/.test(call.argument)) {
    const read = readJsonText(call.argument);
    if ("problem" in read) {
      const message = `an argument that is not JSON: ${read.problem}`;
      return { index: call.argumentAt + read.index, message };
    }
  }
  return { end: call.end };
}

function checkLiteral(rest: string): Component {
  const literal = literalAt(rest);
  if (literal === undefined) return checkKey(rest);
  return "problem" in literal
    ? { index: literal.index, message: literal.problem }
    : { end: literal.end };
}

function checkMultipath(rest: string, nesting: number): Component {
  const multipath = parseMultipath(rest);
  if (multipath === undefined) {
    return { index: 0, message: `a "${rest[0]}" that is not closed` };
  }
  for (const selector of multipath.selectors) {
    const found = checkPath(selector.path, selector.at, nesting + 1);
    if (found !== undefined) return found;
  }
  return { end: multipath.end };
}

function checkQuery(rest: string, nesting: number): Component {
  const query = parseQuery(rest);
  if (query === undefined) {
    return { index: 0, message: "a query whose bracket or quote is not closed" };
  }
  if (query.operatorAt !== undefined && query.operator === "") {
    return { index: query.operatorAt, message: 'a "!" that belongs to no operator' };
  }
  const inner = checkPath(query.path, rest.indexOf(query.path, 2), nesting + 1);
  if (inner !== undefined) return inner;
  const isAll = rest[query.end] === "#";
  const after = query.end + (isAll ? 1 : 0);
  // White space is accepted, as in GJSON: a block of YAML text ends with a line break.
  return { end: after + (/^\s*/.exec(rest.slice(after))?.[0].length ?? 0) };
}
