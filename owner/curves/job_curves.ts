/** Curves of one job: a bounded series of each metric, of its progress and of its step, and marks. */
import { readGoFloat } from "../../platform/base/go_float.ts";
import { PUSH_LIMITS } from "../../crds/names.ts";
import { boundedText } from "./bounded_text.ts";
import type { Curve, CurveMark, CurvePoint } from "../../crds/wire/shown_curves.ts";
import { withStep } from "./bucket_points.ts";
import { MarkList } from "./marks.ts";
import { type PushingPod, PushingPods } from "./pushing_pods.ts";
import { type PointsQuery, Series } from "./series.ts";

/** One sample of a job: values at one time. */
export interface CurveSample {
  readonly timeMs: number;
  /** The values are decimal numbers, NaN or infinity; others are skipped. */
  readonly metrics: readonly { readonly name: string; readonly value: string }[];
  /** 0 to 100. */
  readonly progress?: number | undefined;
  /** Of the training, as the pod counts it. */
  readonly step?: number | undefined;
}

/** Bounds of one job. */
export const JOB_CURVE_LIMITS = {
  /** Metrics besides progress and step. */
  metrics: 32,
  /** Bytes of a name; one that is longer is not kept. */
  nameBytes: 4 * PUSH_LIMITS.metricNameLength,
  /**
   * A metric gives way to a new one when so many samples came without it. Until then new ones are not kept:
   * of a job that always reports more metrics than there is room for, a few shall be whole.
   */
  idleSamples: 100,
  /** Samples that a pod pushes and that are older are not kept: the clock that gave them a time was wrong. */
  ageMs: 366 * 24 * 3_600_000,
} as const;

/** Names of the curves of the progress and of the step; metrics may have the same. */
export const PROGRESS = "progress";
export const STEP = "step";

/** Bytes of the objects of a job, and of one metric, as measured (`deno task bench page`). */
const JOB_BYTES = 480;
const METRIC_BYTES = 104;

/** A question for the curves of a job. */
export interface CurvesQuery extends PointsQuery {
  /** Names; {@link PROGRESS} and {@link STEP} mean those of the job, too. Default: all. */
  readonly metrics?: readonly string[] | undefined;
}

/** A row of the series. */
interface Track {
  readonly row: number;
  /** The count of samples when it was last in one. */
  seen: number;
  /** The row with the steps of its samples; absent while it was in each sample with a step: the bucket's step is its own. */
  steps?: number | undefined;
}

/** What is kept of a metric. */
interface Row extends Track {
  readonly name: string;
  /** When it was no finite number; absent until it was one. */
  nonFinite?: Track | undefined;
}

/** Shared by the jobs that have none. */
const NONE: readonly never[] = [];

/** The same text; V8 keeps the names of properties once, and ten thousand jobs have a `loss`. */
function sharedText(text: string): string {
  return Object.keys({ [text]: 0 })[0] ?? text;
}

/** What stands for a value that is not finite in the curve of such values. */
export const nonFiniteCode = (value: number): number => Number.isNaN(value) ? 0 : Math.sign(value);

export class CurvesOfJob {
  readonly #series: Series;
  readonly #marks = new MarkList();
  readonly #pods = new PushingPods();
  /** In the order in which they were named first. */
  #metrics: readonly Row[] = NONE;
  #progress: Row | undefined;
  #step: Row | undefined;
  #samples = 0;
  #nameBytes = 0;
  /** Marks of pods that may be found to push beside others. */
  #joins: readonly CurveMark[] = NONE;

  /** `buckets`: most of them in each series. */
  constructor(buckets: number) {
    this.#series = new Series(buckets);
  }

  /** Bytes that all this takes, about. */
  get bytes(): number {
    const rows = this.#metrics.length * METRIC_BYTES + this.#nameBytes;
    return JOB_BYTES + this.#series.bytes + this.#marks.bytes + this.#pods.bytes + rows;
  }

  /** Whether a pod of that UID has pushed. */
  isPushedBy(podUid: string): boolean {
    return this.#pods.has(podUid);
  }

