/** Curves of one job as the mirror holds them: packed numbers, of which answers with fewer points are made. Pure. */
import { sameJson } from "../../platform/base/json.ts";
import type { CurveAsk, CurvePoint, ShownCurves } from "../../crds/wire/shown_curves.ts";
import type { CurvesShown } from "../../crds/wire/curves_answer.ts";
import { addPoint, mergedFor } from "../../owner/curves/bucket_points.ts";
import { BASE_WIDTH_MS } from "../../owner/curves/series.ts";

/** Time, minimum, maximum and last value. */
const NUMBERS = 4;

/** Bytes of the objects of a job, of a metric and of a mark, about. */
const [JOB_BYTES, METRIC_BYTES, MARK_BYTES] = [400, 250, 150];

interface HeldMetric {
  readonly name: string;
  readonly isProgress?: true;
  readonly numbers: Float64Array;
}

/** Curves with all points that their owner gave. */
export interface HeldCurves {
  readonly metrics: readonly HeldMetric[];
  readonly marks: ShownCurves["marks"];
  /** Bytes that they take, about. */
  readonly bytes: number;
}

/** Those of a job that the manager has none of. */
export const NO_CURVES: HeldCurves = { metrics: [], marks: [], bytes: JOB_BYTES };

/** Those of a job for which there is no room. */
export const NO_ROOM: HeldCurves = { ...NO_CURVES };

/** Packs curves. */
export function heldCurves({ metrics: shown, marks }: CurvesShown): HeldCurves {
  const metrics = shown.map(({ name, isProgress, points }): HeldMetric => {
    const numbers = new Float64Array(points.length * NUMBERS);
    points.forEach((point, index) => numbers.set(point, index * NUMBERS));
    return { name, ...(isProgress && { isProgress }), numbers };
  });
  const bytes = [
    ...metrics.map(({ name, numbers }) => METRIC_BYTES + 2 * name.length + numbers.byteLength),
    ...marks.map(({ text }) => MARK_BYTES + 2 * text.length),
  ].reduce((sum, it) => sum + it, JOB_BYTES);
  return { metrics, marks, bytes };
}

/** Returns whether two are the same to all who look at them. */
export function areSame(one: HeldCurves, other: HeldCurves): boolean {
  return one.metrics.length === other.metrics.length &&
    one.metrics.every(({ name, isProgress, numbers }, index) => {
      const its = other.metrics[index];
      return its?.name === name && its.isProgress === isProgress &&
        its.numbers.length === numbers.length &&
        its.numbers.every((number, at) => number === numbers[at]);
    }) &&
    sameJson(one.marks, other.marks);
}

/** The least width, a power of two of the base, at which the axis of all metrics has at most so many buckets. */
function widthFor(metrics: readonly HeldMetric[], points: number): number {
  const buckets = metrics.flatMap(({ numbers }) =>
    numbers.length === 0 ? [] : [numbers[0] ?? 0, numbers[numbers.length - NUMBERS] ?? 0]
  ).map((timeMs) => Math.floor(timeMs / BASE_WIDTH_MS));
  return BASE_WIDTH_MS * mergedFor(Math.min(...buckets), Math.max(...buckets), points);
}

/** Merges the points of each bucket of that width into one. */
function mergedPoints(numbers: Float64Array, width: number): CurvePoint[] {
  const points: CurvePoint[] = [];
  for (let at = 0; at < numbers.length; at += NUMBERS) {
    const [time = 0, min = NaN, max = NaN] = [numbers[at], numbers[at + 1], numbers[at + 2]];
    addPoint(points, width, [time, min, max, numbers[at + 3] ?? NaN]);
  }
  return points;
}

/** Returns the curves as the owner would answer them with so many points, of all times. */
export function shownCurves(
  { metrics: held, marks }: HeldCurves,
  { metrics: names, points }: Pick<CurveAsk, "metrics" | "points">,
): CurvesShown {
  const width = widthFor(held, points);
  const metrics = held.filter(({ name }) => names?.includes(name) ?? true).map(
    ({ name, isProgress, numbers }) => ({
      name,
      ...(isProgress && { isProgress }),
      points: mergedPoints(numbers, width),
    }),
  );
  return { metrics, marks: [...marks] };
}
