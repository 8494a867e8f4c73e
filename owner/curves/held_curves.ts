/** Curves of one job as followers hold them: packed numbers, changed by news, of which viewers get fewer points. Pure but for what viewers share. */
import { createSizedCache } from "../../platform/base/bounded_cache.ts";
import { sameJson } from "../../platform/base/json.ts";
import {
  type CurveAsk,
  type CurveKind,
  type CurvePoint,
  type CurvesNews,
  kindOf,
} from "../../crds/wire/shown_curves.ts";
import { addPoint, mergedFor, withStep } from "./bucket_points.ts";
import { BASE_WIDTH_MS } from "./series.ts";

/** Time, minimum, maximum, last value and its step, NaN if it has none. */
const NUMBERS = 5;

/** Bytes of the objects of a job, of a metric and of a mark, about. */
const [JOB_BYTES, METRIC_BYTES, MARK_BYTES] = [400, 250, 150];

/** Bytes of the answers that are kept for others who ask for the same, and of one point there with its JSON, about. */
const SHARED_BYTES = 16 << 20;
const POINT_BYTES = 200;

interface HeldMetric extends CurveKind {
  readonly numbers: Float64Array;
}

/** Curves with all points that their owner gave. */
export interface HeldCurves {
  readonly uid: string;
  readonly metrics: readonly HeldMetric[];
  readonly marks: CurvesNews["marks"];
  /** Bytes that they take, about. */
  readonly bytes: number;
  /** No others of this process have it. */
  readonly id: number;
}

/** Which part of the curves a viewer sees. */
export interface CurvesChoice extends Pick<CurveAsk, "points" | "fromMs" | "toMs"> {
  /** Default: all. */
  readonly metrics?: readonly string[];
}

const NONE = new Float64Array();

let made = 0;
/** What viewers were given: those of one job mostly ask for the same. */
const shared = createSizedCache<CurvesNews>(
  SHARED_BYTES,
  // The key has the names that a viewer asked for.
  ({ metrics, marks }, key) =>
    2 * key.length + bytesOf(
      metrics.map(({ name, points }) => ({ name, bytes: points.length * POINT_BYTES })),
      marks,
    ),
);

function bytesOf(
  metrics: readonly { readonly name: string; readonly bytes: number }[],
  marks: CurvesNews["marks"],
): number {
  return metrics.reduce((sum, { name, bytes }) => sum + METRIC_BYTES + 2 * name.length + bytes, 0) +
    marks.reduce((sum, { text }) => sum + MARK_BYTES + 2 * text.length, JOB_BYTES);
}

/** Returns the numbers before a time, and these points behind them. */
function packed(before: Float64Array, sinceMs: number, points: readonly CurvePoint[]) {
  const kept = indexOf(before, sinceMs);
  const numbers = new Float64Array(kept + points.length * NUMBERS);
  numbers.set(before.subarray(0, kept));
  points.forEach(([timeMs, min, max, last, step = NaN], index) =>
    numbers.set([timeMs, min, max, last, step], kept + index * NUMBERS)
  );
  return numbers;
}

/** Where the points of a time and later begin, which are few. */
function indexOf(numbers: Float64Array, sinceMs: number): number {
  let index = numbers.length;
  while (index > 0 && (numbers[index - NUMBERS] ?? 0) >= sinceMs) index -= NUMBERS;
  return index;
}

const isOfSame = (one: CurveKind, other: CurveKind) =>
  one.name === other.name && one.isProgress === other.isProgress &&
  one.isStep === other.isStep && one.isNonFinite === other.isNonFinite;

function numbersIn(metrics: readonly HeldMetric[], metric: CurveKind) {
  return metrics.find((it) => isOfSame(metric, it))?.numbers ?? NONE;
}

/** Returns the curves after news; those before if they are the same, undefined if news are of others than these. */
export function heldAfter(
  before: HeldCurves | undefined,
  { uid, sinceMs, metrics: shown, marks }: CurvesNews,
): HeldCurves | undefined {
  if (sinceMs !== undefined && before === undefined) return undefined;
  const metrics = shown.map((curve): HeldMetric => {
    const metric = kindOf(curve);
    const numbers = numbersIn(before?.metrics ?? [], metric);
    return { ...metric, numbers: packed(numbers, sinceMs ?? 0, curve.points) };
  });
  const bytes = bytesOf(
    metrics.map(({ name, numbers }) => ({ name, bytes: numbers.byteLength })),
    marks,
  );
  const after = { uid, metrics, marks, bytes, id: ++made };
  return before !== undefined && areSame(before, after) ? before : after;
}

