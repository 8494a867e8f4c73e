/** Human-readable durations, as kubectl prints them: `45s`, `3m12s`, `5h`, `2d3h`. */

const [MINUTE, HOUR, DAY, YEAR] = [60, 3600, 86_400, 365 * 86_400];

function two(seconds: number, unit: number, name: string, part: number, partName: string): string {
  const rest = Math.floor((seconds % unit) / part);
  return `${Math.floor(seconds / unit)}${name}${rest > 0 ? `${rest}${partName}` : ""}`;
}

/** Formats a duration of `ms` milliseconds with at most two units (apimachinery, `util/duration`). */
export function humanDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return two(seconds, MINUTE, "m", 1, "s");
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return two(seconds, HOUR, "h", MINUTE, "m");
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return two(seconds, DAY, "d", HOUR, "h");
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`;
  if (seconds < 8 * YEAR) return two(seconds, YEAR, "y", DAY, "d");
  return `${Math.floor(seconds / YEAR)}y`;
}

/** Formats the time since an RFC 3339 time; `<unknown>` if it is missing. */
export function age(time: unknown, now: number): string {
  const then = typeof time === "string" ? Date.parse(time) : NaN;
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
}
