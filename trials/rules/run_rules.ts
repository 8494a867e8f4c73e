/** Early-stopping rules of each run of a log: a run begins with no report, as Katib's collector does. */
import type { MetRule, Objective, Report, StoppingRule, StopsAt } from "./rule.ts";
import { applyReport, type RulesState, startRules, unreportedMetrics } from "./rules.ts";

/** Most runs whose state is kept. Of more the one that was silent longest begins anew if it reports again. */
const RUNS_MAX = 1_000;

/** Creates the rules of all runs of a log, before the first report. */
export function createRunRules(
  objective: Objective | undefined,
  rules: readonly StoppingRule[],
  stopsAt: StopsAt = "all",
) {
  const fresh = startRules(objective, rules, stopsAt);
  /** By UID of the pod; the run that reported last comes last. */
  const runs = new Map<string, RulesState>();
  let unknown = fresh;

  return {
    /**
     * Applies reports of a run, in their order. Returns the report that decided the run's stop, if there is one.
     * Reports of no known run, `undefined`, stop nothing.
     */
    apply(run: string | undefined, reports: readonly Report[]): MetRule | undefined {
      if (fresh.open.length === 0) return undefined;
      if (run === undefined) {
        unknown = applyReport(unknown, reports).state;
        return undefined;
      }
      const { state } = applyReport(runs.get(run) ?? fresh, reports);
      runs.delete(run);
      runs.set(run, state);
      const [silent] = runs.keys();
      if (runs.size > RUNS_MAX && silent !== undefined) runs.delete(silent);
      return state.stopped;
    },
    /** Returns the metrics of rules that no run has reported. */
    unreported: (): string[] =>
      [...runs.values()].reduce(
        (names, state) => {
          const unreported = unreportedMetrics(state);
          return names.filter((name) => unreported.includes(name));
        },
        unreportedMetrics(unknown),
      ),
  };
}