/** Returns whether two are the same to all who look at them. */
function areSame(one: HeldCurves, other: HeldCurves): boolean {
  return one.metrics.length === other.metrics.length &&
    one.metrics.every((metric, index) => {
      const its = other.metrics[index];
      return its !== undefined && isOfSame(metric, its);
    }) &&
    firstDifference(one.metrics, other.metrics) === Infinity && sameJson(one.marks, other.marks);
}

/** When the first point begins that is not in both; Infinity if all are. */
function firstDifference(before: readonly HeldMetric[], after: readonly HeldMetric[]): number {
  return Math.min(...after.map((metric) => {
    const [old, now] = [numbersIn(before, metric), metric.numbers];
    let at = 0;
    while (at < now.length && Object.is(now[at], old[at])) at++;
    if (at === now.length && at === old.length) return Infinity;
    at -= at % NUMBERS;
    return Math.min(now[at] ?? Infinity, old[at] ?? Infinity);
  }));
}

/** Returns the metrics with the buckets that begin in a time range, and the one before them, which may reach into it. */
function inRange(
  { metrics }: HeldCurves,
  { fromMs = -Infinity, toMs = Infinity }: CurvesChoice,
): readonly HeldMetric[] {
  if (fromMs === -Infinity && toMs === Infinity) return metrics;
  return metrics.map(({ numbers, ...curve }) => {
    const first = Math.max(0, indexOf(numbers, fromMs) - NUMBERS);
    return { ...curve, numbers: numbers.subarray(first, indexOf(numbers, toMs + 1)) };
  });
}

/** First and last time of points. */
function spanOf(metrics: readonly HeldMetric[]): [firstMs: number, lastMs: number] {
  const times = metrics.flatMap(({ numbers }) =>
    numbers.length === 0 ? [] : [numbers[0] ?? 0, numbers[numbers.length - NUMBERS] ?? 0]
  );
  return [Math.min(...times), Math.max(...times)];
}

/** The least width, a power of two of the base, at which the axis of all metrics has at most so many buckets. */
function widthFor(metrics: readonly HeldMetric[], points: number): number {
  const [first, last] = spanOf(metrics).map((timeMs) => Math.floor(timeMs / BASE_WIDTH_MS));
  return BASE_WIDTH_MS * mergedFor(first ?? NaN, last ?? NaN, points);
}

/** Merges the points of each bucket of that width into one. */
function mergedPoints(numbers: Float64Array, width: number, sinceMs: number): CurvePoint[] {
  const points: CurvePoint[] = [];
  for (let at = indexOf(numbers, sinceMs); at < numbers.length; at += NUMBERS) {
    const [time = 0, min = NaN, max = NaN, last = NaN, step = NaN] = numbers.subarray(at);
    addPoint(points, width, withStep([time, min, max, last], step));
  }
  return points;
}

/** Since when metrics differ from those before, of which a viewer has buckets of that width; undefined: all may. */
function differsSince(
  metrics: readonly HeldMetric[],
  before: readonly HeldMetric[],
  width: number,
): number | undefined {
  // At least the last points, where only marks differ.
  const sinceMs = Math.min(firstDifference(before, metrics), spanOf(metrics)[1]);
  return Number.isFinite(sinceMs) ? Math.floor(sinceMs / width) * width : undefined;
}

/** Returns the curves as the owner would answer them with so many points; to a viewer of those before, what is new of them. */
export function shownCurves(
  held: HeldCurves,
  choice: CurvesChoice,
  before?: HeldCurves,
): CurvesNews {
  const { metrics: names, points } = choice;
  const all = inRange(held, choice);
  const width = widthFor(all, points);
  const old = before && inRange(before, choice);
  const isTail = old !== undefined && widthFor(old, points) === width;
  const sinceMs = isTail ? differsSince(all, old, width) : undefined;
  const key = JSON.stringify([held.id, choice, sinceMs]);
  const known = shared.get(key);
  if (known !== undefined) return known;
  const metrics = all.filter(({ name }) => names?.includes(name) ?? true).map(
    ({ numbers, ...curve }) => ({ ...curve, points: mergedPoints(numbers, width, sinceMs ?? 0) }),
  );
  const { uid, marks } = held;
  const shown = { uid, ...(sinceMs !== undefined && { sinceMs }), metrics, marks: [...marks] };
  shared.set(key, shown);
  return shown;
}
