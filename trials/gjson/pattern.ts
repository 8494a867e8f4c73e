/** Patterns with `*` and `?`, in keys and for the operators `%` and `!%`. */
import type { Budget } from "./budget.ts";

/** A character as its code point, or one of the two wildcards. */
type Part = number | "one" | "many";

function partsOf(pattern: string): Part[] | undefined {
  const parts: Part[] = [];
  let isEscaped = false;
  for (const char of pattern) {
    if (isEscaped || !"*?\\".includes(char)) {
      parts.push(char.codePointAt(0) ?? 0);
      isEscaped = false;
    } else if (char === "\\") {
      isEscaped = true;
    } else if (char === "?") {
      parts.push("one");
    } else if (parts.at(-1) !== "many") {
      parts.push("many");
    }
  }
  return isEscaped ? undefined : parts;
}

/** Returns the index of the character after the one at `at`. */
function after(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}

/**
 * Whether the whole text matches the pattern: `*` stands for any number of characters, `?` for one, and `\`
 * takes the special meaning from the character after it. A pattern that ends with `\` matches nothing.
 */
export function fitsPattern(text: string, pattern: string, budget: Budget): boolean {
  const parts = partsOf(pattern);
  budget.spend(1 + pattern.length / 16);
  if (parts === undefined) return false;
  let part = 0;
  let at = 0;
  // Where to continue if a later part does not match: the last `*` takes one character more.
  let lastMany = -1;
  let retryAt = 0;
  while (at < text.length) {
    budget.spend(1 / 16);
    const wanted = parts[part];
    if (wanted === "many") {
      lastMany = part++;
      retryAt = at;
    } else if (wanted === "one" || (wanted !== undefined && wanted === text.codePointAt(at))) {
      part++;
      at = after(text, at);
    } else if (lastMany >= 0) {
      part = lastMany + 1;
      retryAt = after(text, retryAt);
      at = retryAt;
    } else {
      return false;
    }
  }
  while (parts[part] === "many") part++;
  return part === parts.length;
}
