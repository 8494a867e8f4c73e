/** Whose turn it is: the jobs of the ledger, each with its pending value, in the order of writing. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";

/** A value that is not written yet. */
interface Waiting {
  readonly status: TrainerStatus;
  /** Monotonic time since which the job has something to write; a newer value takes it over. */
  readonly sinceMs: number;
}

/** What the ledger holds of one job. */
export interface LedgerEntry {
  readonly job: JobRef;
  /** Writes in a row that failed. */
  failures: number;
  pending?: Waiting;
  /** The value that a write has in hand. */
  writing?: Waiting;
  /** Monotonic time before which nothing is written. */
  dueAtMs: number;
  removed: boolean;
  /** It still has the turn before others that a first value, and a first 100%, are due. */
  firstIsNews: boolean;
  hundredIsNews: boolean;
}

/** How a write of an entry ended. */
export interface Settlement {
  /** Whether the value is to be written again; a newer one is written in its place. */
  readonly retry: boolean;
  /** When the job's next write may begin. */
  readonly dueAtMs: number;
}

/** The jobs with their values; bookkeeping without a clock. Every `nowMs` is monotonic. */
export interface LedgerQueue {
  has(uid: string): boolean;
  size(): number;
  /** Forgets one job, the longest idle and past its interval; false where there is none. */
  evict(nowMs: number): boolean;
  /**
   * Takes a job's newest value. `shown` is asked where the job is new to the queue: what its object
   * shows already is neither a first value nor a first 100%. Answers whether the job is due now.
   */
  put(job: JobRef, status: TrainerStatus, nowMs: number, shown: ShownStatus): boolean;
  /** Whether something that was pending is lost by it. */
  remove(uid: string): boolean;
  /** Jobs with a value that is not written yet, the ones in hand included. */
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

/** What a job's object shows, as far as is known. */
export type ShownStatus = (job: JobRef) => TrainerStatus | undefined;

function create(job: JobRef, shown: TrainerStatus | undefined): LedgerEntry {
  return {
    job,
    failures: 0,
    pending: undefined,
    writing: undefined,
    dueAtMs: -Infinity,
    removed: false,
    firstIsNews: shown === undefined,
    hundredIsNews: shown?.progressPercentage !== 100,
  };
}

/** A job's first value and its first 100% go before the others, once each. */
function isUrgent({ firstIsNews, hundredIsNews, pending }: LedgerEntry): boolean {
  return firstIsNews || (hundredIsNews && pending?.status.progressPercentage === 100);
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  for (const item of set) return item;
  return undefined;
}

/** Creates an empty queue. */
export function createLedgerQueue(): LedgerQueue {
  const entries = new Map<string, LedgerEntry>();
  /** Due and with a value, in the order of their turn. */
  const urgent = new Set<LedgerEntry>();
  const ready = new Set<LedgerEntry>();
  /** Written and within their interval, which is the same for all: in the order of being due. */
  const cooling = new Set<LedgerEntry>();
  /** Failed and backing off, in no order; no more than the budget can make fail in that time. */
  const retrying = new Set<LedgerEntry>();
  /** Nothing to write, the longest first; some of them are cooling, too. */
  const idle = new Set<LedgerEntry>();

  function unqueue(entry: LedgerEntry): void {
    urgent.delete(entry);
    ready.delete(entry);
    cooling.delete(entry);
    retrying.delete(entry);
  }

  /** Puts an entry that is due where it belongs; one that is queued keeps its turn. */
  function enqueue(entry: LedgerEntry): void {
    if (entry.writing || entry.pending === undefined || urgent.has(entry)) return;
    if (isUrgent(entry)) {
      ready.delete(entry);
      urgent.add(entry);
    } else {
      ready.add(entry);
    }
  }

  /** Moves those whose interval is over. */
  function promoteCooled(nowMs: number): void {
    for (const entry of cooling) {
      if (entry.dueAtMs > nowMs) break;
      cooling.delete(entry);
      enqueue(entry);
    }
  }

  /** Moves all whose time has come. */
  function promote(nowMs: number): void {
    promoteCooled(nowMs);
    for (const entry of retrying) {
      if (entry.dueAtMs > nowMs) continue;
      retrying.delete(entry);
      enqueue(entry);
    }
  }

  function add(job: JobRef, shown: ShownStatus): LedgerEntry {
    const entry = create(job, shown(job));
    entries.set(job.uid, entry);
    return entry;
  }

  return {
    has: (uid) => entries.has(uid),
    size: () => entries.size,
    pending: () => entries.size - idle.size,
    oldestMs() {
      let oldest: number | undefined;
      for (const { writing, pending } of entries.values()) {
        const sinceMs = writing?.sinceMs ?? pending?.sinceMs;
        if (sinceMs !== undefined) oldest = Math.min(oldest ?? Infinity, sinceMs);
      }
      return oldest;
    },
    evict(nowMs) {
      const entry = first(idle);
      if (entry === undefined || entry.dueAtMs > nowMs) return false;
      idle.delete(entry);
      cooling.delete(entry);
      return entries.delete(entry.job.uid);
    },
    put(job, status, nowMs, shown) {
      const entry = entries.get(job.uid) ?? add(job, shown);
      entry.pending = { status, sinceMs: entry.pending?.sinceMs ?? nowMs };
      idle.delete(entry);
      if (entry.writing || entry.dueAtMs > nowMs) return false;
      promoteCooled(nowMs);
      retrying.delete(entry);
      enqueue(entry);
      return true;
    },
    remove(uid) {
      const entry = entries.get(uid);
      if (entry === undefined) return false;
      entry.removed = true;
      entries.delete(uid);
      idle.delete(entry);
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
      const waiting = entry?.pending;
      if (entry === undefined || waiting === undefined) return undefined;
      unqueue(entry);
      entry.pending = undefined;
      entry.writing = waiting;
      // Spent by the try: those that fail again and again would keep the others waiting for ever.
      entry.firstIsNews = false;
      if (waiting.status.progressPercentage === 100) entry.hundredIsNews = false;
      return { entry, status: waiting.status };
    },
    settle(entry, { retry, dueAtMs }) {
      const { writing, pending } = entry;
      entry.writing = undefined;
      entry.dueAtMs = dueAtMs;
      entry.failures = retry ? entry.failures + 1 : 0;
      if (retry && writing) {
        entry.pending = { status: pending?.status ?? writing.status, sinceMs: writing.sinceMs };
      }
      if (entry.removed) return;
      (retry ? retrying : cooling).add(entry);
      if (entry.pending === undefined) idle.add(entry);
    },
    makeAllDue(nowMs) {
      cooling.clear();
      retrying.clear();
      for (const entry of entries.values()) {
        entry.dueAtMs = Math.min(entry.dueAtMs, nowMs);
        enqueue(entry);
      }
    },
  };
}
