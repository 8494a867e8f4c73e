/** Microseconds since the epoch, in which rows are ordered: exact for every year that RFC 3339 has. */
import { shortTime, sortableTime } from "./row_time.ts";

const MICROS_PER_MS = 1000n;
const MICROS_PER_SECOND = 1_000_000n;

/** The moment of an RFC 3339 time, what is finer than microseconds cut off; undefined for other text. */
export function microsOf(text: string): bigint | undefined {
  const sortable = sortableTime(text);
  if (sortable === undefined) return undefined;
  const ms = Date.parse(`${sortable.slice(0, 19)}Z`);
  return BigInt(ms) * MICROS_PER_MS + BigInt(sortable.slice(20, 26));
}

/** That moment as rows say it: UTC, without zeros at the end of the fraction. */
export function timeOf(micros: bigint): string {
  const fraction = (micros % MICROS_PER_SECOND + MICROS_PER_SECOND) % MICROS_PER_SECOND;
  const seconds = new Date(Number((micros - fraction) / MICROS_PER_MS)).toISOString().slice(0, 19);
  return shortTime(`${seconds}.${String(fraction).padStart(6, "0")}Z`);
}
