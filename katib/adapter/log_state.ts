/** State of one log: recorded samples, rules, and summary of its metrics. No I/O. */
import type { TrialMetric } from "../../crds/trial.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { recordPush } from "../../trials/recording/record_push.ts";
import type { RecordState } from "../../trials/recording/record.ts";
import { replay, withSentTimes } from "../../trials/recording/replay.ts";
import type { RecordScope } from "../../trials/recording/sample.ts";
import type { MetRule, Report } from "../../trials/rules/rule.ts";
import {
  applyReport,
  describeMet,
  startRules,
  unreportedMetrics,
} from "../../trials/rules/rules.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { ObservedPush, Verdict } from "./adapter.ts";
import type { MetricSummary } from "../../trials/recording/summary.ts";
import { createSummary } from "../../trials/recording/summary.ts";

/** The reports of one sample, with the time of its rows. */
interface TimedReports {
  readonly time: string;
  readonly reports: readonly Report[];
}

/** A push whose rows are to be written. */
export interface TakenPush {
  /** The new rows; none for a retry. */
  readonly rows: readonly ObservationRow[];
  readonly reports: readonly TimedReports[];
  readonly warnings: readonly string[];
  /** Arrival of the push, in wall-clock milliseconds. */
  readonly receivedMs: number;
}

/** The state of one log; after a write of unknown outcome it is replayed from the log. */
export interface LogState {
  /** Records a push, after those that were taken before. Returns the rows to write. */
  take(push: ObservedPush): TakenPush;
  /** Returns a function that forgets all pushes taken from now on, if none of them came into the log. */
  mark(): () => void;
  /** Applies the rules to a push that is in the log now. */
  commit(taken: TakenPush): void;
  /** The recorded samples, with those of pushes that were taken. */
  readonly recorded: RecordState;
  /** Present once the last rule was met. */
  readonly verdict: Verdict | undefined;
  /** Returns the metrics of rules that were never reported. */
  unreported(): readonly string[];
  /** Returns minimum, maximum and latest of each metric, for the Trial's status. */
  observation(): readonly TrialMetric[];
  summary(): { readonly metrics: readonly MetricSummary[]; readonly rows: number };
}

/** Returns the objective and metrics that are recorded. */
function scopeOf({ objective, records, rules }: ObservationPlan): RecordScope {
  const ruled = rules.flatMap(({ name }) => typeof name === "string" ? [name] : []);
  const names = new Set([...objective ? [objective.name, ...objective.additional] : [], ...ruled]);
  return { ...(objective && { objective }), ...(records === "named" && { names }) };
}

function verdictOf(met: MetRule, time: string, receivedMs: number | undefined): Verdict {
  const { rule, step, compared } = met;
  return {
    rule: { name: rule.name, comparison: rule.comparison, value: rule.text },
    value: compared,
    step,
    time,
    ...(receivedMs !== undefined && { receivedMs }),
    message: describeMet(met),
  };
}

/** Groups reports by the time of their rows: rows of the same time are of one sample. */
function reportsByTime(
  rows: readonly ObservationRow[],
  reports: readonly Report[],
): TimedReports[] {
  const all: { time: string; reports: Report[] }[] = [];
  for (const [index, { time }] of rows.entries()) {
    const report = reports[index];
    if (report === undefined) continue;
    const last = all.at(-1);
    if (last?.time === time) last.reports.push(report);
    else all.push({ time, reports: [report] });
  }
  return all;
}

/**
 * Tolerated clock skew, in milliseconds. A pod whose clock is ahead by less keeps its times in the log: its
 * retry arrives when that time has passed, is not clamped, and must be recognized from the log.
 */
const AHEAD_MS = 1000;

/** Returns the samples of a push, oldest first. */
function samplesOf({ earlier = [], trainerStatus, sentTimes, receivedMs }: ObservedPush) {
  return [...earlier, trainerStatus].map(({ lastUpdatedTime, metrics = [] }, index) => {
    const sentTime = sentTimes?.[index];
    if (sentTime === undefined) return { time: lastUpdatedTime, metrics };
    const aheadMs = Date.parse(sentTime) - receivedMs;
    const isTolerated = aheadMs > 0 && aheadMs < AHEAD_MS;
    return { time: isTolerated ? sentTime : lastUpdatedTime, metrics, sentTime };
  });
}

/** Creates the state of a log with these rows; `before` is this owner's previous state of it. */
export function createLogState(
  plan: ObservationPlan,
  rows: readonly ObservationRow[],
  before?: LogState,
): LogState {
  const read = replay(scopeOf(plan), rows);
  let recorded = before === undefined ? read : withSentTimes(read, before.recorded);
  let { state: rules } = startRules(plan.objective, plan.rules);
  let verdict: Verdict | undefined;
  const summary = createSummary();

  function apply({ time, reports }: TimedReports, receivedMs?: number): void {
    const applied = applyReport(rules, reports);
    rules = applied.state;
    if (applied.stopped !== undefined) verdict ??= verdictOf(applied.stopped, time, receivedMs);
  }

  for (const reported of reportsByTime(rows, rows)) apply(reported);
  rows.forEach(summary.add);

  return {
    mark() {
      const before = recorded;
      return () => recorded = before;
    },
    take(push) {
      const { pod, sequence } = push;
      const samples = samplesOf(push);
      const result = recordPush(recorded, {
        pod: pod.uid,
        samples,
        ...(sequence !== undefined && { sequence }),
      });
      recorded = result.state;
      const { rows, reports, warnings } = result;
      return { rows, reports: reportsByTime(rows, reports), warnings, receivedMs: push.receivedMs };
    },
    commit(taken) {
      for (const reported of taken.reports) apply(reported, taken.receivedMs);
      taken.rows.forEach(summary.add);
    },
    get recorded() {
      return recorded;
    },
    get verdict() {
      return verdict;
    },
    unreported: () => unreportedMetrics(rules),
    observation: () => summary.observation(plan.objective),
    summary: () => ({ metrics: summary.metrics(), rows: summary.rows() }),
  };
}
