/** Parallel coordinates: an axis for each parameter and for the objective, a line for each trial, and parts of axes to look at. */
import { useMemo, useRef } from "preact/hooks";
import { showSearch } from "../page_state.ts";
import { inLines, numberText, plainText, shortText } from "../readable_text.ts";
import type { Search, Trial } from "../searches/search_answer.ts";
import type { Brush } from "../searches/search_view.ts";
import { linePath } from "./line_paths.ts";
import { useWidth } from "./svg_plot.tsx";
import { isWithin, type TrialAxis } from "../searches/trial_axes.ts";
import { lineClass, marking, pointed, TrialSign } from "../searches/trial_lines.tsx";

/** Most lines that are drawn. */
const MOST_LINES = 500;
const HEIGHT = 300;
const EDGE = { left: 100, right: 100, top: 46, bottom: 14 };
/** Least room of an axis: then the chart scrolls. */
const LEAST = 110;
/** Room of a letter of its name, and of its ticks. */
const [LETTER, TICK] = [7.8, 7.2];

/** Changes the part of an axis that is chosen; the whole of it is none. */
function setBrush(brushes: readonly Brush[], axis: string, from: number, to: number) {
  const [low, high] = [Math.max(0, Math.min(from, to)), Math.min(1, Math.max(from, to))];
  const others = brushes.filter((it) => it.axis !== axis);
  const isAll = low <= 0.001 && high >= 0.999;
  const next = isAll || high - low < 0.004 ? others : [...others, { axis, from: low, to: high }];
  showSearch({ brushes: next }, true);
}

const KEYS: ReadonlyMap<string, number> = new Map([
  ["ArrowUp", 1],
  ["ArrowRight", 1],
  ["ArrowDown", -1],
  ["ArrowLeft", -1],
  ["PageUp", 5],
  ["PageDown", -5],
  ["Home", -Infinity],
  ["End", Infinity],
]);

function Handle({ trialAxis: { id, label, axis }, part, end, x, y, brushes }: {
  trialAxis: TrialAxis;
  part: Brush;
  end: "from" | "to";
  x: number;
  y: (place: number) => number;
  brushes: readonly Brush[];
}) {
  const place = part[end];
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") return setBrush(brushes, id, 0, 1);
    const steps = KEYS.get(event.key);
    if (steps === undefined) return;
    event.preventDefault();
    const moved = Math.min(1, Math.max(0, place + steps * axis.step));
    // The ends do not pass each other.
    if (end === "from") setBrush(brushes, id, Math.min(moved, part.to - axis.step / 2), part.to);
    else setBrush(brushes, id, part.from, Math.max(moved, part.from + axis.step / 2));
  };
  return (
    <path
      class="handle"
      d={end === "to" ? "M-8 0h16l-8 -9Z" : "M-8 0h16l-8 9Z"}
      transform={`translate(${x} ${y(place)})`}
      tabindex={0}
      role="slider"
      aria-orientation="vertical"
      aria-label={plainText(`${label}, ${end === "from" ? "from" : "to"}`)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(place * 100)}
      aria-valuetext={plainText(axis.textAt(place))}
      onKeyDown={onKeyDown}
    />
  );
}

function AxisLine({ trialAxis, x, y, gap, brushes, isFirst, isLast }: {
  trialAxis: TrialAxis;
  x: number;
  /** Distance to the axes beside it. */
  gap: number;
  y: (place: number) => number;
  brushes: readonly Brush[];
  isFirst: boolean;
  isLast: boolean;
}) {
  const { id, label, axis } = trialAxis;
  // Beyond the outer axes is only the edge.
  const [room, beside] = isFirst || isLast ? [Math.min(gap, 2 * EDGE.left), EDGE.left] : [gap, gap];
  const brush = brushes.find((it) => it.axis === id);
  const part = brush ?? { axis: id, from: 0, to: 1 };
  const from = useRef<number | undefined>(undefined);
  const placeAt = (
    { currentTarget, clientY }: PointerEvent & { currentTarget: SVGRectElement },
  ) => {
    const { top, height } = currentTarget.getBoundingClientRect();
    return 1 - Math.min(1, Math.max(0, (clientY - top) / height));
  };
  return (
    <g>
      <text class="axis-name" text-anchor="middle">
        <title>{plainText(label)}</title>
        {inLines(label, Math.floor(room / LETTER)).map((line, index) => (
          <tspan key={index} x={x} y={14 + 14 * index}>{line}</tspan>
        ))}
      </text>
      <path class="axis" d={`M${x} ${y(0)}V${y(1)}`} />
      {brush && (
        <rect
          class="brush"
          x={x - 7}
          width={14}
          y={y(brush.to)}
          height={y(brush.from) - y(brush.to)}
        />
      )}
      <rect
        class="brushing"
        x={x - 12}
        width={24}
        y={y(1)}
        height={y(0) - y(1)}
        onPointerDown={(event) => {
          from.current = placeAt(event);
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          if (from.current !== undefined) setBrush(brushes, id, from.current, placeAt(event));
        }}
        onPointerUp={(event) => {
          if (from.current !== undefined) setBrush(brushes, id, from.current, placeAt(event));
          from.current = undefined;
        }}
      />
      {axis.ticks.slice(0, 24).map(({ at, text }) => (
        <text
          key={at}
          class="axis-text"
          x={isLast ? x + 10 : x - 10}
          y={y(at) + 4}
          text-anchor={isLast ? "start" : "end"}
        >
          <title>{plainText(text)}</title>
          {shortText(text, Math.floor((beside - 16) / TICK))}
        </text>
      ))}
      {(["to", "from"] as const).map((end) => (
        <Handle
          key={end}
          trialAxis={trialAxis}
          part={part}
          end={end}
          x={x}
          y={y}
          brushes={brushes}
        />
      ))}
    </g>
  );
}

