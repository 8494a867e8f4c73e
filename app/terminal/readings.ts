/** Readings: numbers, lengths of time and values of metrics as short texts. Pure. */
import { humanDuration } from "../../platform/base/human_duration.ts";
import { safeText } from "./shown_text.ts";

/** Returns a length of time as kubectl writes ages, such as `85s`, `5m3s`, `94m`, `3h5m`, `30h` or `2d3h`; `-` if there is none. */
export function durationText(seconds: number): string {
  return Number.isFinite(seconds) ? humanDuration(1000 * Math.max(0, seconds)) : "-";
}

/** Returns a short text of a number, with five significant digits. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
    return value.toExponential(3).replace("e+", "e").replace(/\.?0*e/, "e");
  }
  return String(Number(value.toPrecision(5)));
}

const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const LONGEST_VALUE = 32;

/** Returns the text of a value that was pushed: a number in short, anything else as it is. */
export function valueText(value: string): string {
  return NUMBER.test(value) ? numberText(Number(value)) : safeText(value.slice(0, LONGEST_VALUE));
}

/** Returns how long ago a time of an object is; `-` if there is none. */
export function ageOf(time: string | undefined, nowMs: number): string {
  return durationText((nowMs - Date.parse(time ?? "")) / 1000);
}
