/** Reports of the objective of one trial, by their steps, as pruners compare them. */
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";

/** Most steps of a trial whose values are kept; those that come later count only for its best value and its last step. */
export const MAX_STEPS = 4_096;
/** Most pods of a trial whose reports are counted. */
const MAX_PODS = 100;

/** One value of the objective. */
export interface ObjectiveReport {
  readonly value: number;
  /** The step that was pushed with it. Absent: its number among the pod's reports, from 1. */
  readonly step?: number | undefined;
  /** UID of the pod. Absent if the log does not say it: then it is of the pod that pushes next. */
  readonly pod?: string | undefined;
}

/** The reports of one trial. */
export type TrialReports = ReturnType<typeof createTrialReports>;

/** Creates {@link TrialReports}, of which there are none yet. With fewer steps their values are kept for nobody. */
export function createTrialReports(maxSteps = MAX_STEPS) {
  const values = new Map<number, number>();
  const counts = createBoundedCache<number>(MAX_PODS);
  /** Reports of a pod that is not known. */
  let uncounted = 0;
  let [lastStep, stepBefore] = [-1, -1];
  let valueAtLast = NaN;
  let newest: number | undefined;
  let [least, most] = [NaN, NaN];

  function countOf(pod: string | undefined): number {
    if (pod === undefined) return ++uncounted;
    const count = (counts.get(pod) ?? uncounted) + 1;
    uncounted = 0;
    counts.set(pod, count);
    return count;
  }

  return {
    /** Adds a report. Of each step the first value counts. */
    add({ value, step, pod }: ObjectiveReport): void {
      const at = step ?? countOf(pod);
      newest = value;
      const isFull = values.size >= maxSteps;
      if (values.has(at) || (isFull && at <= lastStep)) return;
      if (!isFull) values.set(at, value);
      if (at > lastStep) [stepBefore, lastStep, valueAtLast] = [lastStep, at, value];
      else if (at > stepBefore) stepBefore = at;
      if (Number.isNaN(value)) return;
      least = value > least ? least : value;
      most = value < most ? most : value;
    },
    /** The largest step, -1 before the first report; and the largest one but that. */
    get lastStep(): number {
      return lastStep;
    },
    get stepBefore(): number {
      return stepBefore;
    },
    /** The value at the largest step. */
    get valueAtLast(): number {
      return valueAtLast;
    },
    /** The value that came last; undefined before the first report. */
    get newest(): number | undefined {
      return newest;
    },
    /** Returns the best value so far; NaN if none was a number. */
    best: (isMinimized: boolean): number => isMinimized ? least : most,
    /** First values by step. */
    values: values as ReadonlyMap<number, number>,
  };
}
