/** State of one search that has a pruner: reports and verdicts of its trials. No I/O. */
import type { PrunerSettings } from "../../crds/pruner.ts";
import type { PruningRecord } from "../../crds/trial_records.ts";
import {
  ashaVerdict,
  autoResource,
  type RungReports,
  rungStep,
} from "../../trials/pruning/asha.ts";
import { medianVerdict } from "../../trials/pruning/median.ts";
import { describePruning, type PruningVerdict } from "../../trials/pruning/pruning_verdict.ts";
import {
  createTrialReports,
  MAX_STEPS,
  type ObjectiveReport,
  type TrialReports,
} from "../../trials/pruning/trial_reports.ts";

/** Steps of a complete trial whose values are recorded: a hundred such trials fit into one ConfigMap. */
const MAX_RECORDED = 200;

/** Whether the log of a trial has more than its record. */
export const needsLog = (record: PruningRecord | undefined, keepsRuns: boolean): boolean =>
  record?.values === undefined || (keepsRuns && record.values.length >= MAX_RECORDED);

/** What is searched for, and by which pruner. */
export interface PrunedSearch {
  readonly pruner: PrunerSettings;
  readonly metric: string;
  readonly isMinimized: boolean;
}

/** A report, and its sortable time. */
export interface TimedReport extends ObjectiveReport {
  readonly time: string;
}

/** A trial of the search. */
interface SearchTrial {
  reports: TrialReports;
  /** The time of the last report. */
  reportedAt: string;
  /** The values that it had at the rungs that it has reached. */
  readonly rungs: number[];
  /** How it stood when it came to further rungs, by its log: that is judged next. */
  readonly reached: (RungReports & { readonly time: string })[];
  resource?: number | undefined;
  since?: string | undefined;
  /** Why it is stopped, in words, and when that was decided. */
  pruned?: string | undefined;
  time?: string | undefined;
  /** Whether its TrainJob has ended, and as complete. */
  hasEnded: boolean;
  hasCompleted: boolean;
  /** Whether it was judged since its log was read. */
  isJudged: boolean;
}

/** The state of one search. */
export type SearchState = ReturnType<typeof createSearchState>;

