/** Chart of the best value so far, and of each trial when it ended. */
import { useMemo } from "preact/hooks";
import { extentOf, numberAxis } from "../charts/axis_scale.ts";
import { numberText } from "../readable_text.ts";
import { DURATIONS, durationTicks } from "../charts/tick_texts.ts";
import type { Search } from "./search_answer.ts";
import { SvgPlot } from "../charts/svg_plot.tsx";
import { marking, pointed, TrialSign } from "./trial_lines.tsx";

/** The time axis with durations beside it. */
export function durationAxis(seconds: number) {
  const most = Math.max(1, seconds);
  const step = DURATIONS.find((it) => most / it <= 5) ?? most;
  const places = Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
  const texts = durationTicks(places, step);
  return {
    ...numberAxis([0, most], { isLog: false }),
    ticks: places.map((it, index) => ({ at: it / most, text: texts[index] ?? "" })),
  };
}

/** The chart. */
export function BestChart(
  { search, isLog, marked }: { search: Search; isLog: boolean; marked: string },
) {
  const { trials, bestSoFar, best, createdMs, objective } = search;
  const ended = useMemo(
    () =>
      trials.flatMap(({ name, state, value, endedMs }) =>
        value === undefined || endedMs === undefined ? [] : [{ name, state, value, endedMs }]
      ),
    [trials],
  );
  const extent = extentOf(ended.map(({ value }) => value));
  const firstMs = Math.min(createdMs ?? Infinity, ...ended.map(({ endedMs }) => endedMs));
  const lastMs = Math.max(...ended.map(({ endedMs }) => endedMs));
  if (extent === undefined || objective === undefined) {
    return <p class="quiet">No trial has finished with a value yet.</p>;
  }
  const x = durationAxis((lastMs - firstMs) / 1000);
  const y = numberAxis(extent, { isLog });
  const last = bestSoFar.at(-1);
  const label = last === undefined
    ? `${ended.length} trials, ${objective.metric} from ${numberText(extent[0])} to ${
      numberText(extent[1])
    }`
    : `The best ${objective.metric} so far is ${numberText(last.value)}, of ${last.trial}. ` +
      `It became better ${bestSoFar.length - 1} times. ${ended.length} trials have ended.`;
  const plot = (
    <SvgPlot
      x={x}
      y={y}
      label={label}
      draw={(at) => {
        const xOf = (ms: number) => at.x(x.placeOf((ms - firstMs) / 1000) ?? 0);
        const yOf = (value: number) => at.y(y.placeOf(value) ?? 0);
        const steps = bestSoFar.map(({ timeMs, value }, index) =>
          index === 0 ? `M${xOf(timeMs)} ${yOf(value)}` : `H${xOf(timeMs)}V${yOf(value)}`
        );
        return (
          <>
            {last && <path class="best-steps" d={`${steps.join("")}H${xOf(lastMs)}`} />}
            {ended.map(({ name, state, value, endedMs }) => (
              <g
                key={name}
                class={name === marked || name === pointed.value ? "marked" : undefined}
                {...marking(name)}
              >
                <TrialSign
                  state={state}
                  x={xOf(endedMs)}
                  y={yOf(value)}
                  isBest={name === best}
                />
              </g>
            ))}
          </>
        );
      }}
    />
  );
  if (objective.direction !== "") return plot;
  return (
    <>
      {plot}
      <p class="quiet">
        Choose above whether lower or higher is better.
      </p>
    </>
  );
}
