/** Learning curves as an SVG: a line per trial, with a mark at an early stop. Pure. */

/** A trial's line. */
export interface Curve {
  readonly name: string;
  /** The metric, report by report. */
  readonly values: readonly number[];
  /** Whether it ended by early stopping. */
  readonly stopped: boolean;
}

/** Input of the drawing. */
export interface Chart {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly curves: readonly Curve[];
}

const SIZE = { width: 1000, height: 480 } as const;
/** Of a line of the legend, which may make the picture higher. */
const LEGEND_ROW = 20;
const PLOT = { left: 70, right: 600, top: 50, bottom: 420 } as const;
const TICKS = 5;
/** Colours that people who see few of them can tell apart (Okabe and Ito). */
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000"];
const STOPPED = "#b00020";

const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const fixed = (value: number) => String(Math.round(value * 100) / 100);

/** Linear scale from values to positions. */
function scale([from, to]: readonly [number, number], [start, end]: readonly [number, number]) {
  const span = to - from || 1;
  return (value: number) => start + (value - from) / span * (end - start);
}

/** The next number up of the form 1, 2 or 5 times a power of ten. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 5].find((it) => it * power >= step) ?? 10);
}

/** Below this there are no round steps: numbers have lost their digits. */
const SMALLEST = 1e-300;

/** Round numbers from 0 to above `largest`; to 1 if that is next to nothing. */
export function ticksTo(largest: number): number[] {
  if (!(largest > SMALLEST)) return [0, 1];
  const step = roundStep(largest / TICKS);
  const count = Math.ceil(largest / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** Larger ones would leave no room for the others, nor for an axis. */
const LARGEST = 1e15;
const isDrawn = (value: number) => Math.abs(value) <= LARGEST;

type Place = (value: number) => number;

function axes(chart: Chart, x: Place, y: Place, xTicks: number[], yTicks: number[]): string[] {
  const text = (at: string, content: string | number) =>
    `<text ${at}>${escaped(String(content))}</text>`;
  const middle = `text-anchor="middle"`;
  return [
    ...yTicks.map((it) =>
      `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${fixed(y(it))}" y2="${
        fixed(y(it))
      }" stroke="#ddd"/>` +
      text(`x="${PLOT.left - 8}" y="${fixed(y(it) + 4)}" text-anchor="end"`, it)
    ),
    ...xTicks.map((it) => text(`x="${fixed(x(it))}" y="${PLOT.bottom + 20}" ${middle}`, it)),
    `<path d="M${PLOT.left} ${PLOT.top}V${PLOT.bottom}H${PLOT.right}" fill="none" stroke="#333"/>`,
    text(`x="${(PLOT.left + PLOT.right) / 2}" y="${PLOT.bottom + 45}" ${middle}`, chart.xLabel),
    text(
      `x="20" y="${(PLOT.top + PLOT.bottom) / 2}" ${middle} transform="rotate(-90 20 ${
        (PLOT.top + PLOT.bottom) / 2
      })"`,
      chart.yLabel,
    ),
    text(`x="${PLOT.left}" y="28" font-size="18"`, chart.title),
  ];
}

/** A cross at an early stop, a dot at a natural end. */
function mark(stopped: boolean, x: number, y: number, colour: string): string {
  if (!stopped) return `<circle cx="${fixed(x)}" cy="${fixed(y)}" r="4" fill="${colour}"/>`;
  const [left, right, top, bottom] = [x - 6, x + 6, y - 6, y + 6].map(fixed);
  return `<path class="stopped" d="M${left} ${top}L${right} ${bottom}M${left} ${bottom}L${right} ${top}" stroke="${STOPPED}" stroke-width="3"/>`;
}

function line(curve: Curve, index: number, x: Place, y: Place): string {
  const colour = COLOURS[index % COLOURS.length] ?? "#000";
  const points = curve.values.flatMap((value, at) =>
    isDrawn(value) ? [{ x: x(at + 1), y: y(value) }] : []
  );
  const name = `${escaped(curve.name)}${curve.stopped ? ", stopped early" : ""}`;
  const last = points.at(-1);
  const row = PLOT.top + 16 + LEGEND_ROW * index;
  const legend = PLOT.right + 20;
  return `<g><title>${name}</title>` +
    `<polyline points="${
      points.map((it) => `${fixed(it.x)},${fixed(it.y)}`).join(" ")
    }" fill="none" stroke="${colour}" stroke-width="2"${
      curve.stopped ? ' stroke-dasharray="6 3"' : ""
    }/>` +
    (last ? mark(curve.stopped, last.x, last.y, colour) : "") +
    `<line x1="${legend}" x2="${legend + 24}" y1="${row - 4}" y2="${
      row - 4
    }" stroke="${colour}" stroke-width="2"${curve.stopped ? ' stroke-dasharray="6 3"' : ""}/>` +
    mark(curve.stopped, legend + 24, row - 4, colour) +
    `<text x="${legend + 36}" y="${row}">${name}</text></g>`;
}

/** The chart as a file of its own; values that are no numbers, or beyond all measure, are left out. */
export function curvesSvg(chart: Chart): string {
  const all = chart.curves.flatMap(({ values }) => values.filter(isDrawn));
  const longest = Math.max(1, ...chart.curves.map(({ values }) => values.length));
  const yTicks = ticksTo(Math.max(0, ...all));
  const xTicks = ticksTo(longest).filter(Number.isInteger);
  const x = scale([0, Math.max(longest, xTicks.at(-1) ?? 1)], [PLOT.left, PLOT.right]);
  const y = scale([0, yTicks.at(-1) ?? 1], [PLOT.bottom, PLOT.top]);
  const { width } = SIZE;
  const height = Math.max(SIZE.height, PLOT.top + 16 + LEGEND_ROW * chart.curves.length);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...axes(chart, x, y, xTicks, yTicks),
    ...chart.curves.map((curve, index) => line(curve, index, x, y)),
    "</svg>\n",
  ].join("\n");
}
