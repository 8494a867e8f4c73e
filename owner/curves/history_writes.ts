/** Writes of histories: what pushes and objects of jobs say, collected for a moment and kept beside the logs. */
import { getLogger } from "@logtape/logtape";
import type { JobRef } from "../../crds/job_kind.ts";
import type { CurveMark } from "../../crds/wire/shown_curves.ts";
import { backoffMs } from "../../platform/base/backoff.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import {
  HISTORY_LIMITS,
  type JobHistories,
  type JobNews,
  type Moment,
} from "../observations/job_history.ts";
import type { CurveSample, CurveStore } from "./curve_store.ts";
import type { RestoredCurves } from "./restored_curves.ts";

/** Time for which news are collected, in milliseconds: a process that is killed loses as much. */
const COLLECT_MS = 1_000;
const RETRY = { firstMs: COLLECT_MS, longestMs: 30_000 } as const;
/** Most moments that wait, of one job and of all; while the log is down later ones are not kept. */
const WAITING = { ofJob: HISTORY_LIMITS.moments, ofAll: 100_000 } as const;
/** Jobs whose marks are remembered as they were written. */
const JOBS = 100_000;

/** Options of {@link createHistoryWrites}. */
export interface HistoryWritesOptions {
  readonly histories: JobHistories;
  readonly store: Pick<CurveStore, "marksOf">;
  /** What was kept before is added first: marks are written as a whole. */
  readonly restored: Pick<RestoredCurves, "withHistory">;
  readonly clock: Clock;
}

/** What is to be written of a job. */
interface Waiting {
  readonly job: JobRef;
  moments: Moment[];
  endedMs?: number | undefined;
}

/** Writes of one term. */
export interface HistoryWrites {
  /** Samples of a job were taken, after which it may have other marks. */
  noted(job: JobRef, samples: readonly CurveSample[]): void;
  ended(job: JobRef, endedMs: number): void;
  forget(jobUid: string): void;
  /** Writes until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Writes what waits, once. Rejects if that takes longer, or fails. */
  flush(withinMs: number): Promise<void>;
}

/** Creates {@link HistoryWrites}. */
export function createHistoryWrites(options: HistoryWritesOptions): HistoryWrites {
  const { histories, store, restored, clock } = options;
  const log = getLogger(["milepost", "page"]);
  const waiting = new Map<string, Waiting>();
  const written = createBoundedCache<readonly CurveMark[]>(JOBS);
  let moments = 0;
  /** What is being written; settles always. */
  let writing: Promise<unknown> = Promise.resolve();

  function waitingOf(job: JobRef): Waiting {
    const known = waiting.get(job.uid);
    if (known !== undefined) return known;
    const made = { job, moments: [] };
    waiting.set(job.uid, made);
    return made;
  }

  /** Returns all marks of a job if they differ from those that were written; undefined if not. */
  async function newMarks(job: JobRef, signal: AbortSignal) {
    if (store.marksOf(job.uid) === written.get(job.uid)) return undefined;
    await restored.withHistory(job, signal);
    return store.marksOf(job.uid);
  }

  /** Takes the news of some jobs out, and returns how to put them back. */
  function take() {
    const taken: Waiting[] = [];
    let count = 0;
    for (const [uid, one] of waiting) {
      if (taken.length >= HISTORY_LIMITS.jobsOfCall || count > HISTORY_LIMITS.momentsOfCall) break;
      waiting.delete(uid);
      taken.push(one);
      count += one.moments.length;
    }
    moments -= count;
    const putBack = (uids: readonly string[]) => {
      for (const { job, moments: before, endedMs } of taken) {
        if (!uids.includes(job.uid)) continue;
        const one = waitingOf(job);
        one.moments = [...before, ...one.moments];
        one.endedMs ??= endedMs;
        moments += before.length;
      }
    };
    return { taken, putBack };
  }

  async function writeSome(signal: AbortSignal): Promise<void> {
    const { taken, putBack } = take();
    try {
      const marks = new Map<string, readonly CurveMark[]>();
      const news: JobNews[] = [];
      for (const { job, moments, endedMs } of taken) {
        const own = await newMarks(job, signal);
        if (own !== undefined) marks.set(job.uid, own);
        news.push({
          job,
          ...(moments.length > 0 && { moments }),
          // A gap is one of this term's memory.
          marks: own?.filter(({ kind }) => kind !== "gap"),
          endedMs,
        });
      }
      const later = (await histories.keep(news, signal)).map(({ job }) => job.uid);
      for (const [uid, own] of marks) if (!later.includes(uid)) written.set(uid, own);
      putBack(later);
    } catch (error) {
      putBack(taken.map(({ job }) => job.uid));
      throw error;
    }
  }

  /** Writes those that wait now; of some it may not be known yet where. */
  async function writeAll(signal: AbortSignal): Promise<void> {
    for (let left = waiting.size; left > 0; left -= HISTORY_LIMITS.jobsOfCall) {
      signal.throwIfAborted();
      await writeSome(signal);
    }
  }

  return {
    noted(job, samples) {
      if (!histories.areKept) return;
      const now = clock.now();
      const known = waiting.get(job.uid)?.moments.length ?? 0;
      for (const { timeMs: saidMs, progress, step } of samples) {
        const timeMs = Math.min(saidMs, now);
        if (progress === undefined && step === undefined || !(timeMs >= 0)) continue;
        if (known >= WAITING.ofJob || moments >= WAITING.ofAll) break;
        waitingOf(job).moments.push({ timeMs, progress, step });
        moments++;
      }
      const marks = store.marksOf(job.uid);
      if (marks !== undefined && marks.length > 0 && marks !== written.get(job.uid)) waitingOf(job);
    },
    ended(job, endedMs) {
      if (histories.areKept) waitingOf(job).endedMs = endedMs;
    },
    forget(uid) {
      moments -= waiting.get(uid)?.moments.length ?? 0;
      waiting.delete(uid);
      written.delete(uid);
    },
    async run(signal) {
      for (let failures = 0; !signal.aborted;) {
        const pauseMs = failures === 0 ? COLLECT_MS : backoffMs(failures, RETRY, Math.random);
        await clock.sleep(pauseMs, signal);
        try {
          const work = writeAll(signal);
          writing = work.catch(() => {});
          await work;
          failures = 0;
        } catch (error) {
          if (signal.aborted) return;
          failures++;
          log.debug("cannot keep progress and marks; retrying", { problem: messageOf(error) });
        }
      }
    },
    async flush(withinMs) {
      const onDeadline = () => new Error(`not written within ${withinMs} ms`);
      await writing;
      await withDeadline({ clock, deadlineMs: withinMs, onDeadline }, writeAll);
    },
  };
}
