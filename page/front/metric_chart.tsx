/** Chart of one metric: the curves of one job and of those compared with it, with bands and marks. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import uPlot from "uplot";
import { curveTable, decadeSteps, gapsOf, valueExtent } from "./curve_table.ts";
import { Hostile } from "./marks_and_signs.tsx";
import { colours } from "./page_state.ts";
import { clockText, durationText, numberText, plainText, tickTexts } from "./readable_text.ts";
import type { JobView } from "./url_state.ts";
import type { CurvePoint, Mark } from "./view_answers_read.ts";

/** One job's part of a chart. */
export interface ChartLine {
  readonly key: string;
  readonly label: string;
  /** Place among the jobs of the page: its colour and its dashes. */
  readonly place: number;
  readonly points: readonly CurvePoint[];
  readonly marks: readonly Mark[];
  readonly startMs: number;
}

/** Dashes of the places: lines are told apart without colour. */
const DASHES: readonly (readonly number[])[] = [
  [],
  [7, 4],
  [2, 3],
  [9, 3, 2, 3],
  [14, 5],
  [5, 2, 1, 2, 1, 2],
  [1, 5],
  [11, 3, 4, 3],
];
const HEIGHT = 220;
/** Steps of an axis of durations, in seconds. */
const STEPS = [1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 86_400, 604_800];

/** Returns a colour of the style sheet, as the canvas takes it. */
function colourOf(probe: HTMLElement, name: string): string {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** A sample of a line, for the legend. */
export function LineSample({ place }: { place: number }) {
  return (
    <svg
      class={`sample curve-${place}`}
      width="26"
      height="8"
      viewBox="0 0 26 8"
      aria-hidden="true"
    >
      <path d="M0 4H26" stroke-dasharray={DASHES[place]?.join(" ") || undefined} />
    </svg>
  );
}

type Scale = Pick<JobView, "isLog" | "weight" | "band" | "axis">;
type Palette = Readonly<Record<"grid" | "text" | "mark", string>> & {
  readonly curves: readonly string[];
};

/** Draws marks as lines with their kinds along them, where there is room. */
function drawMarks(
  plot: uPlot,
  lines: readonly ChartLine[],
  axis: Scale["axis"],
  palette: Palette,
) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = palette.mark;
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.font = `${10 * ratio}px system-ui, sans-serif`;
  let lastX = -Infinity;
  for (const { marks, startMs } of lines.slice(0, 1)) {
    for (const { timeMs, kind } of marks) {
      const second = (timeMs - (axis === "elapsed" ? startMs : 0)) / 1000;
      const x = Math.round(plot.valToPos(second, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      if (x - lastX < 12 * ratio) continue;
      lastX = x;
      ctx.save();
      ctx.translate(x - ratio, bbox.top + 3 * ratio);
      ctx.rotate(-Math.PI / 2);
      ctx.textAlign = "right";
      ctx.textBaseline = "bottom";
      ctx.fillText(plainText(kind.slice(0, 16)), 0, 0);
      ctx.restore();
    }
  }
  ctx.restore();
}

/** Returns the text of a value. */
type TextOf = (value: number) => string;

/** Powers of ten beyond which a logarithmic axis has steps of several. */
const MOST_DECADES = 12;

function axesOf(
  { axis }: Scale,
  { grid, text }: Palette,
  textOf: TextOf,
  isWide: boolean,
): uPlot.Axis[] {
  const look = {
    stroke: text,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1 },
  };
  const font = "11px system-ui, sans-serif";
  return [
    {
      ...look,
      font,
      space: 80,
      size: axis === "elapsed" ? 30 : 44,
      ...(axis === "elapsed" && { incrs: STEPS }),
      values: (_: uPlot, seconds: number[], _axis: number, _space: number, step: number) =>
        axis === "elapsed" ? seconds.map((it) => durationText(it)) : tickTexts(seconds, step),
    },
    {
      ...look,
      font,
      size: 64,
      ...(isWide && {
        splits: (_: uPlot, _axis: number, low: number, high: number) => decadeSteps(low, high),
        filter: (_: uPlot, steps: number[]) => steps,
      }),
      values: (_: uPlot, values: (number | null)[]) =>
        values.map((it) => it === null ? "" : textOf(it)),
    },
  ];
}

/** The span of time that is shown; of one moment a minute around it. */
function spanOf({ data: [seconds] }: uPlot, from: number, to: number): uPlot.Range.MinMax {
  const [only = from, ...others] = seconds;
  return others.length === 0 ? [only - 30, only + 30] : [from, to];
}

const hasOnePoint = (values: ArrayLike<number | null | undefined>) =>
  Array.from(values).filter((it) => it !== null && it !== undefined).length === 1;

function seriesOf(lines: readonly ChartLine[], { band }: Scale, { curves }: Palette) {
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const { label, place } of lines) {
    const colour = curves[place] ?? "";
    if (band) {
      const hidden = { stroke: "transparent", width: 0, points: { show: false } };
      series.push({ label: "min", ...hidden }, { label: "max", ...hidden });
      const fill = colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.16)");
      bands.push({ series: [series.length - 1, series.length - 2], fill });
    }
    series.push({
      label,
      stroke: colour,
      width: 1.6,
      dash: [...DASHES[place] ?? []],
      // A line needs two points: one alone would not be seen.
      points: { show: (plot, index) => hasOnePoint(plot.data[index] ?? []), size: 6 },
    });
  }
  return { series, bands };
}

