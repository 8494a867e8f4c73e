/** Scales of axes: where a value stands, and which values are written beside an axis. Pure. */
import { goNumber } from "../../../platform/base/go_float.ts";
import { numberText } from "../readable_text.ts";
import { numberTicks } from "./tick_texts.ts";

/** A place on an axis, from 0 to 1, with its text. */
export interface Tick {
  readonly at: number;
  readonly text: string;
}

/** An axis. */
export interface Axis {
  /** Returns the place of a value; undefined if it has none there. */
  placeOf(value: string | number | undefined): number | undefined;
  /** Returns the value at a place, as text. */
  textAt(place: number): string;
  readonly ticks: readonly Tick[];
  /** What one press of an arrow key is. */
  readonly step: number;
}

const numberOf = (value: string | number | undefined) =>
  typeof value === "number" ? value : goNumber(value ?? "");

/** Steps of a linear axis: 1, 2 or 5 times a power of ten. */
function niceStep(range: number, count: number): number {
  const rough = range / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? rough;
}

function linearTicks(min: number, max: number, count: number): number[] {
  const step = niceStep(max - min, count);
  const first = Math.ceil(min / step - 1e-9);
  const last = Math.floor(max / step + 1e-9);
  if (!(last - first < 100)) return [min, max];
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

/** Returns the powers of ten from `low` to `high`, no more than about eight of them. */
export function decadeSteps(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const step = Math.max(1, Math.ceil((last - first) / 8));
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
    .filter((power) => power % step === 0).map((power) => 10 ** power);
}

function logTicks(min: number, max: number): number[] {
  const within = (all: number[]) =>
    all.filter((it) => it >= min * (1 - 1e-9) && it <= max * (1 + 1e-9));
  const powers = decadeSteps(min, max);
  const whole = within(powers);
  return whole.length >= 2 ? whole : within(powers.flatMap((it) => [it, 2 * it, 5 * it]));
}

/** Returns an axis of categories, each at the middle of its part. */
export function listAxis(list: readonly string[]): Axis {
  const places = new Map(list.map((text, index) => [text, (index + 0.5) / list.length]));
  return {
    placeOf: (value) => value === undefined ? undefined : places.get(String(value)),
    textAt: (place) => list[Math.min(list.length - 1, Math.floor(place * list.length))] ?? "",
    ticks: [...places].map(([text, at]) => ({ at, text })),
    step: 1 / Math.max(1, list.length),
  };
}

/** Returns an axis of numbers; `count`: about how many values are written beside it. */
export function numberAxis(
  [least, most]: readonly [number, number],
  { isLog, count = 5 }: { readonly isLog: boolean; readonly count?: number },
): Axis {
  const isReallyLog = isLog && least > 0;
  // A single value stands in the middle.
  const around = Math.abs(least) / 2 || 0.5;
  const [min, max] = least < most
    ? [least, most]
    : isReallyLog
    ? [least / 2, least * 2]
    : [least - around, least + around];
  const turn = isReallyLog ? Math.log : (value: number) => value;
  const back = isReallyLog ? Math.exp : (value: number) => value;
  const placeOf = (value: number) => (turn(value) - turn(min)) / (turn(max) - turn(min));
  const ticks = isReallyLog ? logTicks(min, max) : linearTicks(min, max, count);
  return {
    placeOf(value) {
      const place = placeOf(numberOf(value));
      return Number.isFinite(place) ? Math.min(1, Math.max(0, place)) : undefined;
    },
    textAt: (place) => numberText(back(turn(min) + place * (turn(max) - turn(min)))),
    ticks: numberTicks(ticks).map((text, index) => ({ at: placeOf(ticks[index] ?? NaN), text })),
    step: 0.025,
  };
}

/** Returns the least and the greatest number of values; undefined if there is none. */
export function extentOf(
  values: readonly (number | undefined)[],
): readonly [number, number] | undefined {
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === undefined || !Number.isFinite(value)) continue;
    min = Math.min(min, value);
    max = Math.max(max, value);
  }
  return min <= max ? [min, max] : undefined;
}

/** Returns the axis of a shape that has room for these values, too. */
export function axisOf(shape: {
  readonly scale: "linear" | "log" | "list";
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly list?: readonly string[];
}, values: readonly (string | undefined)[]): Axis {
  const known = values.filter((it) => it !== undefined);
  if (shape.scale === "list") {
    return listAxis([...new Set([...shape.list ?? [], ...known])].slice(0, 64));
  }
  const extent = extentOf([
    shape.min,
    shape.max,
    ...known.map(numberOf),
  ]);
  return numberAxis(extent ?? [0, 1], { isLog: shape.scale === "log" });
}
