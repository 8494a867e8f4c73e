/** Text as a terminal may show it: characters that would steer it spelled out, cut and filled to columns. Pure. */
import stringWidth from "string-width";
import { spelledOut, withoutSequences } from "../platform/base/hostile_text.ts";

/** Marks that stand on the letter before them; more than a few climb over the lines above. */
const PILED_MARKS = /(\p{M}{3})\p{M}+/gu;
const TAB_STOP = 8;

const spelled = (text: string) => spelledOut(text).replace(PILED_MARKS, "$1");

/** Returns what others wrote, on one line, without a character that would steer the terminal. */
export function safeText(text: string): string {
  return spelled(text.replace(/\s+/g, " "));
}

/** Returns text of several lines, such as a stack, in the same way. */
export const safeLines = (text: string): string => text.split("\n").map(spelled).join("\n");

/** Returns a value as JSON on one line: what would steer the terminal is escaped, so that it means the same. */
export const safeJson = (value: unknown): string => spelledOut(JSON.stringify(value));

/** Returns a line of a log without colours; of one that was written over, what stood there last. */
export function logLine(line: string): string {
  const plain = withoutSequences(line).replace(/(?<!\r)\r+$/, "");
  const last = plain.slice(plain.lastIndexOf("\r") + 1);
  let shown = "";
  for (const part of last.split(/(\t)/)) {
    shown += part === "\t" ? " ".repeat(TAB_STOP - columnsOf(shown) % TAB_STOP) : spelled(part);
  }
  return shown;
}

/** Returns how many columns a text takes. */
export const columnsOf = (text: string): number => stringWidth(text);

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
/** Our own colours; of what others wrote none is left. */
// deno-lint-ignore no-control-regex
const STYLE = /(\u001b\[\d+m)/;

/** Returns the beginning of a text that takes at most that many columns, with `end` if it was cut. */
export function cut(text: string, columns: number, end = "…"): string {
  if (text.length <= columns && /^[ -~]*$/.test(text)) return text;
  if (columnsOf(text) <= columns) return text;
  let room = columns - columnsOf(end);
  if (room < 0) return "";
  let shown = "";
  for (const part of text.split(STYLE)) {
    // Styles are kept, also behind the cut, so that each ends.
    if (STYLE.test(part)) shown += part;
    else if (room >= 0) {
      for (const { segment } of graphemes.segment(part)) {
        room -= columnsOf(segment);
        if (room < 0) break;
        shown += segment;
      }
      if (room < 0) shown += end;
    }
  }
  return shown;
}

/** Returns a text as lines of at most that many columns, broken between words where that is possible. */
export function wrapped(text: string, columns: number): string[] {
  const width = Math.max(1, columns);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (columnsOf(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    line = "";
    // A word of more than a line, such as a path or an address.
    for (const { segment } of graphemes.segment(word)) {
      if (columnsOf(line + segment) > width && line !== "") {
        lines.push(line);
        line = "";
      }
      line += segment;
    }
  }
  return [...lines, line];
}

/** Returns a text that takes exactly that many columns: cut, or filled with blanks on the other side of `align`. */
export function fit(
  text: string,
  columns: number,
  end: string,
  align: "left" | "right" = "left",
): string {
  const shown = cut(text, columns, end);
  const blanks = " ".repeat(Math.max(0, columns - columnsOf(shown)));
  return align === "left" ? shown + blanks : blanks + shown;
}
