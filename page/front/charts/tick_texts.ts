/** Texts of the ticks of an axis: each says exactly where its tick stands, and no two of an axis are the same. Pure. */
import { dayText, timeText } from "../../../platform/base/local_time.ts";
import { durationText, numberText, zoneText } from "../readable_text.ts";

/** Digits of a number that a tick has at first, and at most. */
const [DIGITS, MOST_DIGITS] = [5, 15];
/** Part of the distance between two ticks by which a text may be beside its tick. */
const CLOSE = 0.01;

/** Returns short texts of numbers, with as many digits as tell them apart and where they are. */
export function numberTicks(values: readonly number[]): string[] {
  const gaps = values.map((it, index) => Math.abs(it - (values[index - 1] ?? NaN)));
  const gap = Math.min(...gaps.filter((it) => it > 0));
  // One with an exponent has a digit less.
  const isExact = (value: number, digits: number) =>
    !(Math.abs(Number(value.toPrecision(digits - 1)) - value) > gap * CLOSE);
  let digits = DIGITS;
  while (digits < MOST_DIGITS && !values.every((it) => isExact(it, digits))) digits++;
  return values.map((it) => numberText(it, digits));
}

/** The decimals of seconds that stand as far apart as `step`, such as `.25`; empty if they are whole. */
function fractionOf(second: number, step: number): string {
  if (step >= 1) return "";
  const isWhole = (digits: number) => Math.abs((step * 10 ** digits) % 1) < 1e-6;
  const digits = [1, 2].find(isWhole) ?? 3;
  return second.toFixed(digits).slice(-digits - 1);
}

/** Returns short texts of moments of an axis: each day's first has the date and the zone, seconds stand where they differ. */
export function clockTicks(seconds: readonly number[], step: number): string[] {
  let day = "";
  return seconds.map((second) => {
    const time = new Date(Math.round(second * 1000));
    const date = dayText(time);
    const clock = timeText(time).slice(0, step < 60 ? undefined : -3) + fractionOf(second, step);
    const isNewDay = date !== day;
    day = date;
    return isNewDay ? `${clock}\n${date} ${zoneText(time.getTime())}` : clock;
  });
}

/** Distances of ticks on an axis of durations, in seconds. */
export const DURATIONS = [
  ...[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((it) => it * 60),
  ...[1, 2, 3, 6, 12].map((it) => it * 3_600),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].map((it) => it * 86_400),
];

const two = (value: number) => String(value).padStart(2, "0");

/** Returns a length of time in units down to that of `step` seconds, such as `1 h 30 min`, `25:00:30` or `0.25 s`. */
function durationTick(place: number, step: number): string {
  const second = Math.round(place * 1000) / 1000;
  if (step < 1 && second < 60) return `${second} s`;
  const [hours, minutes] = [Math.floor(second / 3600), Math.floor(second / 60) % 60];
  const clock = `${hours}:${two(minutes)}:${two(Math.floor(second) % 60)}`;
  if (step < 1 || step < 60 && hours > 0) return clock + fractionOf(second, step);
  if (step < 3600 && hours >= 24) return minutes > 0 ? `${hours} h ${minutes} min` : `${hours} h`;
  return durationText(second).replace(/ 00 (h|min|s)$/, "");
}

/** Returns short texts of lengths of time of an axis. */
export const durationTicks = (seconds: readonly number[], step: number): string[] =>
  seconds.map((second) => durationTick(second, step));

/** Returns room for texts beside an axis, about as wide as letters of its font are. */
export const widthOf = (texts: readonly string[]) =>
  texts.reduce((most, { length }) => Math.max(most, 12 + 7 * length), 64);
