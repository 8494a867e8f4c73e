/** The newest progress of each job, on its way to the TrainJob's status (design, decision 8). */
import { getLogger } from "@logtape/logtape";
import type { TrainerStatus } from "../crds/trainjob.ts";
import type { Clock } from "../kube/clock.ts";
import type { Acceptance } from "./exchange.ts";
import { createLedgerQueue, type LedgerEntry, type LedgerJob } from "./ledger_queue.ts";
import { type Bucket, type BucketLimits, refill, take } from "./token_bucket.ts";

export type { LedgerJob } from "./ledger_queue.ts";

/** How a write ended. `gone`: the job is no more, or another one of its name is there. */
export type WriteOutcome =
  | { readonly result: "written" | "gone" }
  | { readonly result: "invalid"; readonly problem: string }
  | {
    readonly result: "conflict" | "error";
    readonly problem: string;
    /** The API server wants no call for so long. */
    readonly retryAfterMs?: number;
  };

/**
 * Writes a job's status, preconditioned by its UID. Has a deadline of its own, does not retry, and
 * does not throw.
 */
export type WriteStatus = (
  job: LedgerJob,
  status: TrainerStatus,
  signal?: AbortSignal,
) => Promise<WriteOutcome>;

/** Options of {@link createLedger}. */
export interface LedgerOptions {
  readonly write: WriteStatus;
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Least time between two writes to one job (`--status-write-interval`). Default 1 s. */
  readonly intervalMs?: number;
  /** Writes a second in all (`--status-writes-qps`). Default 50. */
  readonly writesPerSecond?: number;
  /** Writes a second while {@link Ledger.flush} runs. Default 500. */
  readonly flushWritesPerSecond?: number;
  /** Writes at the same time. Default 16. */
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
  submit(job: LedgerJob, status: TrainerStatus): Acceptance;
  /** The newest status taken of a job, written or not; undefined where none is held. */
  newest(uid: string): TrainerStatus | undefined;
  /** The job was deleted: what is pending for it is dropped. */
  forget(uid: string): void;
  /** Jobs with a value that is not written: `ledger_pending`. */
  pending(): number;
  /** Age of the longest waiting value in seconds, 0 where none waits: `ledger_oldest_seconds`. */
  oldestSeconds(): number;
  /** Writes until the signal aborts; then resolves when the last write has ended. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * After `run`: takes no more, and writes what is pending at `flushWritesPerSecond`, for at most
   * `deadlineMs`. Answers, and counts as dropped, how many values are left.
   */
  flush(deadlineMs: number): Promise<number>;
  /**
   * Before `run` is told to stop: takes no more, writes no more, and breaks off what it writes, since
   * another replica owns the state now. Answers, and counts as dropped, how many values are left.
   */
  abandon(): number;
}

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;
const SOON_MS = 1000;

