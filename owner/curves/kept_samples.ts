/** Samples of curves that are read: of the rows of a log, and of the curves that are kept beside it. Pure. */
import type { Curve } from "../../crds/wire/shown_curves.ts";
import { shownText } from "../../trials/recording/content.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import type { CurveSample } from "./curve_store.ts";

/** Returns the samples of rows, which stand by time. */
export function rowSamplesOf(rows: readonly ObservationRow[]): CurveSample[] {
  return [...Map.groupBy(rows, ({ time }) => time)].map(([time, metrics]) => ({
    timeMs: Date.parse(time),
    metrics: metrics.map(({ name, value }) => ({ name, value: shownText(value) })),
    step: metrics[0]?.step,
  }));
}

/** Whether a curve is of progress or step, which are no rows of a log. */
export const isNoMetric = ({ isProgress, isStep }: Curve) => isProgress || isStep;

/** Returns samples that make the same curve. */
export function keptSamplesOf(
  { name, isProgress, isStep, isNonFinite, points }: Curve,
): CurveSample[] {
  return points.flatMap(([timeMs, min, max, last, step]) =>
    [min, max, last].map((value) => {
      if (isProgress || isStep) {
        return { timeMs, metrics: [], [isStep ? "step" : "progress"]: value };
      }
      // Of the codes 0, 1 and -1 these are NaN and the infinities.
      const number = isNonFinite ? value / 0 : value;
      return { timeMs, metrics: [{ name, value: String(number) }], step };
    })
  );
}
