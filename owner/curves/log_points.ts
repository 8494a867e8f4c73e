/** Points of the rows of a log: minimum, maximum and last value of each bucket, as curves have them. Pure but for its sums. */
import { addPoint, withStep } from "./bucket_points.ts";
import { shownText } from "../../trials/recording/content.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { readGoFloat } from "../../platform/base/go_float.ts";
import { nonFiniteCode } from "./job_curves.ts";
import type { CurvePoint } from "../../crds/wire/shown_curves.ts";

/**
 * The points of one metric, of which rows are added by time. While there are few samples each of them is a point with
 * its own time, to the millisecond; then buckets become so wide, a power of two, that there are at most so many of them.
 */
export class LogPoints {
  #widthMs = 1;
  #points: CurvePoint[] = [];
  #firstMs: number | undefined;
  #lastMs: number | undefined;
  #nonFinite: LogPoints | undefined;

  /** `most`: most points. */
  constructor(readonly most: number) {}

  /** Times of the first and of the last sample; undefined if there is none. */
  get span(): { readonly firstMs: number; readonly lastMs: number } | undefined {
    if (this.#firstMs === undefined || this.#lastMs === undefined) return undefined;
    return { firstMs: this.#firstMs, lastMs: this.#lastMs };
  }

  get points(): CurvePoint[] {
    return [...this.#points];
  }

  /** The points that say when there was no finite number; undefined if there always was one. */
  get nonFinite(): LogPoints | undefined {
    return this.#nonFinite;
  }

  /** Adds a row that is not before those that were added; what is no number, nor NaN or infinity, is left out. */
  add({ time, value: text, step }: Pick<ObservationRow, "time" | "value" | "step">): void {
    const { value } = readGoFloat(shownText(text)) ?? {};
    if (value === undefined) return;
    if (Number.isFinite(value)) return this.addNumber(Date.parse(time), value, step);
    this.#nonFinite ??= new LogPoints(this.most);
    this.#nonFinite.addNumber(Date.parse(time), nonFiniteCode(value), step);
  }

  /** Adds a finite number, with the step that it was pushed with, in the same way. */
  addNumber(timeMs: number, value: number, step?: number): void {
    if (Number.isNaN(timeMs)) return;
    this.#firstMs ??= timeMs;
    this.#lastMs = timeMs;
    addPoint(this.#points, this.#widthMs, withStep([timeMs, value, value, value], step));
    while (this.#points.length > this.most) this.#widen();
  }

  #widen(): void {
    this.#widthMs *= 2;
    const points = this.#points;
    this.#points = [];
    for (const point of points) addPoint(this.#points, this.#widthMs, point);
  }
}
