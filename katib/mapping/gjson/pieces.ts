/** The text of a path taken apart where it does not matter what value it has come to. */
import { endOfQuoted } from "./steps.ts";

/**
 * Index after the piece that begins at `start` with a bracket or a quote, all that it encloses with it;
 * undefined: it is not closed. Any bracket closes any other.
 */
export function endOfPiece(text: string, start: number): number | undefined {
  if (text[start] === '"') {
    const end = endOfQuoted(text, start);
    return end < text.length ? end + 1 : undefined;
  }
  let depth = 1;
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === '"') at = endOfQuoted(text, at);
    else if ("{[(".includes(char)) depth++;
    else if ("}])".includes(char) && --depth === 0) return at + 1;
  }
  return undefined;
}

/**
 * Splits what is asked of every element from what is asked of the list of the answers, at the first pipe
 * outside of queries. Undefined: there is no such pipe.
 */
export function splitPipe(path: string): { left: string; right: string } | undefined {
  if (!path.includes("|")) return undefined;
  if (path[0] === "{") return splitAfterBraces(path);
  for (let at = 0; at < path.length; at++) {
    const char = path[at];
    if (char === "\\") at++;
    else if (char === "|") return { left: path.slice(0, at), right: path.slice(at + 1) };
    else if (char === "." && path[at + 1] === "#") at = endOfQuery(path, at + 2);
  }
  return undefined;
}

/** Found by trial: after braces a pipe counts only where the first character in them is no bracket. */
function splitAfterBraces(path: string): { left: string; right: string } | undefined {
  const end = endOfPiece(path, 1);
  if (end === undefined || path[end] !== "|") return undefined;
  return { left: path.slice(0, end), right: path.slice(end + 1) };
}

/** Index of the bracket that closes the one at `start`; where there is none there, `start` itself. */
function endOfQuery(path: string, start: number): number {
  const open = path[start];
  if (open !== "[" && open !== "(") return start;
  const close = open === "[" ? "]" : ")";
  let depth = 1;
  for (let at = start + 1; at < path.length; at++) {
    const char = path[at];
    if (char === "\\") at++;
    else if (char === open) depth++;
    else if (char === close && --depth === 0) return at;
    else if (char === '"') at = endOfQuoted(path, at);
  }
  return path.length;
}

/** One path of a multipath, and the name that its value gets in an object. */
export interface Selector {
  /** As it was written, quotes with it; undefined: none was. */
  readonly name?: string;
  readonly path: string;
  /** Index of the path's first character. */
  readonly at: number;
}

/** A multipath `[a,b]` or `{"x":a,b}`. */
export interface Multipath {
  readonly selectors: readonly Selector[];
  /** Index after the closing bracket. */
  readonly end: number;
}

/** Takes the multipath at the start of a text apart; undefined: its brackets are not closed. */
export function parseMultipath(text: string): Multipath | undefined {
  const selectors: Selector[] = [];
  let start = 1;
  let colon: number | undefined;
  let inModifier = false;
  let depth = 1;
  const push = (end: number) => {
    const at = colon === undefined ? start : colon + 1;
    const name = colon === undefined ? {} : { name: text.slice(start, colon) };
    selectors.push({ ...name, path: text.slice(at, end), at });
    start = end + 1;
    colon = undefined;
    inModifier = false;
  };
  for (let at = 1; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === "\\") at++;
    else if (char === '"') at = endOfQuoted(text, at);
    // The colon of a modifier's argument is no name's, unless the selector begins with the modifier.
    else if (char === "@") inModifier ||= ".|".includes(text[at - 1] ?? " ");
    else if (char === ":" && !inModifier && depth === 1) colon ??= at;
    else if (char === "," && depth === 1) push(at);
    else if ("[({".includes(char)) depth++;
    else if ("])}".includes(char) && --depth === 0) {
      push(at);
      return { selectors, end: at + 1 };
    }
  }
  return undefined;
}

/** The last component of a path, as it is written. */
export function lastComponent(path: string): string {
  for (let at = path.length - 1; at >= 0; at--) {
    const char = path[at];
    if ((char === "|" || char === ".") && path[at - 1] !== "\\") return path.slice(at + 1);
  }
  return path;
}

/** A modifier and its argument: `@name`, `@name:argument`. */
export interface ModifierCall {
  readonly name: string;
  /** Empty: none. */
  readonly argument: string;
  /** Index of the argument's first character. */
  readonly argumentAt: number;
  /** Index after the whole. */
  readonly end: number;
}

/** Takes the modifier at the start of a text apart; undefined: its argument is not closed. */
export function parseModifier(text: string): ModifierCall | undefined {
  const nameEnd = 1 + text.slice(1).search(/[:|.]|$/);
  const name = text.slice(1, nameEnd);
  const argumentAt = nameEnd + 1;
  const first = text[argumentAt];
  if (text[nameEnd] !== ":" || first === undefined) {
    const end = text[nameEnd] === ":" ? argumentAt : nameEnd;
    return { name, argument: "", argumentAt, end };
  }
  let end: number | undefined;
  if (first === "{" || first === "[" || first === '"') end = endOfPiece(text, argumentAt);
  else end = argumentAt + text.slice(argumentAt).search(/[|]|$/);
  if (end === undefined) return undefined;
  return { name, argument: text.slice(argumentAt, end), argumentAt, end };
}
