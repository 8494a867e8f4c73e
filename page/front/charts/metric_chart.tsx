/** Chart of one metric: the curves of one job and of those compared with it, with bands and marks. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import uPlot from "uplot";
import {
  axesOf,
  colourOf,
  DASHES,
  drawMarks,
  drawNonFinite,
  MOST_DECADES,
  type Palette,
  type Scale,
  seriesOf,
} from "./chart_drawing.ts";
import { ChartLegend, placeText, summaryOf } from "./chart_legend.tsx";
import { crosshairOf, type Pointed, pointedAt, pointTo } from "./crosshair.ts";
import type { ChartLine } from "./curve_rows.ts";
import { curveTable, valueExtent } from "./curve_table.ts";
import { Hostile } from "../marks_and_signs.tsx";
import { useWidth } from "./svg_plot.tsx";
import { colours } from "../page_state.ts";
import { plainText } from "../readable_text.ts";
import { rangeAfter, rangeOf, rangeWith, type TimeRange, type ZoomStep } from "./zoom_range.ts";

const HEIGHT = 220;

/** Shows a part of the axis, of which `unit` is one of what a range counts. */
function showRange(plot: uPlot, { from, to }: TimeRange, unit: number): void {
  // Of one moment a minute around it, of one step the next ones.
  const around = from < to ? 0 : unit === 1 ? 1 : 30;
  plot.setScale("x", { min: from / unit - around, max: to / unit + around });
}

/** Steps of zooming by the keys for them; with Shift arrows move the range. */
const ZOOM_KEYS: Readonly<Record<string, ZoomStep>> = {
  "+": "in",
  "=": "in",
  "-": "out",
  "0": "all",
  "Shift ArrowLeft": "left",
  "Shift ArrowRight": "right",
};
/** The least width of a range that is drawn, in pixels: less is a click. */
const LEAST_DRAWN = 4;

