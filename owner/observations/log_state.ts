/** State of one log: recorded samples, rules, and summary of its metrics. No I/O. */
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { recordPush } from "../../trials/recording/record_push.ts";
import type { RecordState } from "../../trials/recording/record.ts";
import { replay, withSentTimes } from "../../trials/recording/replay.ts";
import type { RecordScope } from "../../trials/recording/pod_sample.ts";
import type { MetRule, Report } from "../../trials/rules/rule.ts";
import { describeMet } from "../../trials/rules/rules.ts";
import { createRunRules } from "../../trials/rules/run_rules.ts";
import { type PresentRun, runOf } from "../../trials/recording/present_run.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { Verdict } from "./stop_decision.ts";
import type { Push } from "../../crds/wire/push.ts";
import { createSummary } from "../../trials/recording/summary.ts";

/** The reports of one sample, with time and run of its rows. */
type TimedReports = ReturnType<typeof reportsByTime>[number];

/** A push whose rows are to be written. */
export interface TakenPush {
  /** The new rows; none for a retry. */
  readonly rows: readonly ObservationRow[];
  readonly reports: readonly TimedReports[];
  readonly warnings: readonly string[];
  /** Arrival of the push, in wall-clock milliseconds. */
  readonly receivedMs: number;
}

/** Returns the metrics that are recorded, and the objective whose values Katib reads: a Trial's. */
function scopeOf(plan: ObservationPlan): RecordScope {
  const { key, objective, records, rules, alsoRecorded = [] } = plan;
  const ruled = rules.map(({ name }) => name);
  const named = [...objective ? [objective.name, ...objective.additional] : [], ...ruled];
  const isRead = objective !== undefined && key.kind === "trial";
  const names = new Set([...named, ...alsoRecorded]);
  return { ...(isRead && { objective }), ...(records === "named" && { names }) };
}

function verdictOf(met: MetRule, time: string, receivedMs: number | undefined): Verdict {
  const decided = { metric: met.rule.name, time, message: describeMet(met) };
  return { ...decided, ...(receivedMs !== undefined && { receivedMs }) };
}

/** Groups reports by the time of their rows: rows of the same time are of one sample. */
function reportsByTime(rows: readonly ObservationRow[], reports: readonly Report[]) {
  const all: { time: string; run: string | undefined; reports: Report[] }[] = [];
  for (const [index, { time, run, step }] of rows.entries()) {
    const pushed = reports[index];
    if (pushed === undefined) continue;
    const report = step === undefined ? pushed : { ...pushed, step };
    const last = all.at(-1);
    if (last?.time === time && last.run === run) last.reports.push(report);
    else all.push({ time, run, reports: [report] });
  }
  return all;
}

/**
 * Tolerated clock skew, in milliseconds. A pod whose clock is ahead by less keeps its times in the log: its
 * retry arrives when that time has passed, is not clamped, and must be recognized from the log.
 */
const AHEAD_MS = 1000;

/** Returns the samples of a push, oldest first. */
function samplesOf({ earlier = [], trainerStatus, sentTimes, receivedMs }: Push) {
  return [...earlier, trainerStatus].map(({ lastUpdatedTime, metrics = [], step }, index) => {
    const measured = { metrics, ...(step !== undefined && { step }) };
    const sentTime = sentTimes?.[index];
    if (sentTime === undefined) return { time: lastUpdatedTime, ...measured };
    const aheadMs = Date.parse(sentTime) - receivedMs;
    const isTolerated = aheadMs > 0 && aheadMs < AHEAD_MS;
    return { time: isTolerated ? sentTime : lastUpdatedTime, ...measured, sentTime };
  });
}

/** Returns the earlier verdict if it is the same, since it knows when the deciding push arrived. */
function sameVerdict(verdict: Verdict, before: Verdict | undefined): Verdict {
  return before?.time === verdict.time && before.metric === verdict.metric ? before : verdict;
}

/** The state of one log; after a write of unknown outcome it is replayed from the log. */
export type LogState = ReturnType<typeof createLogState>;

/** Creates the state of a log with these rows. */
export function createLogState(
  plan: ObservationPlan,
  rows: readonly ObservationRow[],
  { present, keepsRuns, before }: {
    /** The run that rows without one belong to. */
    readonly present: PresentRun;
    /** Whether the log keeps the run of each row; if not, rows are judged only by the present run. */
    readonly keepsRuns: boolean;
    /** This owner's previous state of the log. */
    readonly before?: LogState | undefined;
  },
) {
  const read = replay(scopeOf(plan), rows);
  let recorded = before === undefined ? read : withSentTimes(read, before.recorded);
  const rules = createRunRules(plan.objective, plan.rules, plan.stopsAt);
  let verdict: Verdict | undefined;
  const summary = createSummary();

  function apply({ time, run, reports }: TimedReports, receivedMs?: number): void {
    const met = rules.apply(runOf({ time, run }, present), reports);
    if (met !== undefined) verdict ??= verdictOf(met, time, receivedMs);
  }

  for (const reported of reportsByTime(rows, rows)) apply(reported);
  if (verdict !== undefined) verdict = sameVerdict(verdict, before?.verdict);
  rows.forEach(summary.add);

  return {
    /** Returns a function that forgets all pushes taken from now on, if none of them came into the log. */
    mark(): () => void {
      const before = recorded;
      return () => recorded = before;
    },
    /** Records a push, after those that were taken before. Returns the rows to write. */
    take(push: Push): TakenPush {
      const { pod, sequence } = push;
      const samples = samplesOf(push);
      const result = recordPush(recorded, {
        pod: pod.uid,
        samples,
        ...(sequence !== undefined && { sequence }),
      });
      recorded = result.state;
      const { reports, warnings } = result;
      const rows = keepsRuns ? result.rows.map((row) => ({ ...row, run: pod.uid })) : result.rows;
      return { rows, reports: reportsByTime(rows, reports), warnings, receivedMs: push.receivedMs };
    },
    /** Applies the rules to a push that is in the log now. */
    commit(taken: TakenPush): void {
      for (const reported of taken.reports) apply(reported, taken.receivedMs);
      taken.rows.forEach(summary.add);
    },
    /** The run that rows without one belong to. */
    present,
    /** The recorded samples, with those of pushes that were taken. */
    get recorded(): RecordState {
      return recorded;
    },
    /** Present once a run met its last rule. */
    get verdict(): Verdict | undefined {
      return verdict;
    },
    /** Returns the metrics of rules that were never reported. */
    unreported: rules.unreported,
    /** Returns minimum, maximum and latest of each metric, for the Trial's status. */
    observation: () => summary.observation(plan.objective),
    /** Returns what is known of each metric, sorted by name. */
    metrics: summary.metrics,
  };
}
