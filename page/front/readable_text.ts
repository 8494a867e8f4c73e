/** Readable text of numbers, times and of what others wrote. Pure. */
import { spelledOut } from "../../platform/base/hostile_text.ts";
import type { Parameter } from "../../crds/wire/searches.ts";
import { shortNumber, shortValue } from "../../platform/base/short_number.ts";

/** Returns hostile text of one or several lines with the characters that would not be seen, or would move others, spelled out. */
export const plainText = (text: string): string => spelledOut(text, "\t\n");

/** Returns a text with at most so many characters: of a longer one begin and end, which tell names apart. */
export function shortText(text: string, most: number): string {
  const all = [...plainText(text)];
  if (all.length <= most) return all.join("");
  const begin = Math.ceil((most - 1) / 2);
  return `${all.slice(0, begin).join("")}…${all.slice(all.length - (most - 1 - begin)).join("")}`;
}

/** Returns a text in one or two lines of at most so many characters, parted behind a sign between words if that can be. */
export function inLines(text: string, most: number): readonly string[] {
  const all = [...shortText(text, 2 * most)];
  if (all.length <= most) return [all.join("")];
  const at = all.findLastIndex((it, index) =>
    /[-_./ ]/.test(it) && index < most && all.length - index - 1 <= most
  );
  const end = at < 0 ? most : at + 1;
  return [all.slice(0, end), all.slice(end)].map((it) => it.join(""));
}

/** Returns a short text of a number: with so many significant digits, and with all that stand before the point. */
export function numberText(value: number, digits = 5): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size < 1e4 || size >= 1e7) return shortNumber(value, digits);
  const whole = Math.floor(Math.log10(size)) + 1;
  return value.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, whole) });
}

/** Returns the text of a value that was pushed: a number in short, anything else as it is. */
export const valueText = (value: string): string => shortValue(value, numberText, plainText);

/** Returns the text of a parameter's value: a choice is a text, also if it can be read as a number. */
export const parameterText = (value: string, scale: Parameter["scale"] | undefined): string =>
  scale === "list" ? plainText(value) : valueText(value);

const two = (value: number) => String(value).padStart(2, "0");

/** Returns a length of time in its two largest units, such as `1 h 05 min`. */
export function durationText(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const all = Math.max(0, Math.round(seconds));
  const [days, hours] = [Math.floor(all / 86_400), Math.floor(all / 3600) % 24];
  const [minutes, rest] = [Math.floor(all / 60) % 60, all % 60];
  if (days > 0) return `${days} d ${two(hours)} h`;
  if (hours > 0) return `${hours} h ${two(minutes)} min`;
  if (minutes > 0) return `${minutes} min ${two(rest)} s`;
  return `${rest} s`;
}

/** Returns a length of time in its largest unit, such as `3 min`; it changes seldom. */
export function ageText(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const all = Math.max(0, Math.floor(seconds));
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min`;
  if (all < 172_800) return `${Math.floor(all / 3600)} h`;
  return `${Math.floor(all / 86_400)} d`;
}

/** Returns the zone of a moment's local time. */
export const zoneText = (timeMs: number) => offsetText(-new Date(timeMs).getTimezoneOffset());

/** Returns a zone by the minutes that it is ahead of UTC, such as `UTC+5:30`. */
export function offsetText(minutes: number): string {
  if (!(Math.abs(minutes) > 0)) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes > 0 ? "+" : "−"}${hours}${rest === 0 ? "" : `:${two(rest)}`}`;
}

/** Returns the kind's name without its group. */
export const shortKind = (id: string) => plainText(id.split(".")[0] ?? id);
