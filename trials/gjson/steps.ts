/** Parser of the first step of a GJSON path, for an object or for an array. */
import { type Split, splitPipe } from "./brackets.ts";
import { parseQuery, type Query } from "./query_text.ts";

/** The first step of a path at an object: a key. */
export interface KeyStep {
  readonly key: string;
  /** Whether `*` and `?` in the key are wildcards. */
  readonly isPattern: boolean;
  /** The rest of the path, which applies to the key's value. */
  readonly next?: string;
  /** The rest of the path, which applies to all that this path finds. */
  readonly pipe?: string;
}

/** The first step of a path at an array. */
export type ArrayStep =
  & (
    | { readonly kind: "index"; readonly index: number }
    | { readonly kind: "count" }
    /** `#.` and a path that applies to every element. */
    | { readonly kind: "each"; readonly after: Split }
    | {
      readonly kind: "query";
      readonly query: Query;
      readonly all: boolean;
      /** Applies to each element that meets the query; absent if the element itself is the result. */
      readonly after?: Split;
    }
    /** A step that no array has. */
    | { readonly kind: "nothing" }
  )
  & { readonly next?: string; readonly pipe?: string };

/** Whether something begins here that, after a dot, applies to the value as a whole. */
function beginsPipe(path: string, at: number): boolean {
  const char = path[at];
  return char === "@" || char === "[" || char === "{";
}

/** Parses the first step for an object. */
export function keyStep(path: string): KeyStep {
  let key = "";
  let isPattern = false;
  let isEscaped = false;
  for (let at = 0; at < path.length; at++) {
    const char = path[at];
    if (char === "|") return { key, isPattern, pipe: path.slice(at + 1) };
    if (char === ".") {
      if (!beginsPipe(path, at + 1)) return { key, isPattern, next: path.slice(at + 1) };
      // Observed in GJSON: after a key with an escape the pipe is forgotten, and nothing is found.
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

/** Parses the first step for an array, where escapes have no meaning. */
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
