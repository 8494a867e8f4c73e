/**
 * Bounded series of the metrics of one job over one time axis: minimum, maximum and last value of each bucket.
 *
 * A bucket is {@link BASE_WIDTH_MS} times a power of two wide and begins at a multiple of that since the epoch. When the
 * samples span more buckets than there is room for, the width doubles and neighbours merge. So what is kept depends
 * only on the samples, not on the order in which they came, but for the last value: a late sample changes
 * that of its bucket unless a newer one of its metric is there.
 *
 * Values are 32-bit floats, of steps too: 64-bit ones for those would take as much room as another metric of each job.
 * Whoever needs more digits reads the log.
 */
import { mergedFor } from "./bucket_points.ts";
import type { CurvePoint } from "../../crds/wire/shown_curves.ts";

/** Width of a bucket at first. */
export const BASE_WIDTH_MS = 125;

/** The largest number that fits; what is beyond is shown as this. */
const FLOAT32_MAX = 3.4028234663852886e38;

/** Bytes of the objects of a series without its buckets, as measured (`deno task bench page`). */
const OBJECT_BYTES = 480;
/** The same of one row. */
const ROW_OBJECT_BYTES = 16;

/** The part of a series that is read. */
export interface PointsQuery {
  /** Most points: buckets are merged until they are no more. Default: those that are kept. */
  readonly points?: number | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

/** Numbers of a bucket, by their places. */
const [MIN, MAX, LAST, NUMBERS] = [0, 1, 2, 3];
/** Most buckets of a metric. */
const BUCKETS_MAX = 128;
/** The newest buckets into which samples may fall in any order: pods of a job have clocks of their own. */
const RECENT_BUCKETS = 8;
/** A row while it is laid anew. */
const oldRow = new Float32Array(BUCKETS_MAX * NUMBERS);

/** Buckets without a sample. */
function emptyBuckets(buckets: number): Float32Array<ArrayBuffer> {
  return new Float32Array(buckets * NUMBERS).fill(NaN);
}

/**
 * The number with the digits that a float32 has: written as text, 0.1 is `0.1` and not `0.10000000149011612`. Whole
 * numbers stay as they are.
 */
export function shownFloat(value: number): number {
  if (Number.isInteger(value)) return value;
  const scale = 10 ** (6 - Math.floor(Math.log10(Math.abs(value))));
  return Math.round(value * scale) / scale;
}

/** The series of several metrics, each of which is a row. */
export class Series {
  #capacity: number;
  #rows = 0;
  /** The buckets of one row after those of the other. */
  #buckets: Float32Array<ArrayBuffer> = emptyBuckets(0);
  /** Times of the newest samples of the rows. */
  #newest: number[] = [];
  #widthMs = BASE_WIDTH_MS;
  /** Number of the first bucket, counted from the epoch. */
  #first = 0;
  /** Buckets from the first one to the last that a sample fell into. */
  #used = 0;
  #reshapes = 0;

  /** `capacity`: most buckets of a metric, up to 128. */
  constructor(capacity: number) {
    this.#capacity = Math.min(capacity, BUCKETS_MAX);
  }

  get capacity(): number {
    return this.#capacity;
  }

  get widthMs(): number {
    return this.#widthMs;
  }

  /** Grows when points before {@link recentMs} change. */
  get reshapes(): number {
    return this.#reshapes;
  }

