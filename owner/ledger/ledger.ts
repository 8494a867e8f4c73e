/** Ledger: the newest progress of each job, until it is written to the TrainJob's status (docs/decisions/0018). */
import type { JobRef } from "../../crds/job_kind.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import { backoffMs } from "../../platform/base/backoff.ts";
import { after, type Clock } from "../../platform/base/clock.ts";
import type { PushAnswer } from "../../crds/wire/push_answer.ts";
import { createLedgerQueue, type LedgerEntry, type ShownStatus } from "./ledger_queue.ts";
import { createWriteLog, type WriteOutcome, type WriteStatus } from "./ledger_write.ts";
import { createSleeper } from "../../platform/base/sleeper.ts";
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { Bucket, type BucketLimits } from "../../platform/base/token_bucket.ts";

export type { WriteOutcome, WriteStatus } from "./ledger_write.ts";

/** Options of {@link createLedger}. */
export interface LedgerOptions {
  readonly write: WriteStatus;
  readonly clock: Clock;
  /**
   * Returns the status that a job's object shows, from a cache: a value that an earlier owner has written is
   * neither a first push nor a first 100%. Called once for each job. Default: nothing is known.
   */
  readonly shown?: ShownStatus;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Least time between two writes to one job (`--status-write-interval`). Default 1 s. */
  readonly intervalMs?: number;
  /**
   * Writes per second in total (`--status-writes-qps`); up to a tenth of a second's budget may be spent at
   * once: at most t + 0.1 times as many writes (at least one) begin in any t seconds. Default 50.
   */
  readonly writesPerSecond?: number;
  /** Number of jobs that are kept, including those without a pending value. Default 100000. */
  readonly maxJobs?: number;
  /** `ledger_writes_total{result}`. */
  readonly onWrite?: (result: WriteOutcome["result"]) => void;
  /** `ledger_dropped_total{cause}`. */
  readonly onDrop?: (cause: "gone" | "invalid" | "shutdown" | "lease_lost", count: number) => void;
}

/** Pauses after failed writes. The budget limits retries, too: longer pauses would only delay a success. */
const RETRY = { firstMs: 500, longestMs: 10_000 } as const;
/** Writes per second of a flush, if the budget is not more. */
const FLUSH_WRITES_PER_SECOND = 500;
/** Concurrent writes, if a budget of which each takes a tenth of a second does not need more. */
const CONCURRENT = 16;
/** Factor by which a flush raises the number of concurrent writes. */
const FLUSH_CONCURRENCY = 2;

/** Keeper of one pending value for each job; writes them in order within a budget. */
export type Ledger = ReturnType<typeof createLedger>;

