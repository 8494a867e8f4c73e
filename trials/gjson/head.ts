/** Beginnings of GJSON paths that make a value of their own: modifiers, literals and multipaths. */
import { jsonTextOf } from "./json_text.ts";
import { literalAt } from "./literal.ts";
import { type Modifier, MODIFIERS } from "./modifiers.ts";
import { lastComponent, parseModifier, parseMultipath } from "./pieces.ts";

/** The beginning of a path, and the path, if any, that applies to the value that it makes. */
export type Head =
  & (
    | { readonly kind: "modifier"; readonly modifier: Modifier; readonly argument: unknown }
    | { readonly kind: "literal"; readonly value: unknown }
    | {
      readonly kind: "multipath";
      /** Whether it makes an object, by the names; otherwise it makes an array. */
      readonly isObject: boolean;
      readonly selectors: readonly { readonly name: string; readonly path: string }[];
    }
    /** The path begins with a key, an index, a query or "#". */
    | { readonly kind: "none" }
  )
  & { readonly rest?: string };

const NONE: Head = { kind: "none" };

/** Parses the beginning of a path. */
export function headOf(path: string): Head {
  switch (path.length > 1 ? path[0] : "") {
    case "@":
      return modifierOf(path);
    case "!": {
      const literal = literalAt(path);
      if (literal === undefined || "problem" in literal) return NONE;
      return { kind: "literal", value: literal.value, ...restOf(path, literal.end) };
    }
    case "[":
    case "{":
      return multipathOf(path);
    default:
      return NONE;
  }
}

function modifierOf(path: string): Head {
  const call = parseModifier(path);
  const modifier = MODIFIERS.get(call?.name ?? "");
  if (call === undefined || modifier === undefined) return NONE;
  return {
    kind: "modifier",
    modifier,
    argument: jsonTextOf(call.argument),
    ...restOf(path, call.end),
  };
}

function multipathOf(path: string): Head {
  const multipath = parseMultipath(path);
  if (multipath === undefined) return NONE;
  const after = path[multipath.end];
  if (after !== undefined && after !== "|" && after !== ".") return NONE;
  const selectors = multipath.selectors
    .map((it) => ({ name: nameOf(it.name, it.path), path: it.path }));
  const isObject = path[0] === "{";
  return { kind: "multipath", isObject, selectors, ...restOf(path, multipath.end) };
}

/** Returns what applies to the value that was made: all after the dot or pipe. */
function restOf(path: string, end: number): { rest?: string } {
  const next = path[end];
  return next === "." || next === "|" ? { rest: path.slice(end + 1) } : {};
}

/** Returns the name of a selector's value: the one given, or the path's last component if that is plain. */
function nameOf(given: string | undefined, path: string): string {
  if (given !== undefined && given !== "") {
    const text = given.startsWith('"') ? jsonTextOf(given) : undefined;
    return typeof text === "string" ? text : given;
  }
  const last = lastComponent(path);
  // deno-lint-ignore no-control-regex
  return /[\u0000-\u001f[\]{}()#|!]/.test(last) ? "_" : last;
}
