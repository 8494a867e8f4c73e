/** Crosshair of the charts of a page: one place on their axis, which all that are seen show with dots on their curves. */
import { signal } from "@preact/signals";
import type uPlot from "uplot";
import { type CurveTable, nearest } from "./curve_table.ts";

/** The place, in what the axis counts; undefined while nobody points at one. */
const crosshair = signal<number | undefined>(undefined);
/** The chart that is pointed at: the others follow it. */
let leader: uPlot | undefined;

/** Where a cursor is: its place on the axis, and the index of the place of the nearest point; -1 beyond all points. */
export interface Pointed {
  readonly place: number;
  readonly index: number;
}

/** Distance from the first and from the last point in which they are pointed at, in pixels. */
const REACH = 8;

/** Returns the index of the point that a place is near, -1 beyond all of them. */
function indexAt(plot: uPlot, place: number, closest: number): number {
  const [places] = plot.data;
  const reach = Math.abs(plot.posToVal(REACH, "x") - plot.posToVal(0, "x"));
  const isWithin = place >= (places[0] ?? NaN) - reach && place <= (places.at(-1) ?? NaN) + reach;
  return isWithin ? closest : -1;
}

/** Returns where the cursor of a chart is; undefined if it is nowhere. */
export function pointedAt(plot: uPlot): Pointed | undefined {
  const { idx = null, left = -1 } = plot.cursor;
  if (idx === null) return undefined;
  const place = plot.posToVal(left, "x");
  return { place, index: indexAt(plot, place, idx) };
}

/** Makes a chart the one that the others follow. */
export function lead(plot: uPlot): void {
  leader = plot;
}

/** Tells the others where the cursor of a chart is, if they follow it. */
export function tellCrosshair(plot: uPlot): void {
  if (leader === plot) crosshair.value = pointedAt(plot)?.place;
}

/**
 * Moves the cursor of a chart with the crosshair while it is on the screen, and calls the listener then. Returns a
 * function that ends this.
 */
export function followCrosshair(plot: uPlot, onMove: () => void): () => void {
  let isSeen = true;
  const seen = new IntersectionObserver((entries) => {
    isSeen = entries.at(-1)?.isIntersecting ?? isSeen;
  });
  seen.observe(plot.root);
  const enter = () => lead(plot);
  plot.over.addEventListener("pointerenter", enter);
  const stop = crosshair.subscribe((place) => {
    if (leader === plot || !isSeen) return;
    const left = place === undefined ? -1 : plot.valToPos(place, "x");
    const isWithin = left >= 0 && left <= plot.over.clientWidth;
    plot.setCursor({ left: isWithin ? left : -10, top: 0 }, false);
    onMove();
  });
  return () => {
    stop();
    seen.disconnect();
    plot.over.removeEventListener("pointerenter", enter);
    if (leader !== plot) return;
    leader = undefined;
    crosshair.value = undefined;
  };
}

/** Returns the part of a chart's cursor that draws dots: those of the nearest values, of curves that reach there. */
export function dotsOf(
  table: () => CurveTable,
  { band }: { readonly band: boolean },
): Pick<uPlot.Cursor, "points" | "dataIdx"> {
  // With bands each curve has a series for its least, its greatest and its last values.
  const curveOf = (index: number) => table().curves[Math.floor((index - 1) / (band ? 3 : 1))];
  return {
    dataIdx: (plot, index, closest, place) => {
      const curve = curveOf(index);
      return (curve && nearest(curve, indexAt(plot, place, closest))) ?? -1;
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
