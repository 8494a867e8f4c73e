/** Chart of one metric: the curves of one job and of those compared with it, with bands and marks. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import uPlot from "uplot";
import {
  axesOf,
  type ChartLine,
  colourOf,
  DASHES,
  drawMarks,
  MOST_DECADES,
  type Palette,
  type Scale,
  seriesOf,
  type TextOf,
} from "./chart_drawing.ts";
import { curveTable, gapsOf, valueExtent } from "./curve_table.ts";
import { Hostile } from "../marks_and_signs.tsx";
import { colours } from "../page_state.ts";
import { durationText, numberText, plainText } from "../readable_text.ts";
import { clockText } from "../../../platform/base/local_time.ts";
import { rangeAfter, rangeOf, rangeWith, type TimeRange, type ZoomStep } from "./zoom_range.ts";

const HEIGHT = 220;

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

/** What is shown of the values, in words. */
function summaryOf(title: string, lines: readonly ChartLine[], textOf: TextOf): string {
  const parts = lines.map(({ label, points }) => {
    const last = points.at(-1)?.[3];
    if (last === undefined) return `${label}: no values`;
    const min = Math.min(...points.map((it) => it[1]));
    const max = Math.max(...points.map((it) => it[2]));
    return `${label}: ${textOf(last)} last, from ${textOf(min)} to ${textOf(max)}`;
  });
  return plainText(
    `${title}. ${parts.join(". ")}. Arrow keys move along the curve, + and - zoom, 0 shows all.`,
  );
}

/** Shows a range of the time, or all of it. */
function showRange(plot: uPlot, range: TimeRange | undefined): void {
  const [seconds] = plot.data;
  const [first, last] = [seconds[0], seconds.at(-1)];
  if (first === undefined || last === undefined) return;
  if (range !== undefined) plot.setScale("x", { min: range.from / 1000, max: range.to / 1000 });
  // Of one moment a minute around it.
  else if (last > first) plot.setScale("x", { min: first, max: last });
  else plot.setScale("x", { min: first - 30, max: first + 30 });
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
  { title, lines, scale, textOf = numberText, range, onRange, source = "" }: {
    title: string;
    lines: readonly ChartLine[];
    scale: Scale;
    textOf?: TextOf;
    /** The part of the time that is shown; absent: all. */
    range?: TimeRange | undefined;
    onRange: (range: TimeRange | undefined) => void;
    /** What the points within the range were made of. */
    source?: string;
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
  const newest = useRef({ lines, range, onRange });
  newest.current = { lines, range, onRange };

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
        width: parent.clientWidth || 300,
        height: HEIGHT,
        legend: { show: false },
        // The text of a tick at the end is as wide as this twice.
        padding: [6, 26, 0, 0],
        scales: {
          x: { time: scale.axis === "clock" },
          y: { distr: scale.isLog ? 3 : 1 },
        },
        axes: axesOf(scale, palette, (value) => textOf(value * 10 ** exponent), isWide),
        ...seriesOf(lines, scale, palette),
        cursor: {
          points: { show: false },
          y: false,
          drag: { x: true, y: false, setScale: false },
          bind: { dblclick: () => () => (newest.current.onRange(undefined), null) },
        },
        hooks: {
          draw: [(it) => drawMarks(it, newest.current.lines, scale.axis, palette)],
          setSelect: [(it) => {
            const { left, width } = it.select;
            if (width < LEAST_DRAWN) return;
            const [from, to] = [left, left + width].map((at) => it.posToVal(at, "x") * 1000);
            it.setSelect({ ...it.select, left: 0, width: 0 }, false);
            const drawn = rangeOf(from ?? 0, to ?? 0);
            if (drawn !== undefined) newest.current.onRange(drawn);
          }],
          setCursor: [(it) => {
            at.value = it.cursor.idx ?? null;
          }],
        },
      },
      data,
      parent,
    );
    plot.current = made;
    showRange(made, newest.current.range);
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
    if (it === null) return;
    if (it.data !== data) it.setData(data, false);
    // This lays out the values, too.
    showRange(it, range);
  }, [data, range?.from, range?.to]);

  const move = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const it = plot.current;
    const [first, last] = [table.seconds[0], table.seconds.at(-1)];
    if (it === null || first === undefined || last === undefined) return;
    const whole = { from: first * 1000, to: last * 1000 };
    const isArrow = event.key.startsWith("Arrow");
    const zoom = ZOOM_KEYS[event.shiftKey && isArrow ? `Shift ${event.key}` : event.key];
    const place = at.value === null ? undefined : table.seconds[at.value];
    if (zoom !== undefined) {
      event.preventDefault();
      return onRange(
        rangeAfter(zoom, range, whole, place === undefined ? undefined : place * 1000),
      );
    }
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const count = table.seconds.length;
    const index = Math.min(count - 1, Math.max(0, (at.value ?? count) + step));
    const second = table.seconds[index];
    if (second === undefined) return;
    const following = range && rangeWith(range, second * 1000, whole);
    if (following !== range) {
      showRange(it, following);
      onRange(following);
    }
    it.setCursor({ left: it.valToPos(second, "x"), top: 10 });
  };
  const second = at.value === null ? undefined : table.seconds[at.value];
  return (
    <figure class="chart">
      <figcaption>
        <h2>
          <Hostile text={title} />
        </h2>
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
      {source !== "" && <p class="quiet">{plainText(source)}</p>}
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
