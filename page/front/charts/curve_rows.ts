/** Rows of a curve at their places on an axis, a list for each line that is drawn. Pure. */
import type { CurvePoint } from "../../../crds/wire/shown_curves.ts";
import type { Curve, Mark } from "../feed/view_answers_read.ts";
import { numberText } from "../readable_text.ts";
import type { AxisKind, JobView } from "../url_state.ts";
import { bucketWidth, type JobRuns } from "./job_runs.ts";

/**
 * Returns the exponential moving average of values, without the pull towards 0 of its first ones.
 * `weight` is the part of the past, from 0 to below 1; what is no number stays where it is.
 */
export function smoothed(
  values: readonly (number | null)[],
  weight: number,
): (number | null)[] {
  if (weight <= 0) return [...values];
  let [average, part] = [0, 0];
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return value;
    average = weight * average + (1 - weight) * value;
    part = weight * part + (1 - weight);
    return average / part;
  });
}

/** The curve of one job. */
export interface CurveLine {
  readonly points: readonly CurvePoint[];
  /** When it was no finite number; the values are what stands for it. */
  readonly nonFinite: readonly CurvePoint[];
  readonly runs: JobRuns;
  /** The time that is 0 on an axis of time since the start. */
  readonly startMs: number;
}

/** One job's part of a chart. */
export interface ChartLine extends CurveLine, Partial<Pick<Curve, "source" | "cut">> {
  readonly key: string;
  readonly label: string;
  /** Place among the jobs of the page: its colour and its dashes. */
  readonly place: number;
  readonly marks: readonly Mark[];
}

/** What is shown of curves. */
export type CurveScale = Pick<JobView, "isLog" | "weight"> & { readonly axis: AxisKind };

/** A point at its place on the axis; null where it has no value there. */
interface PlacedRow {
  readonly place: number;
  readonly run: number;
  readonly last: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly text?: string | undefined;
}

type LinePlaces = Pick<CurveLine, "points" | "runs" | "startMs">;

/** Returns the place of a moment on the axis; that of steps is the one of its step, undefined if it has none. */
const placeOf = ({ startMs }: LinePlaces, axis: AxisKind, timeMs: number, step?: number) =>
  axis === "step" ? step : (timeMs - (axis === "elapsed" ? startMs : 0)) / 1000;

/** Returns the place of a mark on the axis; undefined if it has none. */
export const placeOfMark = (line: LinePlaces, axis: AxisKind, mark: Mark): number | undefined =>
  placeOf(line, axis, mark.timeMs, axis === "step" ? line.runs.stepOf(mark) : undefined);

/** Returns a function that gives the run of a point of the line, its step and its place on the axis. */
export function placing(line: LinePlaces, axis: AxisKind) {
  const width = bucketWidth(line.points);
  return ([timeMs, , , , own]: CurvePoint) => {
    const run = line.runs.runOf(timeMs, width);
    const step = own ?? line.runs.stepAt(timeMs, run);
    return { run, step, place: placeOf(line, axis, timeMs, step) };
  };
}

/** Returns what a value was that is no finite number, by what stands for it. */
export const textOfCode = (code: number) => numberText(code === 0 ? NaN : code * Infinity);

/** The rows of a line by their time. */
function rowsOf(line: CurveLine, { isLog, axis }: CurveScale): PlacedRow[] {
  const fits = (value: number) => Number.isFinite(value) && (!isLog || value > 0) ? value : null;
  const texts = new Map(line.nonFinite.map(([timeMs, , , code]) => [timeMs, textOfCode(code)]));
  const finite = new Set(line.points.map(([timeMs]) => timeMs));
  const others = line.nonFinite.filter(([timeMs]) => !finite.has(timeMs))
    .map(([timeMs, , , , ...step]): CurvePoint => [timeMs, NaN, NaN, NaN, ...step]);
  const placed = placing(line, axis);
  return [...line.points, ...others].sort((a, b) => a[0] - b[0])
    .flatMap((point): PlacedRow[] => {
      const [timeMs, min, max, last] = point;
      const { run, place } = placed(point);
      if (place === undefined) return [];
      return [{
        place,
        run,
        last: fits(last),
        min: fits(min),
        max: fits(max),
        text: texts.get(timeMs),
      }];
    });
}

/** Returns the rows of each run by their places, with smoothed values. */
function rowsOfRuns(rows: readonly PlacedRow[], weight: number): PlacedRow[][] {
  return [...Map.groupBy(rows, ({ run }) => run).values()].map((of) => {
    const ordered = [...of].sort((a, b) => a.place - b.place);
    const values = smoothed(ordered.map(({ last }) => last), weight);
    return ordered.map((row, index) => ({ ...row, last: values[index] ?? null }));
  });
}

/** Returns the runs as one curve that breaks between them. */
function inOne(runs: readonly PlacedRow[][]): PlacedRow[] {
  return runs.flatMap((rows, index) => {
    const [before, next] = [runs[index - 1]?.at(-1), rows[0]];
    if (before === undefined || next === undefined) return rows;
    const place = (before.place + next.place) / 2;
    return [{ place, run: next.run, last: null, min: null, max: null }, ...rows];
  });
}

/** Returns the rows of the lines of a curve. On an axis of steps each run is one: it goes back to steps of others. */
export function placedRows(line: CurveLine, scale: CurveScale): readonly (readonly PlacedRow[])[] {
  const runs = rowsOfRuns(rowsOf(line, scale), scale.weight);
  return scale.axis === "step" ? runs : [inOne(runs)];
}
