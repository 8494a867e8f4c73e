/** Parsers of the multipaths and modifiers in a GJSON path. */
import { endOfPiece, endOfQuoted } from "./brackets.ts";

/** One path of a multipath, and the name that its value gets in an object. */
export interface Selector {
  /** As written, with its quotes; undefined if there is none. */
  readonly name?: string;
  readonly path: string;
  /** Index of the path's first character. */
  readonly at: number;
}

/**
 * Parses the multipath at the start of a text, `[a,b]` or `{"x":a,b}`; `end` is the index after its closing bracket.
 * Returns undefined if its brackets are not closed.
 */
export function parseMultipath(text: string) {
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
    // A colon before a modifier's argument ends no name, unless the selector begins with the modifier.
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

/** Returns the last component of a path, as written. */
export function lastComponent(path: string): string {
  for (let at = path.length - 1; at >= 0; at--) {
    const char = path[at];
    if ((char === "|" || char === ".") && path[at - 1] !== "\\") return path.slice(at + 1);
  }
  return path;
}

/**
 * Parses the modifier at the start of a text, `@name` or `@name:argument`, up to the index `end`. The argument, which
 * begins at `argumentAt`, is empty if there is none. Returns undefined if it is not closed.
 */
export function parseModifier(text: string) {
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
