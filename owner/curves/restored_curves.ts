/** Restored curves: of what was pushed before this term, or gave way to others, read from logs when somebody asks for it. */
import { getLogger } from "@logtape/logtape";
import { jobNow, type JobRef, type WatchedJobs } from "../../crds/job_kind.ts";
import { endOf, progressOf } from "../../crds/job_state.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { answerInTime, withDeadline } from "../../platform/base/deadline.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import type { Observations } from "../observations/observations.ts";
import type { CurveSample, CurveStore } from "./curve_store.ts";
import { readInParts } from "./log_reading.ts";
import { GAP_TEXTS } from "./marks.ts";
import { marksOfChange } from "./marks_of_change.ts";

/** Bounds of reading logs for whole curves. */
export const RESTORE_LIMITS = {
  /** Logs that are read at a time, and those that are read or wait for it: others are read when they are asked for again. */
  logsAtOnce: 2,
  waiting: 1_000,
  /** Time for one part of a log, in milliseconds. */
  partMs: 5_000,
  /** Time after which a log is read again that could not be read, or whose curves gave way, in milliseconds. */
  failedMs: 10_000,
  droppedMs: 60_000,
  /** Jobs of which it is remembered that their logs were read. */
  jobs: 100_000,
} as const;

/** Clocks of this replica and of the API server may differ by so much, in milliseconds. */
const CLOCKS_MS = 10_000;

/** Options of {@link createRestoredCurves}. */
export interface RestoredCurvesOptions {
  /** The caches of jobs by their kind. */
  readonly jobs: WatchedJobs;
  readonly store: Pick<CurveStore, "record" | "mark" | "unmark" | "end">;
  readonly logs: Pick<Observations, "pageOf" | "histories">;
  readonly clock: Clock;
  /** When the term began. */
  readonly beganMs: number;
}

/** Curves that are made whole by what logs have of them. */
export interface RestoredCurves {
  /**
   * Reads the logs of those jobs whose curves are not whole, and resolves when they are, or after `waitMs`, with the UIDs
   * of those that are not yet. Returns undefined if there is nothing to read. Never rejects.
   */
  restore(jobs: readonly JobRef[], waitMs: number): Promise<readonly string[]> | undefined;
  /** Adds what is kept beside a job's log, once. Resolves with whether anything may be. Rejects with a SinkError. */
  withHistory(job: JobRef, signal: AbortSignal): Promise<boolean>;
  /** The curves of a job have given way, or it is gone. */
  dropped(jobUid: string): void;
  close(): void;
}

/** What a log has of an objective that was NaN or infinite: the worst of the finite numbers. */
const WORST: ReadonlySet<string> = new Set(
  [Number.MAX_VALUE, -Number.MAX_VALUE].map((it) => String(it)),
);

/** Returns the samples of rows, which stand by time. */
function samplesOf(rows: readonly ObservationRow[]): CurveSample[] {
  return [...Map.groupBy(rows, ({ time }) => time)].map(([time, metrics]) => ({
    timeMs: Date.parse(time),
    metrics: metrics.map((it) => WORST.has(it.value) ? { ...it, value: "NaN" } : it),
    step: metrics[0]?.step,
  }));
}

