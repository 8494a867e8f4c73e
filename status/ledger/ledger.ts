/** Ledger: the newest progress of each job, until it is written to the TrainJob's status (docs/decisions/0031). */
import type { JobRef } from "../../crds/job_kind.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import { backoffMs } from "../../kube/backoff.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Acceptance } from "../chain/exchange.ts";
import { createLedgerQueue, type LedgerEntry, type ShownStatus } from "./ledger_queue.ts";
import { createWriteLog, type WriteOutcome, type WriteStatus } from "./ledger_write.ts";
import { type Bucket, type BucketLimits, refill, take } from "../../http/limits/token_bucket.ts";

export type { WriteOutcome, WriteStatus } from "./ledger_write.ts";

/** Options of {@link createLedger}. */
export interface LedgerOptions {
  readonly write: WriteStatus;
  readonly clock: Clock;
  /**
   * What a job's object shows, by a cache: what an owner before has written is neither a first push
   * nor a first 100%. Asked once for each job. Default: nothing is known.
   */
  readonly shown?: ShownStatus;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Least time between two writes to one job (`--status-write-interval`). Default 1 s. */
  readonly intervalMs?: number;
  /**
   * Writes a second in all (`--status-writes-qps`), of which a tenth may be made up for at once: in
   * any span of t seconds at most t + 0.1 times as many begin (at least one). Default 50.
   */
  readonly writesPerSecond?: number;
  /** Writes a second while {@link Ledger.flush} runs. Default 500, or `writesPerSecond` if more. */
  readonly flushWritesPerSecond?: number;
  /**
   * Writes at the same time; twice as many in a flush. Default 16, or as many as reach the budget
   * where a write takes a tenth of a second.
   */
  readonly maxConcurrent?: number;
  /** Jobs kept, those without pending value included. Default 100000. */
  readonly maxJobs?: number;
  /** `ledger_writes_total{result}`. */
  readonly onWrite?: (result: WriteOutcome["result"]) => void;
  /** `ledger_dropped_total{cause}`. */
  readonly onDrop?: (cause: "gone" | "invalid" | "shutdown" | "lease_lost", count: number) => void;
}

/** One pending value a job, written in turn within a budget. */
export interface Ledger {
  /** Takes a job's newest status; the one before it is forgotten if it was not written yet. */
  submit(job: JobRef, status: TrainerStatus): Acceptance;
  /** The job was deleted: what is pending for it is dropped. */
  forget(uid: string): void;
  /** Jobs with a value that is not written: `ledger_pending`. */
  pending(): number;
  /** Age of the longest waiting value in seconds, 0 where none waits: `ledger_oldest_seconds`. */
  oldestSeconds(): number;
  /** Writes until the signal aborts; then resolves when the last write has ended. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Once `run` was told to stop: takes no more, and writes what is pending at `flushWritesPerSecond`,
   * for at most `deadlineMs`, what is under way included. Answers, and counts as dropped, how many
   * values are left.
   */
  flush(deadlineMs: number): Promise<number>;
  /**
   * Once `run` was told to stop: takes no more, writes no more, and breaks off what it writes, since
   * another replica owns the state now. Answers, and counts as dropped, how many values are left.
   */
  abandon(): number;
}

/** Pauses after failed writes. The budget slows them, too: longer ones would only delay the next success. */
const RETRY = { firstMs: 500, longestMs: 10_000 } as const;
const SOON_MS = 1000;
/** Writes at the same time in a flush, times those of other times. */
const FLUSH_CONCURRENCY = 2;

