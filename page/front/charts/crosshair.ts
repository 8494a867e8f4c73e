/** Crosshair of the charts of a page: one place on their axis, which all of them show with dots on their curves. */
import uPlot from "uplot";
import { type CurveTable, nearest } from "./curve_table.ts";

/** What charts tell each other: where the pointer is, and nothing of what is drawn with it. */
const KEY = "crosshair";
const isTold = (type: string) => type === "mousemove" || type === "mouseleave";

/** Where a cursor is: its place on the axis, and the index of the place of the nearest point; -1 beyond all points. */
export interface Pointed {
  readonly place: number;
  readonly index: number;
}

/** Distance from the first and from the last point in which they are pointed at, in pixels. */
const REACH = 8;

function pointed(plot: uPlot, place: number, closest: number): Pointed {
  const [places] = plot.data;
  const reach = Math.abs(plot.posToVal(REACH, "x") - plot.posToVal(0, "x"));
  const isWithin = place >= (places[0] ?? NaN) - reach && place <= (places.at(-1) ?? NaN) + reach;
  return { place, index: isWithin ? closest : -1 };
}

/** Returns where the cursor of a chart is; undefined if it is nowhere. */
export function pointedAt(plot: uPlot): Pointed | undefined {
  const { idx = null, left = -1 } = plot.cursor;
  return idx === null ? undefined : pointed(plot, plot.posToVal(left, "x"), idx);
}

/** Moves the cursor of a chart, and those of the others with it. */
export function pointTo(plot: uPlot, place: number): void {
  const [left, top] = [plot.valToPos(place, "x"), 10];
  plot.setCursor({ left, top });
  const { clientWidth, clientHeight } = plot.over;
  uPlot.sync(KEY).pub("mousemove", plot, left, top, clientWidth, clientHeight, 0);
}

/** Returns a chart's cursor, with dots at the nearest values of those curves that reach there. */
export function crosshairOf(table: () => CurveTable, band: boolean): uPlot.Cursor {
  // With bands each curve has a series for its least, its greatest and its last values.
  const curveOf = (index: number) => table().curves[Math.floor((index - 1) / (band ? 3 : 1))];
  return {
    y: false,
    sync: {
      key: KEY,
      setSeries: false,
      scales: ["x", null],
      filters: { pub: isTold, sub: isTold },
    },
    dataIdx: (plot, index, closest, place) => {
      const curve = curveOf(index);
      return (curve && nearest(curve, pointed(plot, place, closest).index)) ?? -1;
    },
    points: { show: (_, index) => dot(!band || index % 3 === 0), size: 7, fill: strokeOf },
  };
}

/** Returns an element for a dot, or for none. */
function dot(isShown: boolean): HTMLElement {
  const element = document.createElement("div");
  element.hidden = !isShown;
  return element;
}

function strokeOf(plot: uPlot, index: number) {
  const stroke = plot.series[index]?.stroke ?? "";
  return typeof stroke === "function" ? stroke(plot, index) ?? "" : stroke;
}
