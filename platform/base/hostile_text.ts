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
