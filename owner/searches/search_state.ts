/** State of one search that has a pruner: reports and verdicts of its trials. No I/O. */
import type { PrunerSettings } from "../../crds/pruner.ts";
import type { PruningRecord } from "../../crds/trial_records.ts";
import { ashaVerdict, autoResource } from "../../trials/pruning/asha.ts";
import { medianVerdict } from "../../trials/pruning/median.ts";
import { describePruning, type PruningVerdict } from "../../trials/pruning/pruning_verdict.ts";
import { createTrialReports, type ObjectiveReport } from "../../trials/pruning/trial_reports.ts";

/** Steps of a complete trial whose values are recorded: a hundred such trials fit into one ConfigMap. */
const MAX_RECORDED = 200;

/** Whether a record has all values of a trial, which need not be read from its log. */
export const hasAllValues = ({ values }: PruningRecord): boolean =>
  values !== undefined && values.length < MAX_RECORDED;

/** What is searched for, and by which pruner. */
export interface PrunedSearch {
  readonly pruner: PrunerSettings;
  readonly metric: string;
  readonly isMinimized: boolean;
}

/** A trial of the search. */
interface SearchTrial {
  readonly reports: ReturnType<typeof createTrialReports>;
  /** The values that it had at the rungs that it has reached. */
  readonly rungs: number[];
  resource?: number | undefined;
  /** Why it is stopped, in words, and when that was decided. */
  pruned?: string | undefined;
  time?: string | undefined;
  /** Whether its TrainJob is complete. */
  hasCompleted: boolean;
}

/** The state of one search. */
export type SearchState = ReturnType<typeof createSearchState>;

/** Creates the state, from what was recorded before. */
export function createSearchState(
  { pruner, metric, isMinimized }: PrunedSearch,
  records: ReadonlyMap<number, PruningRecord>,
) {
  const trials = new Map<number, SearchTrial>();
  /** Trials of which there is more to record. */
  const changed = new Set<number>();
  let resource = pruner.kind === "asha" && pruner.settings.min_resource !== "auto"
    ? pruner.settings.min_resource
    : undefined;

  function trialOf(index: number): SearchTrial {
    const known = trials.get(index);
    if (known !== undefined) return known;
    const trial = { reports: createTrialReports(), rungs: [], hasCompleted: false };
    trials.set(index, trial);
    return trial;
  }

  for (const [index, { rungs = [], values, resource: found, pruned, time }] of records) {
    const trial = Object.assign(trialOf(index), { resource: found, pruned, time });
    trial.rungs.push(...rungs);
    for (const [step, value] of values ?? []) trial.reports.add({ step, value });
    trial.hasCompleted = values !== undefined;
    resource ??= found;
  }

  /** A job that has ended as complete, and whose objective is a number. */
  const isComplete = ({ hasCompleted, reports: { newest } }: SearchTrial) =>
    hasCompleted && newest !== undefined && !Number.isNaN(newest);
  const completeOnes = () => [...trials.values()].filter(isComplete).map(({ reports }) => reports);

  /** Returns the resource, found out once for the search by the first trial that can. */
  function resourceBy(index: number): number | undefined {
    if (resource !== undefined) return resource;
    resource = autoResource(completeOnes());
    if (resource === undefined) return undefined;
    trialOf(index).resource = resource;
    changed.add(index);
    return resource;
  }

  function judgeRungs(index: number): PruningVerdict | undefined {
    const resource = resourceBy(index);
    if (pruner.kind !== "asha" || resource === undefined) return undefined;
    const { reports, rungs } = trialOf(index);
    const othersAt = (rung: number) =>
      [...trials].flatMap(([other, { rungs }]) => other === index ? [] : rungs[rung] ?? []);
    const judged = { reports, rungs: rungs.length, othersAt, resource };
    const { reached, verdict } = ashaVerdict(judged, pruner.settings, isMinimized);
    for (let count = 0; count < reached; count++) rungs.push(reports.valueAtLast);
    if (reached > 0) changed.add(index);
    return verdict;
  }

  return {
    /** Adds a report that was judged before, or is judged next. */
    add: (index: number, report: ObjectiveReport): void => trialOf(index).reports.add(report),
    /**
     * Judges a trial by its reports. `at` is the time of a verdict; undefined if the trial may not be stopped, whose rungs
     * count all the same. What was decided is not decided again.
     */
    judge(index: number, at: string | undefined): void {
      const trial = trialOf(index);
      if (trial.pruned !== undefined || trial.reports.newest === undefined) return;
      const verdict = pruner.kind === "asha"
        ? judgeRungs(index)
        : at && medianVerdict(trial.reports, completeOnes(), pruner.settings, isMinimized);
      if (!verdict || at === undefined) return;
      trial.pruned = describePruning(verdict, metric);
      trial.time = at;
      changed.add(index);
    },
    /** Notes that the job of a trial is complete. */
    complete(index: number): void {
      const trial = trialOf(index);
      if (trial.hasCompleted) return;
      trial.hasCompleted = true;
      if (pruner.kind === "median" && isComplete(trial)) changed.add(index);
    },
    /** Returns what is to be recorded of the trials that have changed since the last call. */
    changes(): ReadonlyMap<number, PruningRecord> {
      const all = [...changed].map((index) => [index, recordOf(trialOf(index))] as const);
      changed.clear();
      return new Map(all);
    },
    /** What is known of all trials, as it is recorded. */
    records: (): ReadonlyMap<number, PruningRecord> =>
      new Map([...trials].map(([index, trial]) => [index, recordOf(trial)])),
  };

  function recordOf(trial: SearchTrial): PruningRecord {
    const { rungs, resource, pruned, time } = trial;
    const values = [...trial.reports.values].slice(0, MAX_RECORDED);
    return {
      ...(rungs.length > 0 && { rungs: [...rungs] }),
      ...(resource !== undefined && { resource }),
      ...(pruned !== undefined && { pruned, time }),
      ...(pruner.kind === "median" && isComplete(trial) && { values }),
    };
  }
}
