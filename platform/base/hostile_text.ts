/** Hostile text: characters that are not seen, or that steer what shows them, spelled out. */

/** Control characters, those that turn the direction of what follows, and those that are not seen at all. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** Each UTF-16 code unit as JSON escapes it. */
const escaped = (text: string) =>
  text.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Returns the text with such characters as JSON escapes them, but for those of `kept`. */
export const spelledOut = (text: string, kept = ""): string =>
  text.replace(UNSEEN, (it) => kept.includes(it) ? it : escaped(it));

/** Sequences with which programs colour a terminal, or move in it. */
// deno-lint-ignore no-control-regex
const SEQUENCE = /\u001b(\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(\u0007|\u001b\\)?)/g;

/** Returns the text without sequences that a terminal obeys. */
export const withoutSequences = (text: string): string => text.replace(SEQUENCE, "");

/** What follows the last carriage return that is not at the line's end. */
const writtenLast = (line: string) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1);

/** Returns lines of a log without colours; of a line that was written over, what stood there last. */
export function logText(text: string): string {
  const lines = withoutSequences(text).replaceAll("\r\n", "\n").split("\n");
  return spelledOut(lines.map(writtenLast).join("\n").replaceAll("\r", ""), "\t\n");
}

/** Returns a text of at most `length` UTF-16 code units, whole code points, with `…` at the end of one that was longer. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "") + "…";
}

/** Returns the end of a text that takes at most that many bytes in UTF-8, cut between characters. */
export function lastBytes(text: string, bytes: number): string {
  const all = new TextEncoder().encode(text);
  if (all.length <= bytes) return text;
  let from = all.length - bytes;
  while (((all[from] ?? 0) & 0xc0) === 0x80) from++;
  return new TextDecoder().decode(all.subarray(from));
}