/** What is shown of the values, in words. */
function summaryOf(title: string, lines: readonly ChartLine[], textOf: TextOf): string {
  const parts = lines.map(({ label, points }) => {
    const last = points.at(-1)?.[3];
    if (last === undefined) return `${label}: no values`;
    const min = Math.min(...points.map((it) => it[1]));
    const max = Math.max(...points.map((it) => it[2]));
    return `${label}: ${textOf(last)} last, from ${textOf(min)} to ${textOf(max)}`;
  });
  return plainText(`${title}. ${parts.join(". ")}. Arrow keys move along the curve.`);
}

/** Says whether less than all of the time is shown. */
function isZoomed({ data: [seconds], scales: { x } }: uPlot): boolean {
  const [first, last] = [seconds[0], seconds.at(-1)];
  if (first === undefined || last === undefined) return false;
  return (x?.min ?? first) > first || (x?.max ?? last) < last;
}

/** The chart. */
export function MetricChart(
  { title, lines, scale, textOf = numberText }: {
    title: string;
    lines: readonly ChartLine[];
    scale: Scale;
    textOf?: TextOf;
  },
) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const probe = useRef<HTMLSpanElement>(null);
  const at = useSignal<number | null>(null);
  const { isLog, weight, band, axis } = scale;
  const table = useMemo(() =>
    curveTable(
      lines.map(({ points, marks, startMs }) => ({
        points,
        gaps: gapsOf(marks),
        startMs: axis === "elapsed" ? startMs : 0,
      })),
      { isLog, weight },
    ), [lines, isLog, weight, axis]);
  const { exponent, decades } = useMemo(() => valueExtent(table.curves), [table]);
  const isWide = isLog && decades > MOST_DECADES;
  const data = useMemo((): uPlot.AlignedData => {
    const drawn = (values: (number | null | undefined)[]) =>
      exponent === 0
        ? values
        : values.map((it) => typeof it === "number" ? it / 10 ** exponent : it);
    return [
      [...table.seconds],
      ...table.curves.flatMap(({ last, min, max }) => band ? [min, max, last] : [last]).map(drawn),
    ];
  }, [table, band, exponent]);
  const shape = JSON.stringify([
    lines.map(({ key, place }) => [key, place]),
    scale.isLog,
    scale.band,
    scale.axis,
    colours.value,
    exponent,
    isWide,
  ]);
  const newest = useRef(lines);
  newest.current = lines;

  useEffect(() => {
    const [parent, span] = [box.current, probe.current];
    if (parent === null || span === null) return;
    const palette: Palette = {
      grid: colourOf(span, "line"),
      text: colourOf(span, "quiet"),
      mark: colourOf(span, "mark"),
      curves: DASHES.map((_, place) => colourOf(span, `curve-${place}`)),
    };
    const made = new uPlot(
      {
        width: parent.clientWidth || 300,
        height: HEIGHT,
        legend: { show: false },
        padding: [6, 10, 0, 0],
        scales: {
          x: { time: scale.axis === "clock", range: spanOf },
          y: { distr: scale.isLog ? 3 : 1 },
        },
        axes: axesOf(scale, palette, (value) => textOf(value * 10 ** exponent), isWide),
        ...seriesOf(lines, scale, palette),
        cursor: { points: { show: false }, y: false },
        hooks: {
          draw: [(it) => drawMarks(it, newest.current, scale.axis, palette)],
          setCursor: [(it) => {
            at.value = it.cursor.idx ?? null;
          }],
        },
      },
      data,
      parent,
    );
    plot.current = made;
    const sizes = new ResizeObserver(() => {
      if (parent.clientWidth > 0) made.setSize({ width: parent.clientWidth, height: HEIGHT });
    });
    sizes.observe(parent);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    const it = plot.current;
    if (it !== null && it.data !== data) it.setData(data, !isZoomed(it));
  }, [data]);

  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const it = plot.current;
    if (step === 0 || it === null) return;
    event.preventDefault();
    const count = table.seconds.length;
    const index = Math.min(count - 1, Math.max(0, (at.value ?? count) + step));
    const second = table.seconds[index];
    if (second === undefined) return;
    it.setCursor({ left: it.valToPos(second, "x"), top: 10 });
  };
  const second = at.value === null ? undefined : table.seconds[at.value];
  return (
    <figure class="chart">
      <figcaption>
        <h3>
          <Hostile text={title} />
        </h3>
        <span class="quiet number">
          {second === undefined
            ? "newest"
            : scale.axis === "elapsed"
            ? durationText(second)
            : clockText(second * 1000, Date.now())}
        </span>
      </figcaption>
      <ul class="legend">
        {lines.map(({ key, label, place }, index) => (
          <li key={key}>
            <LineSample place={place} />
            {lines.length > 1 && <Hostile text={label} />}
            <span class="number">{valueAt(table.curves[index]?.last ?? [], at.value, textOf)}</span>
          </li>
        ))}
      </ul>
      <span ref={probe} class="probe" aria-hidden="true" />
      <div
        ref={box}
        class="plot"
        tabIndex={0}
        role="img"
        aria-label={summaryOf(title, lines, textOf)}
        onKeyDown={move}
      />
      {table.left > 0 && (
        <p class="quiet">
          Values at or below 0 have no place on this axis: {table.left} are left out.
        </p>
      )}
    </figure>
  );
}

/** The value at an index, or the last before it; without an index the newest. */
function valueAt(
  values: readonly (number | null | undefined)[],
  index: number | null,
  textOf: TextOf,
): string {
  const found = values.slice(0, index === null ? undefined : index + 1)
    .findLast((it) => it !== undefined && it !== null);
  return found === undefined || found === null ? "–" : textOf(found);
}