  get hasSamples(): boolean {
    return this.#metrics.length > 0 || (this.#progress ?? this.#step) !== undefined;
  }

  get buckets(): number {
    return this.#series.capacity;
  }

  shrink(buckets: number): void {
    this.#series.shrink(buckets);
  }

  get marks(): readonly CurveMark[] {
    return this.#marks.all;
  }

  /**
   * Returns whether anything has changed. What is said to be later than now counts as now. Without a pod the
   * samples are from a log, which does not say who pushed them.
   */
  record(pod: PushingPod | undefined, samples: readonly CurveSample[], nowMs: number): boolean {
    const oldestMs = pod === undefined ? 0 : Math.max(0, nowMs - JOB_CURVE_LIMITS.ageMs);
    let isChanged = false;
    for (const { timeMs: saidMs, metrics, progress, step } of samples) {
      const timeMs = Math.min(saidMs, nowMs);
      // Not a number, either.
      if (!(timeMs >= oldestMs)) continue;
      this.#samples++;
      if (pod !== undefined && this.#note(pod, timeMs)) isChanged = true;
      metrics.forEach(({ name, value: text }, index) => {
        const { value } = readGoFloat(text) ?? {};
        const row = value === undefined ? undefined : this.#rowOf(name, index, metrics.length);
        if (value === undefined || row === undefined) return;
        this.#add(row, timeMs, value, step);
        isChanged = true;
      });
      if (progress !== undefined && Number.isFinite(progress)) {
        this.#progress ??= { name: PROGRESS, ...this.#newTrack() };
        this.#add(this.#progress, timeMs, progress, step);
        isChanged = true;
      }
      if (step !== undefined && Number.isFinite(step)) {
        this.#part();
        this.#step ??= { name: STEP, ...this.#newTrack() };
        this.#add(this.#step, timeMs, step);
        isChanged = true;
      }
    }
    return isChanged;
  }

  /** Returns whether it is a new mark. */
  mark(mark: CurveMark, nowMs: number): boolean {
    const timeMs = Math.min(mark.timeMs, nowMs);
    return timeMs >= 0 && this.#marks.add({ ...mark, timeMs }) !== undefined;
  }

  /** Takes the marks of a kind away. Returns whether there were any. */
  unmark(kind: CurveMark["kind"]): boolean {
    return this.#marks.removeAll(kind);
  }

