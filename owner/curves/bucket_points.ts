/** Points of buckets: how wide these are so that there are few, and samples of one bucket made one point. Pure. */
import type { CurvePoint } from "../../crds/wire/shown_curves.ts";

/** How many buckets must become one, a power of two, so that those from one number to another become at most `most`. */
export function mergedFor(first: number, last: number, most: number): number {
  let merged = 1;
  while (Math.floor(last / merged) - Math.floor(first / merged) >= most) merged *= 2;
  return merged;
}

/** Returns a point with the step of its last sample, if that has one. */
export function withStep([timeMs, min, max, last]: CurvePoint, step = NaN): CurvePoint {
  return Number.isNaN(step) ? [timeMs, min, max, last] : [timeMs, min, max, last, step];
}

/** Gives a point to those before it; of the bucket of the last one, of that width, it becomes a part of that. */
export function addPoint(points: CurvePoint[], widthMs: number, point: CurvePoint): void {
  const [timeMs, min, max, ...last] = point;
  const begin = Math.floor(timeMs / widthMs) * widthMs;
  const before = points.at(-1);
  if (before?.[0] !== begin) {
    point[0] = begin;
    points.push(point);
    return;
  }
  before[1] = Math.min(before[1], min);
  before[2] = Math.max(before[2], max);
  before.splice(3, 2, ...last);
}
