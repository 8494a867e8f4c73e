/** Parts of a text in which another is found, in any case of letters. Pure. */

/** A part of a text. */
export interface FoundPart {
  readonly text: string;
  /** Its number among those that were found; undefined: it stands between them. */
  readonly place?: number;
}

/** Most places that are marked: each is an element. */
export const MOST_FOUND = 1_000;

const literally = (text: string) => new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");

/** Returns the lines that have a text; all lines if that is empty. */
export function linesWith(text: string, wanted: string): string {
  if (wanted === "") return text;
  const found = literally(wanted);
  return text.split("\n").filter((line) => line.search(found) >= 0).join("\n");
}

/** Returns the parts of a text, of which the last {@link MOST_FOUND} that are found are marked. */
export function foundParts(text: string, wanted: string): readonly FoundPart[] {
  if (wanted === "") return [{ text }];
  const found = [...text.matchAll(literally(wanted))].slice(-MOST_FOUND);
  let end = 0;
  const parts = found.flatMap((match, place): FoundPart[] => {
    const before = text.slice(end, match.index);
    end = match.index + match[0].length;
    return [{ text: before }, { text: match[0], place }];
  });
  return [...parts, { text: text.slice(end) }];
}
