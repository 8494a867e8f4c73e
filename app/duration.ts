/** Durations as Go writes them: `15s`, `1m30s`, `250ms`. */

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The milliseconds of a Go duration; nothing where the text is none. `0` needs no unit. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, number, , unit] of text.matchAll(/(\d+(\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(number) * (UNITS[unit ?? ""] ?? 0);
  }
  return total;
}