/** The chart. */
export function MetricChart(
  { title, lines, scale, whole, range = whole, onRange, source = "" }: {
    title: string;
    lines: readonly ChartLine[];
    scale: Scale;
    /** All of the axis, which all charts have. */
    whole: TimeRange;
    /** The part of it that is shown; absent: all. */
    range?: TimeRange | undefined;
    onRange: (range: TimeRange | undefined) => void;
    /** What the points within the range were made of. */
    source?: string;
  },
) {
  const { box, width } = useWidth(300);
  const plot = useRef<uPlot | null>(null);
  const probe = useRef<HTMLSpanElement>(null);
  const at = useSignal<Pointed | undefined>(undefined);
  const { isLog, weight, band, axis } = scale;
  const table = useMemo(() => curveTable(lines, { isLog, weight, axis }), [
    lines,
    isLog,
    weight,
    axis,
  ]);
  const unit = axis === "step" ? 1 : 1000;
  const { exponent, decades } = useMemo(() => valueExtent(table.curves), [table]);
  const isWide = isLog && decades > MOST_DECADES;
  const data = useMemo((): uPlot.AlignedData => {
    const drawn = (values: (number | null | undefined)[]) =>
      exponent === 0
        ? values
        : values.map((it) => typeof it === "number" ? it / 10 ** exponent : it);
    return [
      [...table.places],
      ...table.curves.flatMap(({ last, min, max }) => band ? [min, max, last] : [last]).map(drawn),
    ];
  }, [table, band, exponent]);
  const shape = JSON.stringify([
    lines.map(({ key, place }) => [key, place]),
    table.curves.map(({ line, isEarlier }) => [line, isEarlier]),
    scale.isLog,
    scale.band,
    scale.axis,
    colours.value,
    exponent,
    isWide,
  ]);
  const newest = useRef({ lines, table, range, onRange });
  newest.current = { lines, table, range, onRange };

  useEffect(() => {
    const [parent, span] = [box.current, probe.current];
    if (parent === null || span === null) return;
    const palette: Palette = {
      grid: colourOf(span, "line"),
      text: colourOf(span, "quiet"),
      mark: colourOf(span, "mark"),
      sheet: colourOf(span, "sheet"),
      curves: DASHES.map((_, place) => colourOf(span, `curve-${place}`)),
    };
    const made = new uPlot(
      {
        width: parent.clientWidth || width,
        height: HEIGHT,
        legend: { show: false },
        // The text of a tick at the end is as wide as this twice.
        padding: [6, 26, 0, 0],
        scales: {
          x: { time: scale.axis === "clock" },
          y: { distr: scale.isLog ? 3 : 1 },
        },
        axes: axesOf(scale, palette, exponent, isWide),
        ...seriesOf(lines, table.curves, scale, palette),
        cursor: {
          ...crosshairOf(() => newest.current.table, scale.band),
          drag: { x: true, y: false, setScale: false },
          bind: { dblclick: () => () => (newest.current.onRange(undefined), null) },
        },
        hooks: {
          draw: [(it) => {
            const { lines, table } = newest.current;
            drawMarks(it, lines, scale.axis, palette);
            drawNonFinite(it, lines, table, palette);
          }],
          setSelect: [(it) => {
            const { left, width } = it.select;
            if (width < LEAST_DRAWN) return;
            const [from, to] = [left, left + width].map((at) => it.posToVal(at, "x") * unit);
            it.setSelect({ ...it.select, left: 0, width: 0 }, false);
            const drawn = rangeOf(from ?? 0, to ?? 0);
            if (drawn !== undefined) newest.current.onRange(drawn);
          }],
          setCursor: [(it) => {
            at.value = pointedAt(it);
          }],
        },
      },
      data,
      parent,
    );
    plot.current = made;
    showRange(made, newest.current.range, unit);
    return () => {
      made.destroy();
      plot.current = null;
      at.value = undefined;
    };
  }, [shape]);
  useEffect(() => plot.current?.setSize({ width, height: HEIGHT }), [width]);
  useEffect(() => {
    const it = plot.current;
    if (it === null) return;
    it.batch(() => {
      if (it.data !== data) it.setData(data, false);
      // This lays out the values, too.
      showRange(it, range, unit);
    });
    // What is nearest to the pointer may be another point now.
    const { left = -1, top = -1 } = it.cursor;
    if (left >= 0) it.setCursor({ left, top });
  }, [data, range?.from, range?.to]);

  const summary = useMemo(() => summaryOf(title, lines), [title, lines]);
  const place = at.value && (table.places[at.value.index] ?? at.value.place);
  const move = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const it = plot.current;
    if (it === null || table.places.length === 0) return;
    const isArrow = event.key.startsWith("Arrow");
    const zoom = ZOOM_KEYS[event.shiftKey && isArrow ? `Shift ${event.key}` : event.key];
    const shown = range === whole ? undefined : range;
    if (zoom !== undefined) {
      event.preventDefault();
      return onRange(
        rangeAfter(zoom, shown, whole, place === undefined ? undefined : place * unit),
      );
    }
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const count = table.places.length;
    const index = Math.min(count - 1, Math.max(0, (at.value?.index ?? count) + step));
    const next = table.places[index];
    if (next === undefined) return;
    const following = shown && rangeWith(shown, next * unit, whole);
    if (following !== shown) {
      showRange(it, following ?? whole, unit);
      onRange(following);
    }
    pointTo(it, next);
  };
  return (
    <figure class="chart">
      <figcaption>
        <h2>
          <Hostile text={title} />
        </h2>
        <span class="quiet number">
          {place === undefined ? "newest" : placeText(axis, place)}
        </span>
      </figcaption>
      <ChartLegend lines={lines} table={table} at={at.value?.index} />
      <span ref={probe} class="probe" aria-hidden="true" />
      <div
        ref={box}
        class="plot"
        tabIndex={0}
        role="img"
        aria-label={summary}
        onKeyDown={move}
      />
      {source !== "" && <p class="quiet">{plainText(source)}</p>}
      {table.left > 0 && (
        <p class="quiet">
          Values at or below 0 have no place on this axis: {table.left} are left out.
        </p>
      )}
    </figure>
  );
}
