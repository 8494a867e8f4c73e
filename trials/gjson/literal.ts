/** Literals in GJSON paths: `!` and a value that stands for itself. */
import { jsonTextOf, readJsonText } from "./json_text.ts";
import { endOfPiece } from "./brackets.ts";

/** A literal's value and the index after it, or what is wrong with it and where. */
export type Literal =
  | { readonly value: unknown; readonly end: number }
  | { readonly problem: string; readonly index: number };

/** Parses the literal at the start of a text. Returns undefined if GJSON takes it for a key. */
export function literalAt(text: string): Literal | undefined {
  const first = text[1] ?? "";
  if (first === "{" || first === "[") {
    const end = endOfPiece(text, 1);
    if (end === undefined) return { problem: "a bracket is not closed", index: 1 };
    return jsonLiteral(text, end);
  }
  // Observed in GJSON: a string or a number takes in all that follows, so nothing may follow.
  if (/[-+\d"]/.test(first)) return jsonLiteral(text, text.length);
  const end = 1 + text.slice(1).search(/[|.]|$/);
  const word = text.slice(1, end);
  switch (word.toLowerCase()) {
    case "true":
    case "false":
    case "null":
      return word === word.toLowerCase()
        ? { value: jsonTextOf(word), end }
        : { problem: `this literal is written "${word.toLowerCase()}"`, index: 1 };
    case "nan":
      return { value: Number.NaN, end };
    case "inf":
      return { value: Infinity, end };
    default:
      return undefined;
  }
}

function jsonLiteral(text: string, end: number): Literal {
  const read = readJsonText(text.slice(1, end));
  if ("value" in read) return { value: read.value, end };
  return { problem: `a literal that is not JSON: ${read.problem}`, index: 1 + read.index };
}
