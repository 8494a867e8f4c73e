/**
 * Short logs in memory for jobs with neither trial nor annotation. They are written synchronously, since such
 * jobs are most of a cluster's, and nobody may ever read their logs.
 */
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { contentOf } from "../../trials/recording/content.ts";
import { microsOf, timeOf } from "../../trials/recording/micros.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { LogSnapshot } from "./observations.ts";
import type { LogRange } from "./sink.ts";
import type { PushAnswer } from "../../crds/wire/push_answer.ts";
import type { Push } from "../../crds/wire/push.ts";
import { partOf } from "./log_parts.ts";
import { createSummary, type Summary } from "../../trials/recording/summary.ts";

interface PlainLog {
  readonly rows: ObservationRow[];
  readonly summary: Summary;
  lastMicros: bigint;
  /** The last sample as it was pushed, by which a retry is recognized. */
  lastPushed: string;
  pod: string;
}

/** Rows that every log may have, whatever the number of logs. */
const ROWS_AT_LEAST = 16;
const ALL = {};

/** The logs, by the UID of their TrainJobs. */
export type PlainLogs = ReturnType<typeof createPlainLogs>;

/** Creates {@link PlainLogs}, empty. */
export function createPlainLogs({ maxLogs = 20_000, maxRows = 2_000, maxRowsInAll = 200_000 }: {
  /** Most logs; the least recently used ones are dropped. Default 20000. */
  readonly maxLogs?: number;
  /** Most rows of one log, which loses its oldest ones. Default 2000. */
  readonly maxRows?: number;
  /** Most rows of all logs; each gets an equal share of them, and at least 16. Default 200000. */
  readonly maxRowsInAll?: number;
} = {}) {
  const logs = createBoundedCache<PlainLog>(maxLogs);

  function logOf({ job }: ObservationPlan): PlainLog {
    const known = logs.get(job.uid);
    if (known !== undefined) return known;
    const log = { rows: [], summary: createSummary(), lastMicros: 0n, lastPushed: "", pod: "" };
    logs.set(job.uid, log);
    return log;
  }

  /** Drops old rows, many at once, so that it is seldom necessary. */
  function makeRoom({ rows }: PlainLog): void {
    const share = Math.floor(maxRowsInAll / Math.max(1, logs.size));
    const room = Math.max(ROWS_AT_LEAST, Math.min(maxRows, share));
    if (rows.length > room) rows.splice(0, rows.length - Math.ceil(room * 0.75));
  }

  function record(
    log: PlainLog,
    { uid: run }: Push["pod"],
    { metrics = [], step, lastUpdatedTime }: Push["trainerStatus"],
  ): readonly string[] {
    const { content, warnings } = contentOf(ALL, metrics);
    const pushed = `${lastUpdatedTime} ${log.pod} ${JSON.stringify(content)}`;
    if (content.length === 0 || pushed === log.lastPushed) return warnings;
    const micros = microsOf(lastUpdatedTime) ?? log.lastMicros;
    log.lastMicros = micros > log.lastMicros ? micros : log.lastMicros + 1n;
    log.lastPushed = pushed;
    const time = timeOf(log.lastMicros);
    for (const { name, value } of content) {
      const row = { time, name, value, run, ...(step !== undefined && { step }) };
      log.rows.push(row);
      log.summary.add(row);
    }
    makeRoom(log);
    return warnings;
  }

  return {
    /** Records the samples of a push. A sample that equals the one before it is a retry. */
    accept(plan: ObservationPlan, { pod, earlier = [], trainerStatus }: Push): PushAnswer {
      const log = logOf(plan);
      log.pod = pod.name;
      const warnings = [...earlier, trainerStatus].flatMap((sample) => record(log, pod, sample));
      return warnings.length === 0 ? { ok: true } : { ok: true, warnings: warnings.slice(0, 20) };
    },
    /** Returns undefined if nothing was recorded. */
    snapshotOf(jobUid: string): Pick<LogSnapshot, "metrics" | "primaryPod"> | undefined {
      const log = logs.get(jobUid);
      return log && { metrics: log.summary.metrics(), primaryPod: log.pod };
    },
    read: (jobUid: string, range: LogRange) => partOf(logs.get(jobUid)?.rows ?? [], range),
    forget: (jobUid: string) => void logs.delete(jobUid),
  };
}
