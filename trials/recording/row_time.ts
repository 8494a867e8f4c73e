/** Times of observations in UTC, to the microsecond, as logs compare and write them. */

const TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})$/;

/** Returns the minutes east of UTC. */
function offsetOf(zone: string): number {
  if (zone === "Z" || zone === "z") return 0;
  const [hours, minutes] = zone.slice(1).split(":").map(Number);
  return (zone.startsWith("-") ? -1 : 1) * ((hours ?? 0) * 60 + (minutes ?? 0));
}

/** A time in UTC, on a day that every month has: the usual case, which needs no further check. */
const PLAIN =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/;
/** Length of the text before the fraction. */
const SECONDS = 19;

/**
 * Returns an RFC 3339 time as text of fixed width that sorts by time, `2026-01-02T03:04:05.123456Z`,
 * truncated to microseconds as in Katib's table. Returns undefined for any other text.
 */
export function sortableTime(text: string): string | undefined {
  if (PLAIN.test(text)) {
    const fraction = text.slice(SECONDS + 1, Math.min(SECONDS + 7, text.length - 1));
    return `${text.slice(0, SECONDS)}.${fraction.padEnd(6, "0")}Z`;
  }
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", zone = "Z"] = match;
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const ms = Date.parse(`${local}Z`);
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== local) return undefined;
  const utc = new Date(ms - offsetOf(zone) * 60_000);
  if (utc.getUTCFullYear() < 0 || utc.getUTCFullYear() > 9999) return undefined;
  return `${utc.toISOString().slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}

/** Returns a {@link sortableTime} as Katib writes it: without trailing zeros in the fraction. */
export function shortTime(sortable: string): string {
  return sortable.replace(/\.?0*Z$/, "Z");
}