  /** Where the newest buckets begin, in milliseconds since the epoch: with the same {@link reshapes}, points before it stay. */
  get recentMs(): number {
    return (this.#first + Math.max(0, this.#used - RECENT_BUCKETS)) * this.#widthMs;
  }

  get bytes(): number {
    return OBJECT_BYTES + this.#buckets.byteLength + this.#rows * ROW_OBJECT_BYTES;
  }

  /** Adds an empty row and returns its number. `expected`: rows that there will be soon. */
  addRow(expected = 0): number {
    const rows = Math.max(this.#rows + 1, expected);
    if (this.#at(this.#rows + 1, 0) > this.#buckets.length) {
      const buckets = emptyBuckets(rows * this.#capacity);
      buckets.set(this.#buckets);
      this.#buckets = buckets;
    }
    // Not push(), which would reserve room for some twenty more.
    this.#newest = this.#newest.concat([-Infinity]);
    return this.#rows++;
  }

  /** Empties a row for another metric. */
  clearRow(row: number): void {
    this.#reshapes++;
    this.#buckets.fill(NaN, this.#at(row, 0), this.#at(row + 1, 0));
    this.#newest[row] = -Infinity;
  }

  /** Adds a finite value; the time must not be before the epoch. */
  add(row: number, timeMs: number, value: number): void {
    const bucket = this.#placed(timeMs);
    if (bucket < this.#used - RECENT_BUCKETS) this.#reshapes++;
    const newestMs = this.#newest[row] ?? -Infinity;
    const isLate = timeMs < newestMs && bucket === this.#bucketOf(newestMs);
    if (timeMs >= newestMs) this.#newest[row] = timeMs;
    const number = Math.max(-FLOAT32_MAX, Math.min(FLOAT32_MAX, value));
    const last = isLate ? this.#buckets[this.#at(row, bucket) + LAST] ?? number : number;
    merge(this.#buckets, this.#at(row, bucket), number, number, last);
  }

  isEmpty(row: number): boolean {
    return this.#newest[row] === -Infinity;
  }

  /** Keeps fewer buckets from now on. */
  shrink(capacity: number): void {
    const end = this.#first + this.#used - 1;
    this.#lay(mergedFor(this.#first, end, capacity), this.#first, capacity);
  }

  /** Returns the points of a metric, by time; those of all rows begin at the same times. */
  points(
    row: number,
    { points = this.#capacity, fromMs = 0, toMs = Infinity }: PointsQuery = {},
  ): CurvePoint[] {
    const low = Math.max(0, this.#bucketOf(fromMs));
    const high = Math.min(this.#used - 1, this.#bucketOf(toMs));
    const merged = mergedFor(this.#first + low, this.#first + high, Math.max(1, points));
    const found: CurvePoint[] = [];
    for (let index = low; index <= high;) {
      const group = Math.floor((this.#first + index) / merged);
      const end = Math.min((group + 1) * merged - this.#first, high + 1);
      const point = this.#point(row, index, end, group * merged * this.#widthMs);
      if (point !== undefined) found.push(point);
      index = end;
    }
    return found;
  }

  /** Minimum, maximum and last of the buckets from one up to another as a point; undefined if they are empty. */
  #point(row: number, start: number, end: number, timeMs: number): CurvePoint | undefined {
    const buckets = this.#buckets;
    let [min, max, last] = [Infinity, -Infinity, NaN];
    for (let at = this.#at(row, start); at < this.#at(row, end); at += NUMBERS) {
      const newer = buckets[at + LAST] ?? NaN;
      if (Number.isNaN(newer)) continue;
      min = Math.min(min, buckets[at + MIN] ?? NaN);
      max = Math.max(max, buckets[at + MAX] ?? NaN);
      last = newer;
    }
    if (Number.isNaN(last)) return undefined;
    const shown = shownFloat(last);
    // Most buckets hold one sample.
    if (min === last && max === last) return [timeMs, shown, shown, shown];
    return [timeMs, shownFloat(min), shownFloat(max), shown];
  }

  #at(row: number, bucket: number): number {
    return (row * this.#capacity + bucket) * NUMBERS;
  }

  /** The bucket of a time, counted from the first one; it may be outside of those that are kept. */
  #bucketOf(timeMs: number): number {
    return Math.floor(timeMs / this.#widthMs) - this.#first;
  }

  /** Makes room for a time and returns its bucket. */
  #placed(timeMs: number): number {
    const bucket = this.#bucketOf(timeMs);
    if (this.#used > 0 && (bucket < 0 || bucket >= this.#capacity)) {
      const low = this.#first + Math.min(bucket, 0);
      const high = this.#first + Math.max(bucket, this.#used - 1);
      this.#lay(mergedFor(low, high, this.#capacity), low, this.#capacity);
      return this.#placed(timeMs);
    }
    if (this.#used === 0) this.#first += bucket;
    const index = this.#used === 0 ? 0 : bucket;
    this.#used = Math.max(this.#used, index + 1);
    return index;
  }

  /**
   * Merges so many neighbours into one, and lets the axis begin at the bucket that then holds `low`. With the same
   * capacity it is done in place: the curves of many jobs widen at about one time.
   */
  #lay(merged: number, low: number, capacity: number): void {
    this.#reshapes++;
    const first = Math.floor(low / merged);
    const isShrunk = capacity !== this.#capacity;
    const buckets = isShrunk ? emptyBuckets(this.#rows * capacity) : this.#buckets;
    for (let row = 0; row < this.#rows; row++) {
      oldRow.set(this.#buckets.subarray(this.#at(row, 0), this.#at(row, this.#used)));
      const start = row * capacity;
      buckets.fill(NaN, start * NUMBERS, (start + capacity) * NUMBERS);
      for (let index = 0; index < this.#used; index++) {
        const at = index * NUMBERS;
        const last = oldRow[at + LAST] ?? NaN;
        if (Number.isNaN(last)) continue;
        const { [at + MIN]: min = NaN, [at + MAX]: max = NaN } = oldRow;
        const target = Math.floor((this.#first + index) / merged) - first;
        merge(buckets, (start + target) * NUMBERS, min, max, last);
      }
    }
    if (this.#used > 0) {
      this.#used = Math.floor((this.#first + this.#used - 1) / merged) - first + 1;
    }
    // Frees the memory at once: it would wait for a collection, while that of other jobs is shrunk, too.
    if (isShrunk) this.#buckets.buffer.transfer(0);
    this.#buckets = buckets;
    this.#first = first;
    this.#widthMs *= merged;
    this.#capacity = capacity;
  }
}

/** Adds to the bucket that begins at `at`. */
function merge(buckets: Float32Array, at: number, min: number, max: number, last: number): void {
  const [low = NaN, high = NaN] = [buckets[at + MIN], buckets[at + MAX]];
  buckets[at + MIN] = low <= min ? low : min;
  buckets[at + MAX] = high >= max ? high : max;
  buckets[at + LAST] = last;
}
