/** Durations as Go writes them: `15s`, `1m30s`, `250ms`. */

/** Milliseconds of each unit. */
const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  "µs": 1e-3,
  "μs": 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const PART = String.raw`(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)`;
const WHOLE = new RegExp(`^\\+?(?:${PART})+$`);
/** The longest that Go has, 2^63 nanoseconds. */
const LONGEST_MS = 2 ** 63 / 1e6;

/**
 * The milliseconds of a Go duration; undefined if the text is not one, or is below zero. Zero needs no unit,
 * and may have a sign.
 */
export function parseDuration(text: string): number | undefined {
  if (/^[+-]?0$/.test(text)) return 0;
  if (text.startsWith("-")) return parseDuration(text.slice(1)) === 0 ? 0 : undefined;
  if (!WHOLE.test(text)) return undefined;
  let total = 0;
  for (const [, number, unit] of text.matchAll(new RegExp(PART, "g"))) {
    total += Number(number) * (UNITS[unit ?? ""] ?? 0);
  }
  return total < LONGEST_MS ? total : undefined;
}
