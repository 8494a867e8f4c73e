/** The text of a path taken apart, one step at a time, as far as the value it has come to tells how. */
import { type Split, splitPipe } from "./brackets.ts";
import { parseQuery, type Query } from "./query_text.ts";

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
    | { readonly kind: "each"; readonly after: Split }
    | {
      readonly kind: "query";
      readonly query: Query;
      readonly all: boolean;
      /** What is asked of each element that meets it; absent: the element is the answer. */
      readonly after?: Split;
    }
    /** No array has such a thing. */
    | { readonly kind: "nothing" }
  )
  & { readonly next?: string; readonly pipe?: string };

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
  if (path.startsWith("#.")) return { kind: "each", after: splitPipe(path.slice(2)) };
  const query = path[0] === "#" ? parseQuery(path) : undefined;
  if (query === undefined && /^#[([]/.test(path)) return { kind: "nothing" };
  const from = query?.end ?? 0;
  const end = from + path.slice(from).search(/[.|]|$/);
  const part = path.slice(0, end);
  const rest = path.slice(end + 1);
  const isPiped = path[end] === "|" ||
    (path[end] === "." && !part.includes("#") && beginsPipe(path, end + 1));
  const after: { next?: string; pipe?: string } = end >= path.length
    ? {}
    : isPiped
    ? { pipe: rest }
    : { next: rest };
  if (query !== undefined) {
    const split = after.next === undefined ? after : { after: splitPipe(after.next) };
    return { kind: "query", query, all: path[query.end] === "#", ...split };
  }
  if (part === "#") return { kind: "count", ...after };
  if (/^\d+$/.test(part)) return { kind: "index", index: Number(part), ...after };
  return { kind: "nothing", ...after };
}
