/** Times in microseconds since the epoch, exact for every year of RFC 3339. */
import { shortTime, sortableTime } from "./row_time.ts";

const MICROS_PER_MS = 1000n;
const MICROS_PER_SECOND = 1_000_000n;

/** Parses an RFC 3339 time, truncated to microseconds. Returns undefined for other text. */
export function microsOf(text: string): bigint | undefined {
  const sortable = sortableTime(text);
  if (sortable === undefined) return undefined;
  const ms = Date.parse(`${sortable.slice(0, 19)}Z`);
  return BigInt(ms) * MICROS_PER_MS + BigInt(sortable.slice(20, 26));
}

/** Formats a time as rows have it: in UTC, without trailing zeros in the fraction. */
export function timeOf(micros: bigint): string {
  const fraction = (micros % MICROS_PER_SECOND + MICROS_PER_SECOND) % MICROS_PER_SECOND;
  const seconds = new Date(Number((micros - fraction) / MICROS_PER_MS)).toISOString().slice(0, 19);
  return shortTime(`${seconds}.${String(fraction).padStart(6, "0")}Z`);
}