/** Creates the state, from what was recorded before. */
export function createSearchState(
  { pruner, metric, isMinimized }: PrunedSearch,
  records: ReadonlyMap<number, PruningRecord>,
) {
  /** Rungs compare no values by step. */
  const newReports = () => createTrialReports(pruner.kind === "asha" ? 0 : MAX_STEPS);
  const trials = new Map<number, SearchTrial>();
  /** Trials of which there is more to record. */
  const changed = new Set<number>();
  let resource = pruner.kind === "asha" && pruner.settings.min_resource !== "auto"
    ? pruner.settings.min_resource
    : undefined;
  /** The time of the report that found the resource: those before it were not judged. */
  let since = "";

  function trialOf(index: number): SearchTrial {
    const known = trials.get(index);
    if (known !== undefined) return known;
    const states = { hasEnded: false, hasCompleted: false, isJudged: false };
    const trial = { reports: newReports(), reportedAt: "", rungs: [], reached: [], ...states };
    trials.set(index, trial);
    return trial;
  }

  for (const [index, record] of records) {
    const { rungs = [], values, resource: found, since: foundAt, pruned, time } = record;
    const trial = Object.assign(trialOf(index), { resource: found, since: foundAt, pruned, time });
    trial.rungs.push(...rungs);
    for (const [step, value] of values ?? []) trial.reports.add({ step, value });
    trial.hasEnded = trial.hasCompleted = values !== undefined;
    if (found !== undefined && resource === undefined) [resource, since] = [found, foundAt ?? ""];
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
    const trial = trialOf(index);
    since = trial.reportedAt;
    Object.assign(trial, { resource, since });
    changed.add(index);
    return resource;
  }

  function judgeRungs(index: number, reports: RungReports): PruningVerdict | undefined {
    const resource = resourceBy(index);
    if (pruner.kind !== "asha" || resource === undefined) return undefined;
    const { rungs } = trialOf(index);
    const othersAt = (rung: number) =>
      [...trials].flatMap(([other, { rungs }]) => other === index ? [] : rungs[rung] ?? []);
    const judged = { reports, rungs: rungs.length, othersAt, resource };
    const { reached, verdict } = ashaVerdict(judged, pruner.settings, isMinimized);
    for (let count = 0; count < reached; count++) rungs.push(reports.valueAtLast);
    if (reached > 0) changed.add(index);
    return verdict;
  }

  /** Judges a trial as it stood with these reports. */
  function judgeAt(index: number, reports: TrialReports | RungReports, at: string | undefined) {
    const trial = trialOf(index);
    if (trial.pruned !== undefined) return;
    const verdict = pruner.kind === "asha"
      ? judgeRungs(index, reports)
      : at && medianVerdict(trial.reports, completeOnes(), pruner.settings, isMinimized);
    if (!verdict || at === undefined) return;
    trial.pruned = describePruning(verdict, metric);
    trial.time = at;
    changed.add(index);
  }

  function add(index: number, { time, ...report }: TimedReport): void {
    const trial = trialOf(index);
    trial.reports.add(report);
    trial.reportedAt = time;
  }

  /** Returns how many rungs a trial has reached at a step. */
  function rungsAt(step: number, before: number): number {
    if (pruner.kind !== "asha" || resource === undefined) return before;
    let count = before;
    while (step >= rungStep(pruner.settings, resource, count)) count++;
    return count;
  }

  return {
    /** Adds a report that is judged next. */
    add,
    /** Takes the reports of a trial's log in place of those before. Rungs that it came to are judged by {@link judgeRead}. */
    read(index: number, all: readonly TimedReport[]): void {
      const trial = trialOf(index);
      const isUnjudged = { hasEnded: false, hasCompleted: false, isJudged: false };
      Object.assign(trial, { reports: newReports(), reached: [], ...isUnjudged });
      let count = trial.rungs.length;
      for (const report of all) {
        add(index, report);
        const { time } = report;
        const { lastStep, valueAtLast } = trial.reports;
        const next = time < since ? count : rungsAt(lastStep, count);
        const isSame = Number.isNaN(valueAtLast) &&
          Number.isNaN(trial.reached.at(-1)?.valueAtLast);
        if (next === count || isSame) continue;
        trial.reached.push({ lastStep, valueAtLast, time });
        // One that is no number takes no place at a rung: the next one is judged there.
        if (!Number.isNaN(valueAtLast)) count = next;
      }
    },
    /** Judges the rungs to which logs came, which no owner has answered, in the order of their times. */
    judgeRead(at: (index: number) => string | undefined): void {
      const all = [...trials].flatMap(([index, { reached }]) =>
        reached.splice(0).map((it) => ({ ...it, index }))
      );
      all.sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0);
      for (const { index, ...reports } of all) judgeAt(index, reports, at(index));
    },
    /**
     * Judges a trial by its reports. `at` is the time of a verdict; undefined if the trial may not be stopped, whose rungs
     * count all the same. What was decided is not decided again.
     */
    judge(index: number, at: string | undefined): void {
      const trial = trialOf(index);
      trial.isJudged = true;
      if (trial.reports.newest !== undefined) judgeAt(index, trial.reports, at);
    },
    /** Whether a trial was judged by {@link judge} since its log was read. */
    isJudged: (index: number): boolean => trialOf(index).isJudged,
    /** Notes that the job of a trial has ended, so that its log need not be read again. */
    end(index: number, hasCompleted: boolean): void {
      const trial = trialOf(index);
      // One that was stopped has its verdict: nobody needs more of it.
      if (trial.hasEnded || (trial.pruned !== undefined && !hasCompleted)) return;
      Object.assign(trial, { hasEnded: true, hasCompleted });
      changed.add(index);
    },
    /** Returns what is to be recorded of the trials that have changed since the last call. */
    changes(): ReadonlyMap<number, PruningRecord> {
      const all = [...changed].map((index) => [index, recordOf(trialOf(index))] as const);
      changed.clear();
      return new Map(all);
    },
    /** How much it holds: the values by step of all trials, and what each trial has besides. */
    size: (): number =>
      [...trials.values()].reduce((sum, { reports }) => sum + 10 + reports.values.size, 1),
    /** What is known of all trials, as it is recorded. */
    records: (): ReadonlyMap<number, PruningRecord> =>
      new Map([...trials].map(([index, trial]) => [index, recordOf(trial)])),
  };

  /** Returns the values that others are compared with; of them `auto` needs only the last step. */
  function comparedOf(trial: SearchTrial): PruningRecord["values"] {
    const { values, lastStep, newest = NaN } = trial.reports;
    if (!isComplete(trial)) return [];
    return pruner.kind === "asha" ? [[lastStep, newest]] : [...values].slice(0, MAX_RECORDED);
  }

  function recordOf(trial: SearchTrial): PruningRecord {
    const { rungs, resource, since, pruned, time } = trial;
    return {
      ...(rungs.length > 0 && { rungs: [...rungs] }),
      ...(resource !== undefined && { resource, since }),
      ...(pruned !== undefined && { pruned, time }),
      ...(trial.hasEnded && { values: comparedOf(trial) }),
    };
  }
}