/** Creates {@link RestoredCurves}; nothing is read before somebody asks. */
export function createRestoredCurves(options: RestoredCurvesOptions): RestoredCurves {
  const { store, jobs, logs, clock, beganMs } = options;
  const log = getLogger(["milepost", "page"]);
  const closed = new AbortController();
  const places = createSemaphore(RESTORE_LIMITS.logsAtOnce);
  /** When a job's log is to be read again, in monotonic milliseconds. */
  const readAgain = createBoundedCache<number>(RESTORE_LIMITS.jobs);
  const haveHistory = createBoundedCache<{ readonly isKept: boolean }>(RESTORE_LIMITS.jobs);
  const reading = new Map<string, Promise<void>>();

  /** Whether nothing can have been pushed for the job before this term, as far as clocks agree. */
  function isNew(job: JobRef): boolean {
    const created = jobNow(jobs, job)?.metadata.creationTimestamp;
    return !readAgain.has(job.uid) && Date.parse(String(created)) > beganMs + CLOCKS_MS;
  }

  async function withHistory(job: JobRef, signal: AbortSignal): Promise<boolean> {
    const { uid } = job;
    const known = haveHistory.get(uid)?.isKept;
    if (known !== undefined || isNew(job)) return known ?? logs.histories.areKept;
    const history = await logs.histories.read(job, signal);
    const isKept = history !== undefined;
    haveHistory.set(uid, { isKept });
    store.record(job, undefined, (history?.moments ?? []).map((it) => ({ ...it, metrics: [] })));
    for (const mark of history?.marks ?? []) store.mark(uid, mark);
    return isKept;
  }

  /** Says where points are missing, as far as the job's object shows more than was found. */
  function judge(job: JobRef, found: { isKept: boolean; hasRows: boolean; lacks: boolean }): void {
    const { kind, uid } = job;
    const object = jobNow(jobs, job);
    if (object === undefined) return;
    const shown = progressOf(kind, object);
    const isEnded = endOf(kind, object) !== undefined;
    const shownMs = Date.parse(shown?.lastUpdatedTime ?? "");
    const lacks = found.lacks || !found.isKept && shown?.progressPercentage !== undefined;
    if (!found.isKept) {
      for (const mark of marksOfChange(kind, undefined, object, clock.now())) store.mark(uid, mark);
    }
    if (!lacks) store.unmark(uid, "gap");
    else if (isEnded && !found.hasRows) {
      store.mark(uid, { timeMs: shownMs, kind: "gap", text: GAP_TEXTS.gone });
    } else if (shownMs < beganMs) {
      store.mark(uid, { timeMs: beganMs, kind: "gap", text: GAP_TEXTS.restarted });
    }
    if (isEnded) store.end(uid);
  }

  const readLog: Observations["pageOf"] = (job, query, signal) => {
    const { partMs: deadlineMs } = RESTORE_LIMITS;
    const onDeadline = () => new Error(`the log did not answer within ${deadlineMs} ms`);
    return withDeadline(
      { clock, deadlineMs, signal, onDeadline },
      (it) => logs.pageOf(job, query, it),
    );
  };

  async function read(job: JobRef): Promise<void> {
    const { signal } = closed;
    const object = jobNow(jobs, job);
    const { metrics = [] } = object && progressOf(job.kind, object) || {};
    const lacking = new Set(metrics.map(({ name }) => name));
    const isKept = await withHistory(job, signal);
    let hasRows = false;
    await readInParts({ readLog, clock }, job, {}, (rows) => {
      hasRows ||= rows.length > 0;
      for (const { name } of rows) lacking.delete(name);
      store.record(job, undefined, samplesOf(rows));
    }, signal);
    judge(job, { isKept, hasRows, lacks: lacking.size > 0 });
    readAgain.set(job.uid, Infinity);
  }

  /** Reads the log unless that is under way, or was done. */
  function readOnce(job: JobRef): Promise<void> | undefined {
    const { uid, namespace, name } = job;
    const known = reading.get(uid);
    if (known !== undefined) return known;
    if ((readAgain.get(uid) ?? -Infinity) > clock.monotonic() || isNew(job)) return undefined;
    if (reading.size >= RESTORE_LIMITS.waiting || closed.signal.aborted) return undefined;
    const work = places.run(() => read(job), closed.signal).catch((error) => {
      if (closed.signal.aborted) return;
      readAgain.set(uid, clock.monotonic() + RESTORE_LIMITS.failedMs);
      log.debug("a log cannot be read for curves", { namespace, name, problem: messageOf(error) });
    }).finally(() => reading.delete(uid));
    reading.set(uid, work);
    return work;
  }

  return {
    restore(asked, waitMs) {
      const works = asked.map(readOnce).filter((it) => it !== undefined);
      if (works.length === 0) return undefined;
      const left = () => asked.flatMap(({ uid }) => reading.has(uid) ? [uid] : []);
      const all = Promise.all(works).then(() => {});
      return Promise.resolve(answerInTime(clock, waitMs, undefined, () => all, closed.signal))
        .then(left);
    },
    withHistory,
    dropped(uid) {
      haveHistory.delete(uid);
      readAgain.set(uid, clock.monotonic() + RESTORE_LIMITS.droppedMs);
    },
    close: () => closed.abort(),
  };
}
