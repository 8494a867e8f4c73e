/** Lines of a text in which another is found, in any case of letters. Pure. */

/** Most places that are marked: each is an element. */
const MOST_FOUND = 2_000;

/** Returns the lines that have a text as parts: at odd places stands what was found, and is marked. */
export function foundParts(text: string, wanted: string): readonly string[] {
  if (wanted === "") return [text];
  const literal = wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const found = new RegExp(`(${literal})`, "iu");
  const lines = text.split("\n").filter((line) => found.test(line)).join("\n");
  const parts = lines.split(found);
  const begin = Math.max(0, parts.length - 1 - 2 * MOST_FOUND);
  return [parts.slice(0, begin + 1).join(""), ...parts.slice(begin + 1)];
}
