/** Median pruner: stops a trial whose best value is worse than the median of complete trials at its step, as Optuna's MedianPruner. Pure. */
import type { MedianSettings } from "../../crds/pruner.ts";
import { type PruningVerdict, rankOf } from "./pruning_verdict.ts";
import type { TrialReports } from "./trial_reports.ts";

/**
 * Returns the median of numbers, interpolated as NumPy's `nanpercentile` does it, whose result is NaN next to an
 * infinite value.
 */
export function medianOf(values: readonly number[]): number {
  const sorted = values.filter((it) => !Number.isNaN(it)).sort((a, b) => a - b);
  const place = (sorted.length - 1) / 2;
  const low = sorted[Math.floor(place)] ?? NaN;
  const high = sorted[Math.min(Math.floor(place) + 1, sorted.length - 1)] ?? NaN;
  return place % 1 === 0 ? low + (high - low) * 0 : high - (high - low) * 0.5;
}

/** What is known of a trial that is judged, or compared with. */
type Judged = Pick<TrialReports, "lastStep" | "stepBefore" | "best">;
type Compared = Pick<TrialReports, "values">;

/** Whether the last report is the first one of its interval. */
function isFirstOfInterval(
  { lastStep, stepBefore }: Judged,
  { n_warmup_steps: warmup, interval_steps: interval }: MedianSettings,
): boolean {
  return stepBefore < Math.floor((lastStep - warmup) / interval) * interval + warmup;
}

/** Returns why a trial is stopped at its last step; undefined if it goes on. `complete` are the trials that are complete. */
export function medianVerdict(
  trial: Judged,
  complete: readonly Compared[],
  settings: MedianSettings,
  isMinimized: boolean,
): PruningVerdict | undefined {
  const { lastStep: step } = trial;
  if (complete.length === 0 || complete.length < settings.n_startup_trials) return undefined;
  if (step < 0 || step < settings.n_warmup_steps) return undefined;
  if (!isFirstOfInterval(trial, settings)) return undefined;
  const value = trial.best(isMinimized);
  if (Number.isNaN(value)) return { pruner: "median", step, value };
  const others = complete.flatMap(({ values }) => values.get(step) ?? []);
  if (others.length < settings.n_min_trials) return undefined;
  const limit = medianOf(others);
  if (!(isMinimized ? value > limit : value < limit)) return undefined;
  const rank = rankOf(value, others, isMinimized);
  return { pruner: "median", step, value, among: { rank, count: others.length + 1, limit } };
}
