/** Table of several curves over one axis, as the chart takes it. Pure. */
import { type CurveLine, type CurveScale, placedRows } from "./curve_rows.ts";

/** Columns of a curve, or of a run of it; undefined where another has a point, null where the line breaks. */
export interface CurveColumns {
  /** Index of the line that it is of. */
  readonly line: number;
  /** Whether a later run of the job has a curve of its own. */
  readonly isEarlier: boolean;
  readonly last: (number | null | undefined)[];
  readonly min: (number | null | undefined)[];
  readonly max: (number | null | undefined)[];
  /** What it was where it was no number. */
  readonly texts: readonly (string | undefined)[];
}

/** Places of all points on the axis, in seconds or steps, and the columns of each curve. */
export type CurveTable = ReturnType<typeof curveTable>;

/** Most runs of a job that have a curve of their own, the newest: those of a job that restarts again and again are many. */
const MOST_RUNS = 16;

const either = (
  one: number | null | undefined,
  other: number | null,
  choose: (one: number, other: number) => number,
) => typeof one === "number" && other !== null ? choose(one, other) : other ?? one ?? null;

/** Returns the table of curves. */
export function curveTable(lines: readonly CurveLine[], scale: CurveScale) {
  const all = lines.map((line) => placedRows(line, scale));
  const places = [...new Set(all.flat(2).map(({ place }) => place))].sort((a, b) => a - b);
  const index = new Map(places.map((place, at) => [place, at]));
  const curves = all.flatMap((runs, line) =>
    runs.slice(-MOST_RUNS).map((rows, run, drawn): CurveColumns => {
      const empty = <T>() => new Array<T | undefined>(places.length).fill(undefined);
      const [last, min, max] = [
        empty<number | null>(),
        empty<number | null>(),
        empty<number | null>(),
      ];
      const texts = empty<string>();
      for (const row of rows) {
        const at = index.get(row.place) ?? 0;
        // Of the same step there may be several.
        last[at] = row.last ?? last[at] ?? null;
        min[at] = either(min[at], row.min, Math.min);
        max[at] = either(max[at], row.max, Math.max);
        texts[at] = row.text ?? texts[at];
      }
      return { line, isEarlier: run < drawn.length - 1, last, min, max, texts };
    })
  );
  const left = lines.flatMap(({ points }) => points)
    .filter(([, , , value]) => scale.isLog && value <= 0).length;
  return {
    places,
    curves,
    /** Points that a logarithmic axis has no place for. */
    left,
  };
}

/** Returns the index of a curve's value, or of what was none, nearest to one within it; undefined if it is beyond its ends. */
export function nearest({ last, texts }: CurveColumns, index: number): number | undefined {
  const has = (at: number) => typeof last[at] === "number" || texts[at] !== undefined;
  let [before, after] = [index, index];
  while (before >= 0 && !has(before)) before--;
  while (after < last.length && !has(after)) after++;
  if (before < 0 || after >= last.length) return undefined;
  return index - before <= after - index ? before : after;
}

/** Exponents for which a chart has steps. */
const [LEAST_EXPONENT, MOST_EXPONENT] = [-9, 12];

/**
 * Returns how far values reach: they are drawn divided by `exponent` powers of ten, because a chart has no steps for
 * others; and there are `decades` of these from the least to the greatest value above 0.
 */
export function valueExtent(
  curves: readonly Pick<CurveColumns, "last" | "min" | "max">[],
) {
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
