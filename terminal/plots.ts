/** Plots of characters: bars, sparklines, and curves of braille dots. Pure. */
import type { CurvePoint } from "../crds/wire/shown_curves.ts";

/** Which characters are drawn with. */
export type CharacterSet = "unicode" | "ascii";

const BARS = { unicode: ["█", "░"], ascii: ["#", "."] } as const;

/** Returns a bar such as `████████░░░░` for a percentage from 0 to 100. */
export function progressBar(
  percentage: number,
  width: number,
  characters: CharacterSet = "unicode",
): string {
  const [full, rest] = BARS[characters];
  const length = Math.round(Math.min(100, Math.max(0, percentage)) / 100 * width);
  return full.repeat(length) + rest.repeat(width - length);
}

const LEVELS = { unicode: "▁▂▃▄▅▆▇█", ascii: "_.-~=+*#" } as const;

/** Values and their moments, in milliseconds since the epoch. */
export type Points = readonly (readonly [timeMs: number, value: number])[];

const finite = (points: Points) =>
  points.filter(([time, value]) => Number.isFinite(time) && Number.isFinite(value));

type Range = ReturnType<typeof rangeOf>;

function rangeOf(values: readonly number[]) {
  return {
    from: values.reduce((a, b) => Math.min(a, b)),
    to: values.reduce((a, b) => Math.max(a, b)),
  };
}

/** Returns the place of a value among `count` ones; in the middle if all values are the same. */
function placeOf(value: number, { from, to }: Range, count: number): number {
  if (from === to) return Math.floor(count / 2);
  // Halves, because the difference of two huge numbers may be infinite.
  const share = (value / 2 - from / 2) / (to / 2 - from / 2);
  return Math.min(count - 1, Math.max(0, Math.floor(share * count)));
}

/** Returns a line such as `█▆▃▂▁` of at most that width, the last value of each moment; blanks where there is none. */
export function sparkline(
  points: Points,
  width: number,
  characters: CharacterSet = "unicode",
): string {
  const shown = finite(points);
  if (shown.length === 0 || width < 1) return "";
  const levels = LEVELS[characters];
  const [times, values] = [
    rangeOf(shown.map(([time]) => time)),
    rangeOf(shown.map(([, value]) => value)),
  ];
  const cells = new Array<string>(Math.min(width, shown.length)).fill(" ");
  for (const [time, value] of shown) {
    const column = placeOf(time, times, cells.length);
    cells[column] = levels[placeOf(value, values, levels.length)] ?? " ";
  }
  return cells.join("");
}

/** Dots of a cell of braille by column and row: the bits of U+2800 and what follows. */
const DOTS = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]] as const;
const BLANK = 0x2800;

/** A sheet of dots, or of characters that stand for them. */
class Sheet {
  readonly #cells: number[];

  constructor(private readonly size: Size, private readonly dots: Size) {
    this.#cells = new Array<number>(size.columns * size.rows).fill(0);
  }

  /** Draws a dot; rows count from below. */
  dot(x: number, fromBelow: number): void {
    const { columns, rows } = this.dots;
    const [width, height] = [columns / this.size.columns, rows / this.size.rows];
    const y = rows - 1 - fromBelow;
    const cell = Math.floor(y / height) * this.size.columns + Math.floor(x / width);
    this.#cells[cell] = (this.#cells[cell] ?? 0) | (DOTS[x % width]?.[y % height] ?? 0);
  }

  lines(character: (cell: number) => string): string[] {
    return Array.from({ length: this.size.rows }, (_, row) => {
      const from = row * this.size.columns;
      return this.#cells.slice(from, from + this.size.columns).map(character).join("");
    });
  }
}

/** Size in characters, or in dots. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/**
 * Returns the curve of `points` as lines of braille: the last values joined by a line, and a stroke from the least
 * to the most of each moment; no line goes over a time of `breaks`. With ASCII it has one dot for a character. No
 * lines if there is no value.
 */
export function curvePlot(
  points: readonly Readonly<CurvePoint>[],
  size: Size,
  characters: CharacterSet = "unicode",
  breaks: readonly number[] = [],
): string[] {
  const shown = points.filter((it) => it.every(Number.isFinite));
  if (shown.length === 0 || size.columns < 1 || size.rows < 1) return [];
  const isBraille = characters === "unicode";
  const dots = isBraille ? { columns: 2 * size.columns, rows: 4 * size.rows } : size;
  const times = rangeOf(shown.map(([time]) => time));
  const values = rangeOf(shown.flatMap(([, min, max]) => [min, max]));
  const sheet = new Sheet(size, dots);
  const stroke = (x: number, one: number, other: number) => {
    for (let y = Math.min(one, other); y <= Math.max(one, other); y++) sheet.dot(x, y);
  };
  let before: { readonly x: number; readonly y: number; readonly time: number } | undefined;
  for (const [time, min, max, last] of shown) {
    const x = placeOf(time, times, dots.columns);
    const y = placeOf(last, values, dots.rows);
    const beforeMs = before?.time ?? time;
    const isBroken = breaks.some((it) => it > beforeMs && it <= time);
    const begin = isBroken || before === undefined ? { x, y } : before;
    for (let at = begin.x + 1; at <= x; at++) {
      const yAt = (place: number) =>
        Math.round(begin.y + (y - begin.y) * (place - begin.x) / (x - begin.x));
      stroke(at, yAt(at - 1), yAt(at));
    }
    stroke(x, placeOf(min, values, dots.rows), placeOf(max, values, dots.rows));
    before = { x, y, time };
  }
  return sheet.lines((cell) =>
    isBraille ? String.fromCodePoint(BLANK + cell) : cell === 0 ? " " : "*"
  );
}