/** Creates a {@link Ledger}; {@link Ledger.run} writes what it takes. */
export function createLedger(options: LedgerOptions) {
  const { write, clock, random = Math.random, onWrite, onDrop } = options;
  const { intervalMs = 1000, writesPerSecond = 50 } = options;
  const maxConcurrent = Math.max(CONCURRENT, Math.ceil(writesPerSecond / 10));
  const { maxJobs = 100_000, shown = () => undefined } = options;
  const report = createWriteLog(clock);
  const queue = createLedgerQueue();
  const writing = new Set<Promise<void>>();
  const budget = new Bucket(limitsOf(writesPerSecond));
  let pausedUntilMs = -Infinity;
  let flushing = false;
  /** The loop of `run`. */
  let loop: Promise<void> = Promise.resolve();
  /** Aborts the writes under way when the lease is lost, or when the time of the flush is over. */
  const writeAbort = new AbortController();
  const sleeper = createSleeper(clock);
  /** Jobs are due, but the loop waits for something else (budget, concurrency, Retry-After). */
  let isBlocked = false;

  function submit(job: JobRef, status: TrainerStatus): PushAnswer {
    if (flushing || writeAbort.signal.aborted) {
      return comeAgain("shutting down: try again soon");
    }
    const nowMs = clock.monotonic();
    if (!queue.has(job.uid) && queue.size() >= maxJobs && !queue.evict(nowMs)) {
      return comeAgain("too many jobs report at once: try again soon");
    }
    const due = queue.put(job, status, nowMs, shown);
    if (due && !isBlocked) sleeper.wake();
    return { ok: true };
  }

  function settle(entry: LedgerEntry, outcome: WriteOutcome): void {
    const nowMs = clock.monotonic();
    onWrite?.(outcome.result);
    if (!writeAbort.signal.aborted) report(entry.job, outcome);
    const dueAtMs = flushing ? nowMs : nowMs + intervalMs;
    switch (outcome.result) {
      case "written":
        return queue.settle(entry, { retry: false, dueAtMs });
      case "invalid":
        onDrop?.("invalid", 1);
        return queue.settle(entry, { retry: false, dueAtMs });
      case "gone":
        return drop(entry);
      default: {
        if (entry.removed) return drop(entry);
        const { retryAfterMs = 0 } = outcome;
        pausedUntilMs = Math.max(pausedUntilMs, nowMs + retryAfterMs * (1 + random() / 4));
        const retryAtMs = Math.max(dueAtMs, nowMs + backoffMs(entry.failures + 1, RETRY, random));
        queue.settle(entry, { retry: true, dueAtMs: retryAtMs });
      }
    }
  }

  /** Drops a job that no longer exists, with the value that was being written. */
  function drop(entry: LedgerEntry): void {
    onDrop?.("gone", 1);
    if (!entry.removed) queue.remove(entry.job.uid);
  }

  async function writeOne(entry: LedgerEntry, status: TrainerStatus) {
    const outcome = await write(entry.job, status, writeAbort.signal).catch((error: unknown) => ({
      result: "error" as const,
      problem: String(error),
    }));
    settle(entry, outcome);
    sleeper.wake();
  }

  function start(): void {
    const next = queue.take(clock.monotonic());
    if (next === undefined) return;
    const done = writeOne(next.entry, next.status).finally(() => writing.delete(done));
    writing.add(done);
  }

  /** Returns the milliseconds until there may be something to do; 0 if a write can start now. */
  function waitMs(): number {
    const nowMs = clock.monotonic();
    const due = queue.nextDueMs(nowMs);
    isBlocked = due !== undefined && due <= nowMs;
    const most = flushing ? FLUSH_CONCURRENCY * maxConcurrent : maxConcurrent;
    if (due === undefined || writing.size >= most) return Infinity;
    return Math.max(due - nowMs, pausedUntilMs - nowMs, budget.waitMs(nowMs), 0);
  }

  /** Starts the writes that may start, then sleeps until something may change. */
  async function turn(stop: AbortSignal): Promise<void> {
    let rest = waitMs();
    while (rest === 0 && !stop.aborted && !writeAbort.signal.aborted) {
      budget.take(clock.monotonic());
      start();
      rest = waitMs();
    }
    await sleeper.sleep(rest, stop);
  }

  return {
    /** Takes a job's newest status; an earlier one that was not written yet is dropped. */
    submit,
    /** Drops the pending value of a job that was deleted. */
    forget: (uid: string) => {
      if (queue.remove(uid)) onDrop?.("gone", 1);
    },
    /** Number of jobs with a value that is not written: `ledger_pending`. */
    pending: () => queue.pending(),
    /** Age of the oldest waiting value in seconds, 0 if no value waits: `ledger_oldest_seconds`. */
    oldestSeconds: () => {
      const since = queue.oldestMs();
      return since === undefined ? 0 : (clock.monotonic() - since) / 1000;
    },
    /** Writes until the signal aborts. Resolves when the last write has ended. */
    async run(signal: AbortSignal): Promise<void> {
      loop = (async () => {
        while (!signal.aborted) await turn(signal);
      })();
      await loop;
      await Promise.all(writing);
    },
    /**
     * Writes what is pending, faster than `run`, for at most `deadlineMs` including the writes under
     * way; takes no more values. Called after the signal of `run` has aborted. Returns the number of values
     * that are left, which count as dropped.
     */
    async flush(deadlineMs: number): Promise<number> {
      flushing = true;
      budget.limits = limitsOf(Math.max(FLUSH_WRITES_PER_SECOND, writesPerSecond));
      const cancel = after(clock, deadlineMs, () => writeAbort.abort());
      await loop;
      queue.makeAllDue(clock.monotonic());
      while (queue.pending() > 0 && !writeAbort.signal.aborted) await turn(writeAbort.signal);
      cancel();
      writeAbort.abort();
      await Promise.all(writing);
      const left = queue.pending();
      if (left > 0) onDrop?.("shutdown", left);
      return left;
    },
    /**
     * Aborts the writes under way, and takes and writes no more values, because another replica owns the state
     * now. Called after the signal of `run` has aborted. Returns the number of values that are left, which
     * count as dropped.
     */
    abandon(): number {
      writeAbort.abort();
      const left = queue.pending();
      if (left > 0) onDrop?.("lease_lost", left);
      return left;
    },
  };
}

/** Returns the limits of a budget of which a tenth of a second's share may be spent at once. */
function limitsOf(ratePerSecond: number): BucketLimits {
  return { ratePerSecond, burst: Math.max(1, Math.floor(ratePerSecond / 10)) };
}
