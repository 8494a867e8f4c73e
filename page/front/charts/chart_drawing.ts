/** Drawing of charts: axes, lines with their bands and dashes, marks, and their colours. */
import type uPlot from "uplot";
import { decadeSteps } from "./axis_scale.ts";
import type { CurveColumns, CurveTable } from "./curve_table.ts";
import { type ChartLine, type CurveScale, placeOfMark } from "./curve_rows.ts";
import { clockTicks, DURATIONS, durationTicks, numberTicks, widthOf } from "./tick_texts.ts";
import { plainText } from "../readable_text.ts";
import type { AxisKind, JobView } from "../url_state.ts";

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
/** Distances of ticks on an axis of steps. */
const STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((it) => it * 10 ** power))
  .flat();

/** Returns a colour of the style sheet, as the canvas takes it. */
export function colourOf(probe: HTMLElement, name: string): string {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** How curves are shown. */
export type Scale = CurveScale & Pick<JobView, "band">;
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
  for (const line of lines.slice(0, 1)) {
    for (const mark of line.marks) {
      const place = placeOfMark(line, axis, mark);
      if (place === undefined) continue;
      const x = Math.round(plot.valToPos(place, "x", true));
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
      drawWord(ctx, plainText(mark.kind.slice(0, 16)), palette, "right");
      ctx.restore();
    }
  }
  ctx.restore();
}

/** Draws a word with its end, or its middle, at 0; a ring of the ground keeps it readable over a curve. */
function drawWord(
  ctx: CanvasRenderingContext2D,
  word: string,
  { sheet }: Palette,
  align: CanvasTextAlign,
) {
  ctx.textAlign = align;
  ctx.textBaseline = "bottom";
  ctx.strokeStyle = sheet;
  ctx.lineWidth = 4 * devicePixelRatio;
  ctx.lineJoin = "round";
  ctx.setLineDash([]);
  ctx.strokeText(word, 0, 0);
  ctx.fillText(word, 0, 0);
}

/** Draws a cross at the bottom where a curve was no number, and above it what it was where there is room. */
export function drawNonFinite(
  plot: uPlot,
  lines: readonly ChartLine[],
  { places, curves }: CurveTable,
  palette: Palette,
) {
  const { ctx, bbox } = plot;
  const [ratio, bottom] = [devicePixelRatio, bbox.top + bbox.height];
  ctx.save();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  let lastX = -Infinity;
  for (const { line, texts } of curves) {
    const colour = palette.curves[lines[line]?.place ?? 0] ?? palette.mark;
    texts.forEach((text, index) => {
      const x = Math.round(plot.valToPos(places[index] ?? NaN, "x", true));
      if (text === undefined || !(x >= bbox.left && x <= bbox.left + bbox.width)) return;
      ctx.fillStyle = colour;
      ctx.fillText("✕", x, bottom - 3 * ratio);
      if (Math.abs(x - lastX) < 36 * ratio) return;
      lastX = x;
      ctx.save();
      ctx.translate(x, bottom - 14 * ratio);
      drawWord(ctx, text, palette, "center");
      ctx.restore();
    });
  }
  ctx.restore();
}

/** Powers of ten beyond which a logarithmic axis has steps of several. */
export const MOST_DECADES = 12;

/** Texts of the ticks of an axis, `step` apart. */
const TICKS: Readonly<Record<AxisKind, (places: readonly number[], step: number) => string[]>> = {
  step: numberTicks,
  elapsed: durationTicks,
  clock: clockTicks,
};

/**
 * Returns the axes of the place and of the values, which are drawn divided by `exponent` powers of ten; `isWide`: one of
 * values with more than {@link MOST_DECADES}.
 */
export function axesOf(
  { axis }: Scale,
  { grid, text }: Palette,
  exponent: number,
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
      size: axis === "clock" ? 44 : 30,
      ...(axis !== "clock" && { incrs: axis === "step" ? STEPS : DURATIONS }),
      values: (_: uPlot, places: number[], _axis: number, _space: number, step: number) =>
        TICKS[axis](places, step),
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
      values: (_: uPlot, values: (number | null)[]) => {
        const shown = values.filter((it) => it !== null);
        const texts = numberTicks(shown.map((it) => it * 10 ** exponent));
        return values.map((it) => it === null ? "" : texts[shown.indexOf(it)] ?? "");
      },
    },
  ];
}

/** Returns the places of values that stand alone: a line needs two, and a single one would not be seen. */
function lonePlaces(values: ArrayLike<number | null | undefined>): number[] {
  const ends = Array.from(values).flatMap((it, index) => it === undefined ? [] : [{ it, index }]);
  const isValue = (at: number) => typeof ends[at]?.it === "number";
  return ends.flatMap(({ index }, at) =>
    isValue(at) && !isValue(at - 1) && !isValue(at + 1) ? [index] : []
  );
}

/** Makes a colour of the canvas as light as `part`. */
const lighter = (colour: string, part: number) =>
  colour.replace(/^rgb\((.*)\)$/, `rgba($1, ${part})`);

/** Returns the series of the curves, those of earlier runs lighter, and the bands between their least and greatest values. */
export function seriesOf(
  lines: readonly ChartLine[],
  shown: readonly Pick<CurveColumns, "line" | "isEarlier">[],
  { band }: Scale,
  { curves }: Palette,
) {
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const { line, isEarlier } of shown) {
    const { label = "", place = 0 } = lines[line] ?? {};
    const colour = curves[place] ?? "";
    if (band) {
      const hidden = { stroke: "transparent", width: 0, points: { show: false } };
      series.push({ label: "min", ...hidden }, { label: "max", ...hidden });
      const fill = lighter(colour, isEarlier ? 0.08 : 0.16);
      bands.push({ series: [series.length - 1, series.length - 2], fill });
    }
    series.push({
      label,
      stroke: isEarlier ? lighter(colour, 0.5) : colour,
      width: 1.6,
      dash: [...DASHES[place] ?? []],
      points: { show: false, filter: (plot, index) => lonePlaces(plot.data[index] ?? []), size: 6 },
    });
  }
  return { series, bands };
}