/** The chart. */
export function ParallelAxes({ search, axes, brushes, marked }: {
  search: Search;
  axes: readonly TrialAxis[];
  brushes: readonly Brush[];
  marked: string;
}) {
  const { box, width: room } = useWidth(800);
  const { trials, best, objective } = search;
  const width = Math.max(room, EDGE.left + EDGE.right + (axes.length - 1) * LEAST);
  const gap = axes.length < 2 ? 0 : (width - EDGE.left - EDGE.right) / (axes.length - 1);
  const xOf = (index: number) => EDGE.left + index * gap;
  const yOf = (place: number) => EDGE.top + (1 - place) * (HEIGHT - EDGE.top - EDGE.bottom);
  const shown = pointed.value || marked;
  const lines = useMemo(() => {
    const rank = ({ name }: Trial) => name === shown ? 2 : name === best ? 1 : 0;
    return trials.slice(-MOST_LINES).sort((one, other) => rank(one) - rank(other));
  }, [trials, shown, best]);
  const inside = trials.filter((it) => isWithin(it, axes, brushes)).length;
  const bestTrial = trials.find(({ name }) => name === best);
  return (
    <>
      <div ref={box} class="scroll parallel" tabIndex={0} role="region" aria-label="Parameters">
        <svg
          width={width}
          height={HEIGHT}
          role="group"
          aria-label={plainText(
            `${trials.length} trials over ${axes.map(({ label }) => label).join(", ")}` +
              (bestTrial?.value === undefined
                ? ""
                : `. The best is ${best} with ${objective?.metric} ${numberText(bestTrial.value)}`),
          )}
        >
          {lines.map((trial) => {
            const points = axes.map(({ axis, valueOf }, index) => {
              const place = axis.placeOf(valueOf(trial));
              return place === undefined ? undefined : [xOf(index), yOf(place)] as const;
            });
            const isBest = trial.name === best;
            const end = points.findLast((it) => it !== undefined);
            return (
              <g
                key={trial.name}
                class={`${isWithin(trial, axes, brushes) ? "" : "out"} ${
                  trial.name === shown ? "marked" : ""
                }`}
                {...marking(trial.name)}
              >
                <path
                  class={`${lineClass(trial.state)} line ${isBest ? "best" : ""}`}
                  d={linePath(points)}
                />
                {end && <TrialSign state={trial.state} x={end[0]} y={end[1]} isBest={isBest} />}
              </g>
            );
          })}
          {axes.map((it, index) => (
            <AxisLine
              key={it.id}
              trialAxis={it}
              x={xOf(index)}
              y={yOf}
              gap={gap}
              brushes={brushes}
              isFirst={index === 0}
              isLast={index === axes.length - 1 && index > 0}
            />
          ))}
        </svg>
      </div>
      <p class="row quiet">
        <span role="status">
          {brushes.length === 0
            ? "Drag along an axis, or move its ends with the arrow keys, to select a range."
            : `${inside} of ${trials.length} trials are in the selected ranges.`}
        </span>
        {brushes.length > 0 && (
          <button
            type="button"
            class="small"
            onClick={() => showSearch({ brushes: [] }, true)}
          >
            Show all
          </button>
        )}
      </p>
    </>
  );
}
