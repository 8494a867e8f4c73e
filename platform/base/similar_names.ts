/** Similar names: those that somebody may have meant who typed another one. Pure. */

/** Longest name that is compared, in characters, and most that are suggested. */
const LIMITS = { length: 253, names: 3 } as const;
/** A name of less letters begins too many others. */
const LEAST_BEGINNING = 3;

/** Returns how many letters have to be left out, added or exchanged to make one text of the other (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: one.length + 1 }, (_, index) => index);
  for (const letter of other) {
    const next = [(row[0] ?? 0) + 1];
    for (let at = 1; at <= one.length; at++) {
      const exchanged = (row[at - 1] ?? 0) + (one[at - 1] === letter ? 0 : 1);
      next.push(Math.min(exchanged, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[one.length] ?? 0;
}

/** Returns the names that are most like the typed one, the likeliest first; none if it is like none of them. */
export function similarNames(typed: string, names: Iterable<string>): string[] {
  const text = typed.slice(0, LIMITS.length);
  // Two letters that are swapped are two exchanges.
  const most = Math.min(3, Math.floor(text.length / 2));
  const distances = [...new Set(names)].map((name) => {
    const isBegun = text.length >= LEAST_BEGINNING && name.startsWith(text);
    const isNear = Math.abs(name.length - text.length) <= most;
    return { name, away: isBegun ? 0 : isNear ? distance(text, name) : Infinity };
  });
  return distances.filter(({ away }) => away <= most)
    .sort((a, b) => a.away - b.away || (a.name < b.name ? -1 : 1))
    .slice(0, LIMITS.names).map(({ name }) => name);
}

/** Returns the question whether one of them was meant, after a semicolon; empty if none is like the typed one. */
export function didYouMean(typed: string, names: Iterable<string>): string {
  const meant = new Intl.ListFormat("en", { type: "disjunction" }).format(
    similarNames(typed, names),
  );
  return meant === "" ? "" : `; did you mean ${meant}?`;
}
