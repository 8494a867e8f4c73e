/** Readings: numbers, lengths of time and values of metrics as short texts. Pure. */
import { safeText } from "./shown_text.ts";

/** Returns a length of time as kubectl writes ages, such as `85s`, `5m3s`, `94m`, `3h5m`, `30h` or `5d`. */
export function durationText(seconds: number): string {
  if (!Number.isFinite(seconds)) return "-";
  const all = Math.max(0, Math.floor(seconds));
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(all / unit));
  const withRest = (whole: number, unit: string, rest: number, small: string) =>
    `${whole}${unit}${rest === 0 ? "" : `${rest}${small}`}`;
  if (all < 120) return `${all}s`;
  if (all < 600) return withRest(minutes ?? 0, "m", all % 60, "s");
  if (all < 3 * 3600) return `${minutes}m`;
  if (all < 8 * 3600) return withRest(hours ?? 0, "h", (minutes ?? 0) % 60, "m");
  return all < 2 * 86_400 ? `${hours}h` : `${days}d`;
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
