/** Curve of a job as the page's server answers it, for tests. */
import type { Curve } from "../../../../page/front/feed/view_answers_read.ts";

/** Returns a curve of that name and points; it is a metric's unless the flags say else. */
export function curveOf(
  name: string,
  points: Curve["points"],
  flags: Partial<Curve> = {},
): Curve {
  return {
    name,
    isProgress: false,
    isStep: false,
    isNonFinite: false,
    source: undefined,
    cut: undefined,
    ...flags,
    points,
  };
}
