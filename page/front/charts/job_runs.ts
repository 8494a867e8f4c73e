/** Runs of a job: where its curves break, and at which steps their points stand. Pure. */
import type { BREAKS as Known, CurvePoint } from "../../../crds/wire/shown_curves.ts";
import type { Mark } from "../feed/view_answers_read.ts";

/** Marks between two runs; the values behind one of a pod begin at it. */
const BREAKS: readonly string[] = ["restarted", "resumed", "pod", "gap"] satisfies typeof Known;

interface Break {
  readonly timeMs: number;
  /** Whether the bucket that it is in ends with the new run. */
  readonly isFirstValue: boolean;
}

/** Returns the width of the buckets of points: they begin at multiples of it. */
export function bucketWidth(points: readonly CurvePoint[]): number {
  let width = 0;
  for (let [other] of points) {
    while (other > 0) [width, other] = [other, width % other];
  }
  return width;
}

/**
 * Returns breaks where the step falls to less than half of what it was: the count has begun anew. Smaller falls are ranks
 * that lag behind others.
 */
const falls = (steps: readonly CurvePoint[]): Break[] =>
  steps.filter(([, , , step], index) => step < (steps[index - 1]?.[3] ?? 0) / 2)
    .map(([timeMs]) => ({ timeMs, isFirstValue: true }));

/** Returns the runs of a job with these marks, and the points of its step. */
export function jobRuns(marks: readonly Mark[], steps: readonly CurvePoint[]) {
  const stepWidth = bucketWidth(steps);
  const marked = marks.filter(({ kind }) => BREAKS.includes(kind))
    .map(({ timeMs, kind }): Break => ({ timeMs, isFirstValue: kind === "pod" }));
  const breaks = [...marked, ...falls(steps)].sort((one, other) => one.timeMs - other.timeMs);

  /**
   * Returns the number of the run that a bucket, `widthMs` long, is of; runs are counted up. A bucket that has the end
   * of one run and may have the begin of another is between them: it has a half more than the first one.
   */
  function runOf(beginMs: number, widthMs: number): number {
    const until = breaks.filter(({ timeMs }) => timeMs <= beginMs || timeMs < beginMs + widthMs);
    const last = until.at(-1);
    const isBetween = last !== undefined && last.timeMs > beginMs && !last.isFirstValue;
    return until.length - (isBetween ? 0.5 : 0);
  }

  const places = steps.map(([timeMs, , , step]) => ({
    timeMs,
    step,
    run: runOf(timeMs, stepWidth),
  }));
  const byTime = new Map(places.map((it) => [it.timeMs, it.step]));
  const byRun = Map.groupBy(places, ({ run }) => Math.floor(run));
  return {
    runOf,
    /** Returns the step of a moment of a run; undefined if none is known. */
    stepAt(timeMs: number, run: number): number | undefined {
      const same = byTime.get(timeMs);
      if (same !== undefined) return same;
      const of = byRun.get(Math.floor(run)) ?? [];
      const next = of.find((it) => it.timeMs > timeMs);
      const before = of.findLast((it) => it.timeMs < timeMs);
      if (next === undefined || before === undefined) return before?.step;
      const part = (timeMs - before.timeMs) / (next.timeMs - before.timeMs);
      return before.step + part * (next.step - before.step);
    },
    /** Returns the step at which a mark stands: of the run that it is in, or ends, or of a pod that begins one. */
    stepOf({ timeMs, kind }: Mark): number | undefined {
      const at = steps.findLastIndex(([beginMs]) => beginMs <= timeMs);
      const [bucket, before = NaN] = [steps[at], steps[at - 1]?.[3]];
      if (bucket === undefined) return undefined;
      const [beginMs, min, max, last] = bucket;
      const isNewRun = marked.some((it) => it.timeMs >= timeMs && it.timeMs < beginMs + stepWidth);
      // The end of its bucket is of its own run.
      if (!isNewRun || last === max && !(min < before)) return last;
      if (kind === "pod") return min;
      // Steps are done again: within the bucket it fell, or all of the bucket is behind the fall.
      return last < max ? max : before;
    },
  };
}

/** The runs of a job. */
export type JobRuns = ReturnType<typeof jobRuns>;
