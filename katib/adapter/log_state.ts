/** What a log says: what was recorded, how its rules stand, and its metrics in short. No I/O. */
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

/** What one sample reported, at the time of its rows. */
interface TimedReports {
  readonly time: string;
  readonly reports: readonly Report[];
}

/** A push on its way into the log. */
export interface TakenPush {
  /** Those that are new; none of a retry. */
  readonly rows: readonly ObservationRow[];
  readonly reports: readonly TimedReports[];
  readonly warnings: readonly string[];
  /** When the push arrived, wall-clock time in milliseconds. */
  readonly receivedMs: number;
}

/** The state of one log; after a write of unknown outcome it is made anew from the log. */
export interface LogState {
  /** What of a push is to be written; what is taken next is taken behind it. */
  take(push: ObservedPush): TakenPush;
  /** Answers what forgets all that is taken from now on: none of it came into the log. */
  mark(): () => void;
  /** It is in the log now: its rules are applied. */
  commit(taken: TakenPush): void;
  /** What is known of its samples, with those that were taken. */
  readonly recorded: RecordState;
  /** Present once the last rule was met. */
  readonly verdict: Verdict | undefined;
  /** Metrics of rules that no row holds. */
  unreported(): readonly string[];
  /** What the Trial's status is to say: of each metric min, max and latest. */
  observation(): readonly TrialMetric[];
  summary(): { readonly metrics: readonly MetricSummary[]; readonly rows: number };
}

/** Metrics and objective that are recorded. */
export function scopeOf({ objective, records, rules }: ObservationPlan): RecordScope {
  const ruled = rules.flatMap(({ name }) => typeof name === "string" ? [name] : []);
  const names = new Set([...objective ? [objective.name, ...objective.additional] : [], ...ruled]);
  return { ...(objective && { objective }), ...(records === "named" && { names }) };
}

function verdictOf(met: MetRule, time: string, heardMs: number | undefined): Verdict {
  const { rule, step, compared } = met;
  return {
    rule: { name: rule.name, comparison: rule.comparison, value: rule.text },
    value: compared,
    step,
    time,
    ...(heardMs !== undefined && { heardMs }),
    message: describeMet(met),
  };
}

/** Rows of the same time are of one sample; `reports` holds the value of each as it was pushed. */
function timed(rows: readonly ObservationRow[], reports: readonly Report[]): TimedReports[] {
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
 * Clocks differ by so much, in milliseconds. A pod that is ahead by less keeps its time in the log: its
 * retry comes when that time is past, is not moved, and has to be known by whoever reads the log.
 */
const AHEAD_MS = 1000;

/** The samples of a push, oldest first. */
function samplesOf({ earlier = [], trainerStatus, sentTimes, receivedMs }: ObservedPush) {
  return [...earlier, trainerStatus].map(({ lastUpdatedTime, metrics = [] }, index) => {
    const sentTime = sentTimes?.[index];
    if (sentTime === undefined) return { time: lastUpdatedTime, metrics };
    const aheadMs = Date.parse(sentTime) - receivedMs;
    const isNearly = aheadMs > 0 && aheadMs < AHEAD_MS;
    return { time: isNearly ? sentTime : lastUpdatedTime, metrics, sentTime };
  });
}

/** The state of a log with these rows; `before` is what this owner knew of it. */
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

  function apply({ time, reports }: TimedReports, heardMs?: number): void {
    const applied = applyReport(rules, reports);
    rules = applied.state;
    if (applied.stopped !== undefined) verdict ??= verdictOf(applied.stopped, time, heardMs);
  }

  for (const reported of timed(rows, rows)) apply(reported);
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
      return { rows, reports: timed(rows, reports), warnings, receivedMs: push.receivedMs };
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
