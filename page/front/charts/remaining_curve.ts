/** Curve of the time that was left, estimated from the curve of the progress. Pure. */
import type { CurvePoint } from "../../../crds/wire/shown_curves.ts";

/**
 * Returns seconds that were left at each point, if the job went on as it had since it began, or since its
 * progress last fell: then it was restarted. Where nothing was gained yet there is no point.
 */
export function remainingCurve(progress: readonly CurvePoint[]): CurvePoint[] {
  let first: CurvePoint | undefined;
  let before = -Infinity;
  const found: CurvePoint[] = [];
  for (const point of progress) {
    const [timeMs, , , percent] = point;
    if (!(percent >= 0 && percent <= 100)) continue;
    if (first === undefined || percent < before) first = point;
    before = percent;
    const [startMs, , , start] = first;
    const gained = percent - start;
    if (gained <= 0 || timeMs <= startMs) continue;
    const seconds = Math.max(0, (100 - percent) * (timeMs - startMs) / gained / 1000);
    if (!Number.isFinite(seconds)) continue;
    found.push([timeMs, seconds, seconds, seconds]);
  }
  return found;
}