/** Creates a {@link Ledger}; {@link Ledger.run} writes what it takes. */
export function createLedger(options: LedgerOptions): Ledger {
  const { write, clock, random = Math.random, onWrite, onDrop } = options;
  const { intervalMs = 1000, writesPerSecond = 50 } = options;
  const { flushWritesPerSecond = Math.max(500, writesPerSecond) } = options;
  const { maxConcurrent = Math.max(16, Math.ceil(writesPerSecond / 10)) } = options;
  const { maxJobs = 100_000, shown = () => undefined } = options;
  const report = createWriteLog(clock);
  const queue = createLedgerQueue();
  const writing = new Set<Promise<void>>();
  let limits = limitsOf(writesPerSecond);
  let budget: Bucket | undefined;
  let pausedUntilMs = -Infinity;
  let flushing = false;
  /** What `run` does between writes. */
  let loop: Promise<void> = Promise.resolve();
  /** Breaks off the writes in hand: the lease is lost, or the time of the flush is over. */
  const broken = new AbortController();
  /** Ends the rest of the loop. */
  let wake: AbortController | undefined;
  /** Jobs are due, and it is something else that the loop rests for. */
  let heldBack = false;

  function submit(job: JobRef, status: TrainerStatus): Acceptance {
    if (flushing || broken.signal.aborted) {
      return { retryAfterMs: SOON_MS, reason: "shutting down: try again soon" };
    }
    const nowMs = clock.monotonic();
    if (!queue.has(job.uid) && queue.size() >= maxJobs && !queue.evict(nowMs)) {
      return { retryAfterMs: SOON_MS, reason: "too many jobs report at once: try again soon" };
    }
    const due = queue.put(job, status, nowMs, shown);
    if (due && !heldBack) wake?.abort();
    return { ok: true };
  }

  function settle(entry: LedgerEntry, outcome: WriteOutcome): void {
    const nowMs = clock.monotonic();
    onWrite?.(outcome.result);
    if (!broken.signal.aborted) report(entry.job, outcome);
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

  /** The job is no more, and what a write had in hand for it was for nothing. */
  function drop(entry: LedgerEntry): void {
    onDrop?.("gone", 1);
    if (!entry.removed) queue.remove(entry.job.uid);
  }

  async function writeOne(entry: LedgerEntry, status: TrainerStatus) {
    const outcome = await write(entry.job, status, broken.signal).catch((error: unknown) => ({
      result: "error" as const,
      problem: String(error),
    }));
    settle(entry, outcome);
    wake?.abort();
  }

  function start(): void {
    const next = queue.take(clock.monotonic());
    if (next === undefined) return;
    const done = writeOne(next.entry, next.status).finally(() => writing.delete(done));
    writing.add(done);
  }

  /** Milliseconds until there may be something to do; 0 where a write can start now. */
  function waitMs(): number {
    const nowMs = clock.monotonic();
    const due = queue.nextDueMs(nowMs);
    heldBack = due !== undefined && due <= nowMs;
    const most = flushing ? FLUSH_CONCURRENCY * maxConcurrent : maxConcurrent;
    if (due === undefined || writing.size >= most) return Infinity;
    const refilled = refill(budget, nowMs, limits);
    budget = refilled;
    return Math.max(due - nowMs, pausedUntilMs - nowMs, take(refilled, nowMs, limits).waitMs, 0);
  }

  /** Starts what may start, then rests until something may change. */
  async function turn(stop: AbortSignal): Promise<void> {
    let rest = waitMs();
    while (rest === 0 && !stop.aborted && !broken.signal.aborted) {
      budget = take(budget, clock.monotonic(), limits).bucket;
      start();
      rest = waitMs();
    }
    const early = new AbortController();
    const ring = () => early.abort();
    stop.addEventListener("abort", ring, { once: true });
    wake = early;
    await clock.sleep(Math.min(rest, 3_600_000), stop.aborted ? stop : early.signal);
    wake = undefined;
    stop.removeEventListener("abort", ring);
  }

  return {
    submit,
    forget: (uid) => {
      if (queue.remove(uid)) onDrop?.("gone", 1);
    },
    pending: () => queue.pending(),
    oldestSeconds: () => {
      const since = queue.oldestMs();
      return since === undefined ? 0 : (clock.monotonic() - since) / 1000;
    },
    async run(signal) {
      loop = (async () => {
        while (!signal.aborted) await turn(signal);
      })();
      await loop;
      await Promise.all(writing);
    },
    async flush(deadlineMs) {
      flushing = true;
      limits = limitsOf(flushWritesPerSecond);
      const done = new AbortController();
      const timer = clock.sleep(deadlineMs, done.signal).then(() => broken.abort());
      await loop;
      queue.makeAllDue(clock.monotonic());
      while (queue.pending() > 0 && !broken.signal.aborted) await turn(broken.signal);
      done.abort();
      await timer;
      await Promise.all(writing);
      const left = queue.pending();
      if (left > 0) onDrop?.("shutdown", left);
      return left;
    },
    abandon() {
      broken.abort();
      const left = queue.pending();
      if (left > 0) onDrop?.("lease_lost", left);
      return left;
    },
  };
}

/** What a tenth of a second left over may be spent at once. */
function limitsOf(ratePerSecond: number): BucketLimits {
  return { ratePerSecond, burst: Math.max(1, Math.floor(ratePerSecond / 10)) };
}
