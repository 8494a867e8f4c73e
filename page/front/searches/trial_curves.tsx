/** Curves of the objective of many trials in one chart: those that were stopped are dashed, and end in a square. */
import { useMemo } from "preact/hooks";
import { extentOf, numberAxis } from "../charts/axis_scale.ts";
import { linePath } from "../charts/line_paths.ts";
import { durationAxis } from "./best_chart.tsx";
import { Hostile } from "../marks_and_signs.tsx";
import { showSearch } from "../page_state.ts";
import { numberText, plainText } from "../readable_text.ts";
import type { Trial } from "./search_answer.ts";
import { SvgPlot } from "../charts/svg_plot.tsx";
import { lineClass, marking, pointed, TrialSign } from "./trial_lines.tsx";
import { isMetric, type JobCurves } from "../feed/view_answers_read.ts";
import type { CurvePoint } from "../../../crds/wire/shown_curves.ts";

interface TrialLine {
  readonly trial: Trial;
  readonly points: readonly (readonly [seconds: number, value: number])[];
}

/** Returns the points of a metric since its first one; those that the axis has no place for are left out. */
export function pointsOf(
  curves: JobCurves | undefined,
  metric: string,
  isLog: boolean,
): TrialLine["points"] {
  const all: readonly CurvePoint[] =
    curves?.curves.find((it) => it.name === metric && isMetric(it))?.points ?? [];
  const startMs = all[0]?.[0] ?? 0;
  return all.filter(([, , , value]) => Number.isFinite(value) && (!isLog || value > 0))
    .map(([timeMs, , , value]) => [(timeMs - startMs) / 1000, value]);
}

/** The chart. */
export function TrialCurves({ trials, curves, isLoading, metric, isLog, best, marked }: {
  trials: readonly Trial[];
  curves: ReadonlyMap<string, JobCurves>;
  /** Whether not all of them were read yet. */
  isLoading: boolean;
  metric: string;
  isLog: boolean;
  best: string;
  marked: string;
}) {
  const lines = useMemo(
    () =>
      trials.map((trial): TrialLine => ({
        trial,
        points: pointsOf(curves.get(trial.job), metric, isLog),
      })).filter(({ points }) => points.length > 0),
    [trials, curves, metric, isLog],
  );
  const extent = extentOf(lines.flatMap(({ points }) => points.map(([, value]) => value)));
  if (extent === undefined && isLoading) return <p class="quiet">Loading curves…</p>;
  if (extent === undefined) {
    return <p class="quiet">No curves of this metric yet.</p>;
  }
  const x = durationAxis(Math.max(...lines.map(({ points }) => points.at(-1)?.[0] ?? 0)));
  const y = numberAxis(extent, { isLog });
  const shown = pointed.value || marked;
  const rank = ({ trial: { name } }: TrialLine) => name === shown ? 2 : name === best ? 1 : 0;
  const ordered = [...lines].sort((one, other) => rank(one) - rank(other));
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const place = lines.findIndex(({ trial }) => trial.name === marked);
    const next = lines[(place + step + lines.length) % lines.length];
    if (next !== undefined) showSearch({ trial: next.trial.name }, true);
  };
  const at = lines.find(({ trial }) => trial.name === shown);
  const value = at?.points.at(-1)?.[1];
  return (
    <>
      <SvgPlot
        x={x}
        y={y}
        label={`${lines.length} curves of ${metric}, from ${numberText(extent[0])} to ${
          numberText(extent[1])
        }. Arrow keys mark one curve after the other.`}
        onKeyDown={move}
        draw={(places) =>
          ordered.map(({ trial: { name, state }, points }) => {
            const drawn = points.map(([seconds, value]) =>
              [places.x(x.placeOf(seconds) ?? 0), places.y(y.placeOf(value) ?? 0)] as const
            );
            const [endX = 0, endY = 0] = drawn.at(-1) ?? [];
            const isBest = name === best;
            return (
              <g key={name} class={name === shown ? "marked" : undefined} {...marking(name)}>
                <path
                  class={`${lineClass(state)} line ${isBest ? "best" : ""}`}
                  d={linePath(drawn)}
                />
                <TrialSign state={state} x={endX} y={endY} isBest={isBest} />
              </g>
            );
          })}
      />
      <p class="quiet marked-trial" aria-live="polite">
        {at === undefined
          ? "Point at a curve, or use the arrow keys in the chart, to mark a trial."
          : (
            <>
              <Hostile text={at.trial.name} />: {plainText(at.trial.state)},{" "}
              {value === undefined ? "no value" : `${numberText(value)} at last`}
            </>
          )}
      </p>
    </>
  );
}
