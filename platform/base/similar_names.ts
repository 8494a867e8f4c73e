/** Similar names: those that somebody may have meant who typed another one. Pure. */

/** Longest name that is compared, in characters, and most that are suggested. */
const LIMITS = { length: 253, names: 3 } as const;
/** Letters of a name for each that may be wrong in it, and how many may be at most. */
const LETTERS_PER_SLIP = 3;
const MOST_SLIPS = 3;
/** Fewer letters begin too many names. */
const LEAST_BEGINNING = 3;

/** Returns how many letters were left out, added, exchanged, or swapped with the next one between two texts. */
function slipsBetween(one: string, other: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from(one, (_, index) => index)];
  last.push(one.length);
  for (let row = 1; row <= other.length; row++) {
    const next = [row];
    for (let at = 1; at <= one.length; at++) {
      const isSame = one[at - 1] === other[row - 1];
      const isSwapped = one[at - 1] === other[row - 2] && one[at - 2] === other[row - 1];
      next.push(Math.min(
        (last[at] ?? 0) + 1,
        (next[at - 1] ?? 0) + 1,
        (last[at - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[at - 2] ?? Infinity) + 1 : Infinity,
      ));
    }
    [before, last] = [last, next];
  }
  return last[one.length] ?? 0;
}

/** Returns the names that are most like the typed one, the likeliest first; none if it is like none of them. */
export function similarNames(typed: string, names: Iterable<string>): string[] {
  const text = typed.toLowerCase().slice(0, LIMITS.length);
  const share = Math.max(1, Math.floor(text.length / LETTERS_PER_SLIP));
  const most = Math.min(MOST_SLIPS, share, text.length - 1);
  const found: { readonly name: string; readonly slips: number }[] = [];
  for (const name of new Set(names)) {
    const known = name.toLowerCase().slice(0, LIMITS.length);
    const isBegun = text.length >= LEAST_BEGINNING && known.startsWith(text);
    const isNear = Math.abs(known.length - text.length) <= most;
    const slips = isBegun ? 1 : isNear ? slipsBetween(text, known) : Infinity;
    if (slips <= most) found.push({ name, slips });
  }
  return found.sort((a, b) => a.slips - b.slips || (a.name < b.name ? -1 : 1))
    .slice(0, LIMITS.names).map(({ name }) => name);
}

/** Returns the question whether one of them was meant, after a semicolon; empty if none is like the typed one. */
export function didYouMean(typed: string, names: Iterable<string>): string {
  const similar = similarNames(typed, names);
  const last = similar.pop();
  if (last === undefined) return "";
  return `; did you mean ${similar.length === 0 ? "" : `${similar.join(", ")} or `}${last}?`;
}
