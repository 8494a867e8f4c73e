/** Whose turn it is: the jobs of the ledger, each with its pending value, in the order of writing. */
import type { TrainerStatus } from "../crds/trainjob.ts";

/** A TrainJob, as the ledger keys it: by UID. */
export interface LedgerJob {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** What the ledger holds of one job. */
export interface LedgerEntry {
  readonly job: LedgerJob;
  /** Writes in a row that failed. */
  failures: number;
  /** The newest value taken, for readers. */
  newest: TrainerStatus;
  pending?: TrainerStatus;
  /** Monotonic time since which a value waits. */
  pendingSinceMs: number;
  /** Monotonic time before which nothing is written. */
  dueAtMs: number;
  writing: boolean;
  removed: boolean;
  wroteFirst: boolean;
  wroteHundred: boolean;
}

/** How a write of an entry ended: the value that was written, or the one to try again. */
export interface Settlement {
  readonly written?: TrainerStatus;
  readonly retry?: TrainerStatus;
  /** When the job's next write may begin. */
  readonly dueAtMs: number;
  readonly nowMs: number;
}

/** The jobs with their values; bookkeeping without a clock. Every `nowMs` is monotonic. */
export interface LedgerQueue {
  has(uid: string): boolean;
  size(): number;
  /** Forgets one job without pending value, the longest unused; false where there is none. */
  evict(): boolean;
  /** Whether the job is due now. */
  put(job: LedgerJob, status: TrainerStatus, nowMs: number): boolean;
  newest(uid: string): TrainerStatus | undefined;
  /** Whether something that was pending is lost by it. */
  remove(uid: string): boolean;
  /** Jobs with a value that is not written yet. Looks at every job. */
  pending(): number;
  /** Since when the longest waiting value waits. Looks at every job. */
  oldestMs(): number | undefined;
  /** When to look again: `nowMs` where a job is due, undefined where none can become due. */
  nextDueMs(nowMs: number): number | undefined;
  /** The next job that is due, with the value to write; a value that comes now waits its turn. */
  take(nowMs: number): { entry: LedgerEntry; status: TrainerStatus } | undefined;
  /** A write that `take` began has ended. */
  settle(entry: LedgerEntry, settlement: Settlement): void;
  /** Nobody waits any longer: everything that is pending is due. */
  makeAllDue(nowMs: number): void;
}

function create(job: LedgerJob, status: TrainerStatus): LedgerEntry {
  return {
    job,
    failures: 0,
    newest: status,
    pendingSinceMs: 0,
    dueAtMs: -Infinity,
    writing: false,
    removed: false,
    wroteFirst: false,
    wroteHundred: false,
  };
}

/** A job's first value and its first 100% go before the others, once each. */
function isUrgent(entry: LedgerEntry): boolean {
  if (!entry.wroteFirst) return true;
  return !entry.wroteHundred && entry.pending?.progressPercentage === 100;
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  for (const item of set) return item;
  return undefined;
}

/** Creates an empty queue. */
export function createLedgerQueue(): LedgerQueue {
  /** In the order of last use. */
  const entries = new Map<string, LedgerEntry>();
  /** Due and with a value, in the order of their turn. */
  const urgent = new Set<LedgerEntry>();
  const ready = new Set<LedgerEntry>();
  /** Written and within their interval, which is the same for all: in the order of being due. */
  const cooling = new Set<LedgerEntry>();
  /** Failed and backing off, in no order. */
  const retrying = new Set<LedgerEntry>();

  function unqueue(entry: LedgerEntry): void {
    for (const set of [urgent, ready, cooling, retrying]) set.delete(entry);
  }

  /** Puts an entry that is due where it belongs; one that is queued keeps its turn. */
  function enqueue(entry: LedgerEntry): void {
    if (entry.writing || entry.removed || entry.pending === undefined) return;
    if (isUrgent(entry)) {
      ready.delete(entry);
      urgent.add(entry);
    } else {
      ready.add(entry);
    }
  }

  /** Moves those whose time has come. */
  function promote(nowMs: number): void {
    for (const entry of cooling) {
      if (entry.dueAtMs > nowMs) break;
      cooling.delete(entry);
      enqueue(entry);
    }
    for (const entry of retrying) {
      if (entry.dueAtMs > nowMs) continue;
      retrying.delete(entry);
      enqueue(entry);
    }
  }

  function isPending(entry: LedgerEntry): boolean {
    return entry.pending !== undefined || entry.writing;
  }

  return {
    has: (uid) => entries.has(uid),
    size: () => entries.size,
    newest: (uid) => entries.get(uid)?.newest,
    pending() {
      let count = 0;
      for (const entry of entries.values()) if (isPending(entry)) count += 1;
      return count;
    },
    oldestMs() {
      let oldest: number | undefined;
      for (const entry of entries.values()) {
        if (!isPending(entry)) continue;
        oldest = Math.min(oldest ?? Infinity, entry.pendingSinceMs);
      }
      return oldest;
    },
    evict() {
      for (const [uid, entry] of entries) {
        if (!isPending(entry)) return entries.delete(uid);
      }
      return false;
    },
    put(job, status, nowMs) {
      const entry = entries.get(job.uid) ?? create(job, status);
      entries.delete(job.uid);
      entries.set(job.uid, entry);
      if (!isPending(entry)) entry.pendingSinceMs = nowMs;
      entry.newest = status;
      entry.pending = status;
      if (entry.writing || entry.dueAtMs > nowMs) return false;
      cooling.delete(entry);
      retrying.delete(entry);
      enqueue(entry);
      return true;
    },
    remove(uid) {
      const entry = entries.get(uid);
      if (entry === undefined) return false;
      entry.removed = true;
      entries.delete(uid);
      unqueue(entry);
      return entry.pending !== undefined;
    },
    nextDueMs(nowMs) {
      promote(nowMs);
      if (urgent.size + ready.size > 0) return nowMs;
      let due = first(cooling)?.dueAtMs;
      for (const { dueAtMs } of retrying) due = Math.min(due ?? Infinity, dueAtMs);
      return due;
    },
    take(nowMs) {
      promote(nowMs);
      const entry = first(urgent) ?? first(ready);
      const status = entry?.pending;
      if (entry === undefined || status === undefined) return undefined;
      unqueue(entry);
      entry.pending = undefined;
      entry.writing = true;
      return { entry, status };
    },
    settle(entry, { written, retry, dueAtMs, nowMs }) {
      entry.writing = false;
      entry.dueAtMs = dueAtMs;
      entry.failures = retry === undefined ? 0 : entry.failures + 1;
      if (retry !== undefined) entry.pending ??= retry;
      else entry.pendingSinceMs = nowMs;
      if (written !== undefined) {
        entry.wroteFirst = true;
        if (written.progressPercentage === 100) entry.wroteHundred = true;
      }
      if (entry.removed) return;
      (retry === undefined ? cooling : retrying).add(entry);
    },
    makeAllDue(nowMs) {
      for (const set of [cooling, retrying]) set.clear();
      for (const entry of entries.values()) {
        entry.dueAtMs = Math.min(entry.dueAtMs, nowMs);
        enqueue(entry);
      }
    },
  };
}