/** Creates a {@link Ledger}; {@link Ledger.run} writes what it takes. */
export function createLedger(options: LedgerOptions): Ledger {
  const { write, clock, random = Math.random, onWrite, onDrop } = options;
  const { intervalMs = 1000, writesPerSecond = 50, flushWritesPerSecond = 500 } = options;
  const { maxConcurrent = 16, maxJobs = 100_000 } = options;
  const log = getLogger(["milepost", "status"]);
  const queue = createLedgerQueue();
  const writing = new Set<Promise<void>>();
  let limits = limitsOf(writesPerSecond);
  let budget: Bucket | undefined;
  let pausedUntilMs = -Infinity;
  let flushing = false;
  const abandoned = new AbortController();
  /** Ends the rest of the loop. */
  let wake: AbortController | undefined;
  /** Jobs are due, and it is something else that the loop rests for. */
  let heldBack = false;
  let failing = false;

  function submit(job: LedgerJob, status: TrainerStatus): Acceptance {
    if (flushing || abandoned.signal.aborted) {
      return { retryAfterMs: SOON_MS, reason: "shutting down: try again soon" };
    }
    if (!queue.has(job.uid) && queue.size() >= maxJobs && !queue.evict()) {
      return { retryAfterMs: SOON_MS, reason: "too many jobs report at once: try again soon" };
    }
    const due = queue.put(job, status, clock.monotonic());
    if (due && !heldBack) wake?.abort();
    return { ok: true };
  }

  /** Says once that writes fail, and once that they work again. */
  function report(job: LedgerJob, outcome: WriteOutcome): void {
    if (abandoned.signal.aborted) return;
    const { namespace, name } = job;
    if (outcome.result === "invalid") {
      log.warn("the API server refused a job's progress", { namespace, name, ...outcome });
    } else if (outcome.result === "written" && failing) {
      failing = false;
      log.info("progress can be written again", { namespace, name });
    } else if (outcome.result === "error" && !failing) {
      failing = true;
      log.warn("progress cannot be written, trying again", { namespace, name, ...outcome });
    }
  }

  function backOffMs(failures: number): number {
    const ceiling = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10));
    return ceiling * (0.5 + random() / 2);
  }

  function settle(entry: LedgerEntry, status: TrainerStatus, outcome: WriteOutcome): void {
    const nowMs = clock.monotonic();
    onWrite?.(outcome.result);
    report(entry.job, outcome);
    const dueAtMs = flushing ? nowMs : nowMs + intervalMs;
    switch (outcome.result) {
      case "written":
        return queue.settle(entry, { written: status, dueAtMs, nowMs });
      case "gone":
        onDrop?.("gone", 1);
        queue.settle(entry, { dueAtMs, nowMs });
        queue.remove(entry.job.uid);
        return;
      case "invalid":
        onDrop?.("invalid", 1);
        return queue.settle(entry, { dueAtMs, nowMs });
      default:
        if (outcome.retryAfterMs !== undefined) pausedUntilMs = nowMs + outcome.retryAfterMs;
        queue.settle(entry, {
          retry: status,
          dueAtMs: Math.max(dueAtMs, nowMs + backOffMs(entry.failures)),
          nowMs,
        });
    }
  }

  async function writeOne(entry: LedgerEntry, status: TrainerStatus, signal?: AbortSignal) {
    const outcome = await write(entry.job, status, signal).catch((error: unknown) => ({
      result: "error" as const,
      problem: String(error),
    }));
    settle(entry, status, outcome);
    wake?.abort();
  }

  function start(signal?: AbortSignal): void {
    const next = queue.take(clock.monotonic());
    if (next === undefined) return;
    const done = writeOne(next.entry, next.status, signal).finally(() => writing.delete(done));
    writing.add(done);
  }

  /** Milliseconds until there may be something to do; 0 where a write can start now. */
  function waitMs(): number {
    const nowMs = clock.monotonic();
    const due = queue.nextDueMs(nowMs);
    heldBack = due !== undefined && due <= nowMs;
    if (due === undefined || writing.size >= maxConcurrent) return Infinity;
    const refilled = refill(budget, nowMs, limits);
    budget = refilled;
    return Math.max(due - nowMs, pausedUntilMs - nowMs, take(refilled, nowMs, limits).waitMs, 0);
  }

  /** Starts what may start, then rests until something may change. */
  async function turn(stop: AbortSignal, signal?: AbortSignal): Promise<void> {
    let rest = waitMs();
    while (rest === 0 && !stop.aborted && !abandoned.signal.aborted) {
      budget = take(budget, clock.monotonic(), limits).bucket;
      start(signal);
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

  /** Ends the flush in time even where a write hangs. */
  async function flushAll(over: AbortController): Promise<void> {
    const rest = () => queue.nextDueMs(clock.monotonic()) !== undefined || writing.size > 0;
    while (!over.signal.aborted && rest()) {
      await turn(over.signal, over.signal);
    }
  }

  return {
    submit,
    newest: (uid) => queue.newest(uid),
    forget: (uid) => {
      if (queue.remove(uid)) onDrop?.("gone", 1);
    },
    pending: () => queue.pending(),
    oldestSeconds: () => {
      const since = queue.oldestMs();
      return since === undefined ? 0 : (clock.monotonic() - since) / 1000;
    },
    async run(signal) {
      while (!signal.aborted) await turn(signal, abandoned.signal);
      await Promise.all(writing);
    },
    async flush(deadlineMs) {
      flushing = true;
      limits = limitsOf(flushWritesPerSecond);
      queue.makeAllDue(clock.monotonic());
      const over = new AbortController();
      const done = new AbortController();
      const timer = clock.sleep(deadlineMs, done.signal).then(() => over.abort());
      await flushAll(over);
      done.abort();
      await timer;
      await Promise.all(writing);
      const left = queue.pending();
      if (left > 0) onDrop?.("shutdown", left);
      return left;
    },
    abandon() {
      abandoned.abort();
      const left = queue.pending();
      if (left > 0) onDrop?.("lease_lost", left);
      return left;
    },
  };
}

/** A fifth of a second's budget may be spent at once. */
function limitsOf(ratePerSecond: number): BucketLimits {
  return { ratePerSecond, burst: Math.max(1, Math.floor(ratePerSecond / 5)) };
}
