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
import { placedRows } from "../charts/curve_rows.ts";
import { jobRuns } from "../charts/job_runs.ts";
import { stepsOf } from "../job/job_charts.ts";
import type { AxisKind } from "../url_state.ts";

/** A point at its place on the axis; undefined where the line breaks. */
type TrialPoint = readonly [place: number, value: number] | undefined;

interface TrialLine {
  readonly trial: Trial;
  readonly points: readonly TrialPoint[];
  readonly last: NonNullable<TrialPoint>;
}

/** What trials are drawn over: their steps, or the seconds since their first values. */
export type TrialAxis = Exclude<AxisKind, "clock">;

/** Returns the line of a trial; undefined if nothing of it has a place. */
function lineOf(
  trial: Trial,
  { curves = [], marks = [] }: Partial<JobCurves>,
  metric: string,
  { isLog, axis }: { readonly isLog: boolean; readonly axis: TrialAxis },
): TrialLine | undefined {
  const kept = curves.find((it) => it.name === metric && isMetric(it))?.points ?? [];
  const runs = jobRuns(marks, stepsOf({ curves }));
  const line = { points: kept, nonFinite: [], runs, startMs: kept[0]?.[0] ?? 0 };
  const points = placedRows(line, { isLog, weight: 0, axis }).flatMap((rows) => [
    undefined,
    ...rows.map(({ place, last }): TrialPoint => last === null ? undefined : [place, last]),
  ]);
  const last = points.findLast((it) => it !== undefined);
  return last && { trial, points, last };
}

/** The chart. */
export function TrialCurves({ trials, curves, isLoading, metric, isLog, axis, best, marked }: {
  trials: readonly Trial[];
  curves: ReadonlyMap<string, JobCurves>;
  /** Whether not all of them were read yet. */
  isLoading: boolean;
  metric: string;
  isLog: boolean;
  axis: TrialAxis;
  best: string;
  marked: string;
}) {
  const lines = useMemo(
    () =>
      trials.flatMap((trial) =>
        lineOf(trial, curves.get(trial.job) ?? {}, metric, { isLog, axis }) ?? []
      ),
    [trials, curves, metric, isLog, axis],
  );
  const all = lines.flatMap(({ points }) => points.filter((it) => it !== undefined));
  const extent = extentOf(all.map(([, value]) => value));
  if (extent === undefined && isLoading) return <p class="quiet">Loading curves…</p>;
  if (extent === undefined) {
    return <p class="quiet">No curves of this metric yet.</p>;
  }
  const most = all.reduce((one, [place]) => Math.max(one, place), 0);
  const x = axis === "step" ? numberAxis([0, most], { isLog: false }) : durationAxis(most);
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
          ordered.map(({ trial: { name, state }, points, last }) => {
            const drawn = ([place, value]: NonNullable<TrialPoint>) =>
              [places.x(x.placeOf(place) ?? 0), places.y(y.placeOf(value) ?? 0)] as const;
            const [endX, endY] = drawn(last);
            const isBest = name === best;
            return (
              <g key={name} class={name === shown ? "marked" : undefined} {...marking(name)}>
                <path
                  class={`${lineClass(state)} line ${isBest ? "best" : ""}`}
                  d={linePath(points.map((it) => it && drawn(it)))}
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
              {numberText(at.last[1])} at last
            </>
          )}
      </p>
    </>
  );
}
