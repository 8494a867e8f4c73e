/** Table of several curves over one axis, as the chart takes it. Pure. */
import type { Mark } from "../feed/view_answers_read.ts";
import type { CurvePoint } from "../../../crds/wire/shown_curves.ts";

/**
 * Returns the exponential moving average of values, without the pull towards 0 of its first ones.
 * `weight` is the part of the past, from 0 to below 1; what is no number stays where it is.
 */
export function smoothed(
  values: readonly (number | null)[],
  weight: number,
): (number | null)[] {
  if (weight <= 0) return [...values];
  let [average, part] = [0, 0];
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return value;
    average = weight * average + (1 - weight) * value;
    part = weight * part + (1 - weight);
    return average / part;
  });
}

/** One curve with the times at which nothing is known of it, and the time that is its 0. */
export interface CurveLine {
  readonly points: readonly CurvePoint[];
  readonly gaps: readonly number[];
  readonly startMs: number;
}

/** What is shown of curves. */
export interface CurveScale {
  readonly isLog: boolean;
  readonly weight: number;
}

/** Columns of a curve; undefined where another has a point, null where the line breaks. */
export interface CurveColumns {
  readonly last: (number | null | undefined)[];
  readonly min: (number | null | undefined)[];
  readonly max: (number | null | undefined)[];
}

/** Seconds of all points, and the columns of each curve. */
export interface CurveTable {
  readonly seconds: readonly number[];
  readonly curves: readonly CurveColumns[];
  /** Points that a logarithmic axis has no place for. */
  readonly left: number;
}

/** The points of a line, with one without a value in each of its gaps. */
function withGaps({ points, gaps, startMs }: CurveLine, isLog: boolean, weight: number) {
  const fits = (value: number) => Number.isFinite(value) && (!isLog || value > 0);
  const last = smoothed(points.map(([, , , value]) => fits(value) ? value : null), weight);
  const rows = points.map(([time, min, max], index) => ({
    second: (time - startMs) / 1000,
    last: last[index] ?? null,
    min: fits(min) ? min : null,
    max: fits(max) ? max : null,
  }));
  const [first, end] = [rows[0]?.second ?? 0, rows.at(-1)?.second ?? 0];
  const breaks = gaps.map((time) => (time - startMs) / 1000)
    .filter((second) => second > first && second < end)
    .map((second) => ({ second, last: null, min: null, max: null }));
  return [...rows, ...breaks].sort((a, b) => a.second - b.second);
}

/** Returns the table of curves. */
export function curveTable(lines: readonly CurveLine[], { isLog, weight }: CurveScale): CurveTable {
  const all = lines.map((line) => withGaps(line, isLog, weight));
  const seconds = [...new Set(all.flatMap((rows) => rows.map(({ second }) => second)))]
    .sort((a, b) => a - b);
  const place = new Map(seconds.map((second, index) => [second, index]));
  const curves = all.map((rows) => {
    const empty = () => new Array<number | null | undefined>(seconds.length).fill(undefined);
    const columns = { last: empty(), min: empty(), max: empty() };
    for (const { second, last, min, max } of rows) {
      const index = place.get(second);
      if (index === undefined) continue;
      columns.last[index] = last;
      columns.min[index] = min;
      columns.max[index] = max;
    }
    return columns;
  });
  const left = lines.flatMap(({ points }) => points)
    .filter(([, , , value]) => isLog && value <= 0).length;
  return { seconds, curves, left };
}

/** Returns the times of the marks at which a curve breaks. */
export const gapsOf = (marks: readonly Mark[]) =>
  marks.filter(({ kind }) => kind === "gap").map(({ timeMs }) => timeMs);

/** How far the values of a chart reach. */
export interface ValueExtent {
  /** Values are drawn divided by so many powers of ten: a chart has no steps for others. */
  readonly exponent: number;
  /** Powers of ten from the least to the greatest value above 0. */
  readonly decades: number;
}

/** Exponents for which a chart has steps. */
const [LEAST_EXPONENT, MOST_EXPONENT] = [-9, 12];

/** Returns how far values reach. */
export function valueExtent(curves: readonly CurveColumns[]): ValueExtent {
  let [least, most] = [Infinity, 0];
  for (const { last, min, max } of curves) {
    for (const value of [...last, ...min, ...max]) {
      if (typeof value !== "number" || value === 0) continue;
      most = Math.max(most, Math.abs(value));
      if (value > 0) least = Math.min(least, value);
    }
  }
  if (most === 0) return { exponent: 0, decades: 0 };
  const exponent = Math.floor(Math.log10(most));
  return {
    exponent: exponent < LEAST_EXPONENT || exponent > MOST_EXPONENT ? exponent : 0,
    decades: least === Infinity ? 0 : Math.max(0, Math.log10(most) - Math.log10(least)),
  };
}

/** Returns the powers of ten from `low` to `high`, no more than about eight of them. */
export function decadeSteps(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const step = Math.max(1, Math.ceil((last - first) / 8));
  const steps: number[] = [];
  for (let power = Math.ceil(first / step) * step; power <= last; power += step) {
    steps.push(10 ** power);
  }
  return steps;
}
