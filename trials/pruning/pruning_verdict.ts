/** Verdict of a pruner on a trial, and its words. */

/** Why a trial is stopped. */
export interface PruningVerdict {
  readonly pruner: "median" | "asha";
  /** The step at which it was judged. */
  readonly step: number;
  /** The value that was compared; NaN if there was none to compare. */
  readonly value: number;
  /** The rung at which it fell behind. */
  readonly rung?: number;
  /** What it was compared with; absent for NaN. */
  readonly among?: {
    /** Its place, the best being 1, and the number of values, its own included. */
    readonly rank: number;
    readonly count: number;
    /** The value that it had to reach; absent where no value of a rung goes on yet. */
    readonly limit?: number;
  };
}

/** Returns the place of a value among others, of which the best has place 1. */
export function rankOf(value: number, others: readonly number[], isMinimized: boolean): number {
  return 1 + others.filter((it) => isMinimized ? it < value : it > value).length;
}

/** Says the verdict for people: in the job's condition, in events and in answers to its pods. */
export function describePruning(verdict: PruningVerdict, metric: string): string {
  const { pruner, step, value, rung, among } = verdict;
  const where = rung === undefined ? `at step ${step}` : `at step ${step}, rung ${rung}`;
  if (among === undefined) return `pruner ${pruner}: ${metric} is not a number ${where}`;
  const { rank, count, limit } = among;
  const what = pruner === "median" ? `the best ${metric} so far, ${value},` : `${metric} ${value}`;
  const place = `is number ${rank} of ${count} ${where}`;
  if (limit === undefined) return `pruner ${pruner}: ${what} ${place}, where none goes on yet`;
  const bound = pruner === "median" ? `the median is ${limit}` : `${limit} goes on`;
  return `pruner ${pruner}: ${what} ${place}, where ${bound}`;
}
