/** Drawing of charts: axes, lines with their bands and dashes, marks, and their colours. */
import type uPlot from "uplot";
import { decadeSteps } from "./curve_table.ts";
import { plainText, roundDurationText, tickTexts } from "../readable_text.ts";
import type { JobView } from "../url_state.ts";
import type { Mark } from "../feed/view_answers_read.ts";
import type { CurvePoint } from "../../../crds/wire/shown_curves.ts";

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
export const DASHES: readonly (readonly number[])[] = [
  [],
  [7, 4],
  [2, 3],
  [9, 3, 2, 3],
  [14, 5],
  [5, 2, 1, 2, 1, 2],
  [1, 5],
  [11, 3, 4, 3],
];
/** Steps of an axis of durations, in seconds. */
const STEPS = [1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 86_400, 604_800];

/** Returns a colour of the style sheet, as the canvas takes it. */
export function colourOf(probe: HTMLElement, name: string): string {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** How curves are shown. */
export type Scale = Pick<JobView, "isLog" | "weight" | "band" | "axis">;
/** Colours as the canvas takes them. */
export type Palette = Readonly<Record<"grid" | "text" | "mark" | "sheet", string>> & {
  readonly curves: readonly string[];
};

/** Draws marks as lines with their kinds along them, where there is room. */
export function drawMarks(
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
      const word = plainText(kind.slice(0, 16));
      ctx.save();
      ctx.translate(x - ratio, bbox.top + 3 * ratio);
      ctx.rotate(-Math.PI / 2);
      ctx.textAlign = "right";
      ctx.textBaseline = "bottom";
      // A ring of the ground keeps the word readable over a curve.
      ctx.strokeStyle = palette.sheet;
      ctx.lineWidth = 4 * ratio;
      ctx.lineJoin = "round";
      ctx.setLineDash([]);
      ctx.strokeText(word, 0, 0);
      ctx.fillText(word, 0, 0);
      ctx.restore();
    }
  }
  ctx.restore();
}

/** Returns the text of a value. */
export type TextOf = (value: number) => string;

/** Powers of ten beyond which a logarithmic axis has steps of several. */
export const MOST_DECADES = 12;

/** Returns room for texts beside an axis, about as wide as letters of its font are. */
const widthOf = (texts: readonly string[]) =>
  texts.reduce((most, { length }) => Math.max(most, 16 + 6 * length), 64);

/** Returns the axes of the time and of the values; `isWide`: one of values with more than {@link MOST_DECADES}. */
export function axesOf(
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
        axis === "elapsed" ? seconds.map(roundDurationText) : tickTexts(seconds, step),
    },
    {
      ...look,
      font,
      // Lengths of time are longer than numbers.
      size: (_: uPlot, texts: string[] | null) => widthOf(texts ?? []),
      ...(isWide && {
        splits: (_: uPlot, _axis: number, low: number, high: number) => decadeSteps(low, high),
        filter: (_: uPlot, steps: number[]) => steps,
      }),
      values: (_: uPlot, values: (number | null)[]) =>
        values.map((it) => it === null ? "" : textOf(it)),
    },
  ];
}

const hasOnePoint = (values: ArrayLike<number | null | undefined>) =>
  Array.from(values).filter((it) => it !== null && it !== undefined).length === 1;

/** Returns the series of the lines, and the bands between their least and greatest values. */
export function seriesOf(lines: readonly ChartLine[], { band }: Scale, { curves }: Palette) {
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
      // A line needs two points: a single one would not be seen.
      points: { show: (plot, index) => hasOnePoint(plot.data[index] ?? []), size: 6 },
    });
  }
  return { series, bands };
}