  curves({ metrics, ...part }: CurvesQuery): Curve[] {
    const rows = [...this.#metrics, this.#progress, this.#step].filter((it) => it !== undefined);
    return rows.filter(({ name }) => metrics?.includes(name) ?? true).flatMap((row) => {
      const { name, nonFinite } = row;
      const curve = {
        name,
        ...(row === this.#progress && { isProgress: true as const }),
        ...(row === this.#step && { isStep: true as const }),
        points: this.#points(row, part),
      };
      if (nonFinite === undefined || this.#series.isEmpty(nonFinite.row)) return [curve];
      return [curve, { name, isNonFinite: true, points: this.#points(nonFinite, part) }];
    });
  }

  get widthMs(): number {
    return this.#series.widthMs;
  }

  /** See {@link Series.reshapes}. */
  get reshapes(): number {
    return this.#series.reshapes;
  }

  /** See {@link Series.recentMs}. */
  get recentMs(): number {
    return this.#series.recentMs;
  }

  /** The points of a row, with the steps of their last samples where it has its own. */
  #points({ row, steps }: Track, part: PointsQuery): CurvePoint[] {
    const points = this.#series.points(row, part);
    if (steps === undefined) return points;
    const byTime = new Map(this.#series.points(steps, part).map((it) => [it[0], it[3]]));
    return points.map((it) => withStep(it, byTime.get(it[0])));
  }

  /** A row that is new; after samples with a step it has steps of its own. */
  #newTrack(expected = 0): Track {
    const row = this.#series.addRow(expected);
    return { row, seen: 0, steps: this.#step && this.#series.addRow() };
  }

  #add(row: Row, timeMs: number, value: number, step?: number): void {
    if (Number.isFinite(value)) return this.#put(row, timeMs, value, step);
    row.nonFinite ??= this.#newTrack();
    this.#put(row.nonFinite, timeMs, nonFiniteCode(value), step);
  }

  #put(track: Track, timeMs: number, value: number, step = NaN): void {
    track.seen = this.#samples;
    this.#series.add(track.row, timeMs, value);
    if (track.steps !== undefined && Number.isFinite(step)) {
      this.#series.add(track.steps, timeMs, step);
    }
  }

  /** Gives steps of their own to the rows that are not in the newest sample: until now they were in each that has one. */
  #part(): void {
    const rows = [...this.#metrics, ...(this.#progress ? [this.#progress] : [])];
    for (const track of rows.flatMap((it) => it.nonFinite ? [it, it.nonFinite] : [it])) {
      if (track.seen === this.#samples || track.steps !== undefined) continue;
      track.steps = this.#series.addRow();
      const times = new Set(this.#series.points(track.row).map(([timeMs]) => timeMs));
      for (const [timeMs, , , step] of this.#step ? this.#series.points(this.#step.row) : []) {
        if (times.has(timeMs)) this.#series.add(track.steps, timeMs, step);
      }
    }
  }

  /** Marks a change of pod. Returns whether the marks have changed. */
  #note(pod: PushingPod, timeMs: number): boolean {
    const change = this.#pods.pushed(pod);
    if (change === "same") return false;
    if (change === "returned") {
      const joins = this.#joins;
      this.#joins = NONE;
      joins.forEach((it) => this.#marks.remove(it));
      return joins.length > 0;
    }
    const mark = this.#marks.add({ timeMs, kind: "pod", text: pod.name });
    if (mark && change === "joined") this.#joins = [...this.#joins, mark];
    return mark !== undefined;
  }

  /**
   * The row of a metric, the one with this index in its sample of so many; undefined if there is no room for it. Pods name
   * their metrics in one order.
   */
  #rowOf(name: string, index: number, named: number): Row | undefined {
    const expected = this.#metrics[index];
    if (expected?.name === name) return expected;
    return this.#metrics.find((it) => it.name === name) ?? this.#newRow(name, named);
  }

  #newRow(whole: string, named: number): Row | undefined {
    const { text: name, bytes, isWhole } = boundedText(whole, JOB_CURVE_LIMITS.nameBytes);
    if (name === "" || !isWhole) return undefined;
    const most = JOB_CURVE_LIMITS.metrics;
    const rows = this.#metrics.length < most
      ? this.#newTrack(Math.min(named, most) + 1)
      : this.#givenWay();
    if (rows === undefined) return undefined;
    const metric: Row = { name: sharedText(name), ...rows };
    // Not push(), which would reserve room for some twenty more.
    this.#metrics = [...this.#metrics, metric];
    this.#nameBytes += bytes;
    return metric;
  }

  /** Frees the rows of the metric that was missing longest, if that is long enough. */
  #givenWay(): Omit<Row, "name"> | undefined {
    const seenOf = ({ seen, nonFinite }: Row) => Math.max(seen, nonFinite?.seen ?? 0);
    const idle = this.#metrics.reduce((one, other) => seenOf(other) < seenOf(one) ? other : one);
    if (this.#samples - seenOf(idle) < JOB_CURVE_LIMITS.idleSamples) return undefined;
    this.#metrics = this.#metrics.filter((it) => it !== idle);
    this.#nameBytes -= boundedText(idle.name, JOB_CURVE_LIMITS.nameBytes).bytes;
    const { row, steps = this.#step && this.#series.addRow(), nonFinite } = idle;
    for (const it of [row, steps, nonFinite?.row, nonFinite?.steps]) {
      if (it !== undefined) this.#series.clearRow(it);
    }
    return { row, steps, nonFinite, seen: 0 };
  }
}
