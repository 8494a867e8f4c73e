/** Axes of a search: one for each parameter, and one for the objective. Pure. */
import { type Axis, axisOf } from "../charts/axis_scale.ts";
import type { Search, Trial } from "./search_answer.ts";
import type { Brush } from "./search_view.ts";

/** An axis with the values of trials on it. */
export interface TrialAxis {
  /** `p:` and a parameter, or the objective. */
  readonly id: string;
  readonly label: string;
  readonly axis: Axis;
  readonly valueOf: (trial: Trial) => string | number | undefined;
}

/** Returns the axes of a search, the objective's last. */
export function trialAxes(
  { parameters, trials, objective }: Pick<Search, "parameters" | "trials" | "objective">,
  isLog: boolean,
): readonly TrialAxis[] {
  const own = parameters.map((parameter, index): TrialAxis => {
    const valueOf = (trial: Trial) => trial.values[index];
    return {
      id: `p:${parameter.name}`,
      label: parameter.name,
      axis: axisOf(parameter, trials.map(valueOf)),
      valueOf,
    };
  });
  if (objective === undefined) return own;
  const values = trials.map(({ value }) => value === undefined ? undefined : String(value));
  return [...own, {
    id: "objective",
    label: objective.metric,
    axis: axisOf({ scale: isLog ? "log" : "linear" }, values),
    valueOf: ({ value }) => value,
  }];
}

/** Returns whether a trial is within all the chosen parts of axes. */
export function isWithin(
  trial: Trial,
  axes: readonly TrialAxis[],
  brushes: readonly Brush[],
): boolean {
  return brushes.every(({ axis: id, from, to }) => {
    const found = axes.find((it) => it.id === id);
    if (found === undefined) return true;
    const place = found.axis.placeOf(found.valueOf(trial));
    return place !== undefined && place >= from - 1e-9 && place <= to + 1e-9;
  });
}
