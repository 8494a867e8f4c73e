/** Time range of charts: how it is changed, and points within it in place of coarser ones. Pure. */
import type { CurvePoint } from "../../../crds/wire/shown_curves.ts";

/** A part of the axis: in milliseconds since the epoch or since each job's start, or in steps. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** Ways to change a range. */
export type ZoomStep = "in" | "out" | "left" | "right" | "all";

/** The shortest range, and times and steps that there can be. */
const [LEAST, MOST] = [10, 8.64e15];

/** Returns the range in whole milliseconds or steps; undefined if there is none between these. */
export function rangeOf(from: number, to: number): TimeRange | undefined {
  const [start, end] = [Math.floor(from), Math.ceil(to)];
  const isRange = Math.abs(start) <= MOST && Math.abs(end) <= MOST && end > start;
  return isRange ? { from: start, to: end } : undefined;
}

/** Returns a range no shorter than the shortest, within the whole; undefined if it is the whole. */
export function rangeWithin(
  { from, to }: TimeRange,
  whole: TimeRange,
): TimeRange | undefined {
  const width = Math.max(LEAST, to - from);
  if (width >= whole.to - whole.from) return undefined;
  const start = Math.min(Math.max(from, whole.from), whole.to - width);
  return rangeOf(start, start + width);
}

/** Returns the range after a step; undefined is the whole. `at` stays where it is on the screen. */
export function rangeAfter(
  step: ZoomStep,
  range: TimeRange | undefined,
  whole: TimeRange,
  at?: number,
): TimeRange | undefined {
  if (step === "all") return undefined;
  const { from, to } = range ?? whole;
  const width = to - from;
  if (step === "left" || step === "right") {
    if (range === undefined) return undefined;
    const by = (step === "left" ? -width : width) / 4;
    return rangeWithin({ from: from + by, to: to + by }, whole);
  }
  const factor = step === "in" ? 0.5 : 2;
  const fixed = at === undefined || at < from || at > to ? (from + to) / 2 : at;
  const start = fixed - (fixed - from) * factor;
  return rangeWithin({ from: start, to: start + width * factor }, whole);
}

/** Returns the range moved just so far that a place is in it. */
export function rangeWith(range: TimeRange, at: number, whole: TimeRange): TimeRange | undefined {
  const by = at < range.from ? at - range.from : at > range.to ? at - range.to : 0;
  if (by === 0) return range;
  return rangeWithin({ from: range.from + by, to: range.to + by }, whole);
}

/** Times of a job within a range; without an end up to the present. */
export interface JobTimes {
  readonly fromMs: number;
  readonly toMs?: number;
}

/**
 * Returns the points of a curve with finer ones in place of those that begin within the times of which these are all, of
 * others (`isCut`) between the first and the last of them.
 */
export function withFiner(
  points: readonly CurvePoint[],
  finer: readonly CurvePoint[],
  { fromMs, toMs = Infinity }: JobTimes,
  isCut = false,
): readonly CurvePoint[] {
  const [first, last] = [finer[0]?.[0], finer.at(-1)?.[0]];
  if (first === undefined || last === undefined) return points;
  const [begin, end] = isCut ? [first, last] : [Math.min(fromMs, first), Math.max(toMs, last)];
  return [
    ...points.filter(([time]) => time < begin),
    ...finer,
    ...points.filter(([time]) => time > end),
  ];
}
