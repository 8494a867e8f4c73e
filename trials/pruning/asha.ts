/** Asynchronous successive halving: stops a trial that is not among the best at a rung, as Optuna's SuccessiveHalvingPruner. Pure. */
import type { AshaSettings } from "../../crds/pruner.ts";
import { type PruningVerdict, rankOf } from "./pruning_verdict.ts";
import type { TrialReports } from "./trial_reports.ts";

/** Returns the steps of the lowest rung by the last steps of complete trials, for `auto`; undefined if there is none. */
export function autoResource(complete: readonly Pick<TrialReports, "lastStep">[]) {
  const last = Math.max(-1, ...complete.map(({ lastStep }) => lastStep));
  return last < 0 ? undefined : Math.max(1, Math.floor(last / 100));
}

/** The reports of a trial by which it is judged. */
export type RungReports = Pick<TrialReports, "lastStep" | "valueAtLast">;

/** Returns the step of a rung, the lowest of which is 0. */
export function rungStep(
  { reduction_factor: factor, min_early_stopping_rate: rate }: AshaSettings,
  resource: number,
  rung: number,
): number {
  return resource * factor ** (rate + rung);
}

/** What a trial is judged by. */
export interface AshaTrial {
  readonly reports: RungReports;
  /** Rungs that it has reached before. */
  readonly rungs: number;
  /** Returns the values that other trials have at a rung, whatever became of them. */
  readonly othersAt: (rung: number) => readonly number[];
  /** Steps of the lowest rung, with a rate of 0. */
  readonly resource: number;
}

/** Returns the rungs that the trial has reached by its last step, all with the value there, and why it is stopped, if it is. */
export function ashaVerdict(
  { reports: { lastStep: step, valueAtLast: value }, rungs, othersAt, resource }: AshaTrial,
  settings: AshaSettings,
  isMinimized: boolean,
): { readonly reached: number; readonly verdict?: PruningVerdict } {
  const { reduction_factor: factor, bootstrap_count } = settings;
  for (let reached = 0;; reached++) {
    const rung = rungs + reached;
    if (step < rungStep(settings, resource, rung)) return { reached };
    if (Number.isNaN(value)) return { reached, verdict: { pruner: "asha", step, value, rung } };
    const others = othersAt(rung);
    const count = others.length + 1;
    const among = { rank: rankOf(value, others, isMinimized), count };
    const stopped = { pruner: "asha", step, value, rung, among } as const;
    if (count <= bootstrap_count) return { reached: reached + 1, verdict: stopped };
    const sorted = [...others, value].sort((a, b) => isMinimized ? a - b : b - a);
    const limit = sorted[Math.max(0, Math.floor(count / factor) - 1)] ?? value;
    if (isMinimized ? value > limit : value < limit) {
      return { reached: reached + 1, verdict: { ...stopped, among: { ...among, limit } } };
    }
  }
}
