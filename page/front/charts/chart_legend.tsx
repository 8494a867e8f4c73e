/** Legend of a chart: its lines, with their values where the crosshair is, and the same in words. */
import { DASHES } from "./chart_drawing.ts";
import type { ChartLine } from "./curve_rows.ts";
import { type CurveTable, nearest } from "./curve_table.ts";
import { Hostile } from "../marks_and_signs.tsx";
import { clockText } from "../../../platform/base/local_time.ts";
import { durationText, numberText, plainText } from "../readable_text.ts";
import type { AxisKind } from "../url_state.ts";

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

/** Returns the value of a line at an index, that of its newest run that reaches there; without an index the newest. */
function valueAt(
  { curves }: CurveTable,
  line: number,
  index: number | undefined,
): string {
  const runs = curves.filter((it) => it.line === line).reverse();
  for (const run of runs) {
    const isKnown = (_: unknown, at: number) =>
      typeof run.last[at] === "number" || run.texts[at] !== undefined;
    const at = index === undefined ? run.last.findLastIndex(isKnown) : nearest(run, index);
    if (at === undefined || at < 0) continue;
    const [value, text] = [run.last[at], run.texts[at]];
    return [...(typeof value === "number" ? [numberText(value)] : []), ...(text ? [text] : [])]
      .join(", ");
  }
  return "–";
}

/** Returns the text of a place on an axis. */
export const placeText = (axis: AxisKind, place: number): string =>
  axis === "step"
    ? `step ${numberText(Math.round(place))}`
    : axis === "elapsed"
    ? durationText(place)
    : clockText(place * 1000, Date.now());

/** The legend. */
export function ChartLegend({ lines, table, at }: {
  lines: readonly ChartLine[];
  table: CurveTable;
  /** Index of the place that is pointed at, -1 beyond all of them. */
  at: number | undefined;
}) {
  return (
    <ul class="legend">
      {lines.map(({ key, label, place }, index) => (
        <li key={key}>
          <LineSample place={place} />
          {lines.length > 1 && <Hostile text={label} />}
          <span class="number">{valueAt(table, index, at)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Returns what is shown of the values, in words. */
export function summaryOf(title: string, lines: readonly ChartLine[]): string {
  const parts = lines.map(({ label, points, nonFinite }) => {
    const last = points.at(-1)?.[3];
    const broken = nonFinite.length === 0 ? "" : ", at times no number";
    if (last === undefined) return `${label}: no values${broken}`;
    const min = Math.min(...points.map((it) => it[1]));
    const max = Math.max(...points.map((it) => it[2]));
    return `${label}: ${numberText(last)} last, from ${numberText(min)} to ${
      numberText(max)
    }${broken}`;
  });
  return plainText(
    `${title}. ${parts.join(". ")}. Arrow keys move along the curve, + and - zoom, 0 shows all.`,
  );
}
