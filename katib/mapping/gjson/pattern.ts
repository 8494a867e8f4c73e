/** Patterns with `*` and `?`, of keys and of the operators `%` and `!%`. */
import type { Budget } from "./budget.ts";

/** A character, or one of the two wildcards. */
type Part = { readonly char: string } | "one" | "many";

function partsOf(pattern: string): Part[] | undefined {
  const parts: Part[] = [];
  const chars = [...pattern];
  for (let at = 0; at < chars.length; at++) {
    let char = chars[at] ?? "";
    if (char === "*") {
      if (parts.at(-1) !== "many") parts.push("many");
      continue;
    }
    if (char === "?") {
      parts.push("one");
      continue;
    }
    if (char === "\\") {
      at++;
      const escaped = chars[at];
      if (escaped === undefined) return undefined;
      char = escaped;
    }
    parts.push({ char });
  }
  return parts;
}

/**
 * Whether the whole text fits the pattern: `*` is any number of characters, `?` is one, `\` takes the
 * meaning from the character after it; at the pattern's end it fits nothing.
 */
export function fitsPattern(text: string, pattern: string, budget: Budget): boolean {
  const parts = partsOf(pattern);
  if (parts === undefined) return false;
  const chars = [...text];
  budget.spend(1 + (chars.length + parts.length) / 16);
  let part = 0;
  let at = 0;
  // Where to go on from when a later part does not fit: the last `*` takes one character more.
  let lastMany = -1;
  let retryAt = 0;
  while (at < chars.length) {
    budget.spend(1 / 16);
    const wanted = parts[part];
    if (wanted === "many") {
      lastMany = part++;
      retryAt = at;
    } else if (wanted === "one" || (wanted !== undefined && wanted.char === chars[at])) {
      part++;
      at++;
    } else if (lastMany >= 0) {
      part = lastMany + 1;
      at = ++retryAt;
    } else {
      return false;
    }
  }
  while (parts[part] === "many") part++;
  return part === parts.length;
}
