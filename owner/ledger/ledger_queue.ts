/** Queue of the ledger: jobs with their pending values, in the order in which they are written. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";

/** A value that is not written yet. */
interface Waiting {
  readonly status: TrainerStatus;
  /** Monotonic time since which the job has something to write; a newer value takes it over. */
  readonly sinceMs: number;
}

/** Entry of a job in the ledger. */
export interface LedgerEntry {
  readonly job: JobRef;
  /** Number of writes that failed in a row. */
  failures: number;
  pending?: Waiting;
  /** The value that is being written. */
  writing?: Waiting;
  /** Monotonic time before which nothing is written. */
  dueAtMs: number;
  removed: boolean;
  /** Whether the job's first value still has priority. */
  firstHasPriority: boolean;
  /** Whether the job's first value of 100% still has priority. */
  hundredHasPriority: boolean;
}

/** Returns the status that a job's object shows, as far as is known. */
export type ShownStatus = (job: JobRef) => TrainerStatus | undefined;

function create(job: JobRef, shown: TrainerStatus | undefined): LedgerEntry {
  return {
    job,
    failures: 0,
    pending: undefined,
    writing: undefined,
    dueAtMs: -Infinity,
    removed: false,
    firstHasPriority: shown === undefined,
    hundredHasPriority: shown?.progressPercentage !== 100,
  };
}

/** Returns whether an entry has priority: a job's first value and its first 100% have it, once each. */
function isUrgent({ firstHasPriority, hundredHasPriority, pending }: LedgerEntry): boolean {
  return firstHasPriority || (hundredHasPriority && pending?.status.progressPercentage === 100);
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  for (const item of set) return item;
  return undefined;
}

/** Creates an empty queue of jobs with their values; bookkeeping without a clock. Every `nowMs` is monotonic. */
export function createLedgerQueue() {
  const entries = new Map<string, LedgerEntry>();
  /** Due and with a value, in the order of writing. */
  const urgent = new Set<LedgerEntry>();
  const ready = new Set<LedgerEntry>();
  /** Written and within their interval, which is the same for all: in the order of being due. */
  const cooling = new Set<LedgerEntry>();
  /** Failed and backing off, in no order; no more than the budget can make fail in that time. */
  const retrying = new Set<LedgerEntry>();
  /** Without a value to write, the longest idle first; some of them are cooling, too. */
  const idle = new Set<LedgerEntry>();

  function unqueue(entry: LedgerEntry): void {
    urgent.delete(entry);
    ready.delete(entry);
    cooling.delete(entry);
    retrying.delete(entry);
  }

  /** Puts an entry that is due into its set; an entry that is queued keeps its position. */
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
    has: (uid: string) => entries.has(uid),
    size: () => entries.size,
    /** Number of jobs with a value that is not written yet, including those that are being written. */
    pending: () => entries.size - idle.size,
    /** Returns the time since which the oldest value waits. Looks at every job. */
    oldestMs(): number | undefined {
      let oldest: number | undefined;
      for (const { writing, pending } of entries.values()) {
        const sinceMs = writing?.sinceMs ?? pending?.sinceMs;
        if (sinceMs !== undefined) oldest = Math.min(oldest ?? Infinity, sinceMs);
      }
      return oldest;
    },
    /** Forgets the job that has been idle for longest and is past its interval. Returns false if there is none. */
    evict(nowMs: number): boolean {
      const entry = first(idle);
      if (entry === undefined || entry.dueAtMs > nowMs) return false;
      idle.delete(entry);
      cooling.delete(entry);
      return entries.delete(entry.job.uid);
    },
    /**
     * Takes a job's newest value. `shown` is called if the job is new to the queue: a value that its object
     * shows already is neither a first value nor a first 100%. Returns whether the job is due now.
     */
    put(job: JobRef, status: TrainerStatus, nowMs: number, shown: ShownStatus): boolean {
      const entry = entries.get(job.uid) ?? add(job, shown);
      entry.pending = { status, sinceMs: entry.pending?.sinceMs ?? nowMs };
      idle.delete(entry);
      if (entry.writing || entry.dueAtMs > nowMs) return false;
      promoteCooled(nowMs);
      retrying.delete(entry);
      enqueue(entry);
      return true;
    },
    /** Removes a job. Returns whether a pending value is lost. */
    remove(uid: string): boolean {
      const entry = entries.get(uid);
      if (entry === undefined) return false;
      entry.removed = true;
      entries.delete(uid);
      idle.delete(entry);
      unqueue(entry);
      return entry.pending !== undefined;
    },
    /** Returns when to look again: `nowMs` if a job is due, undefined if no job can become due. */
    nextDueMs(nowMs: number): number | undefined {
      promote(nowMs);
      if (urgent.size + ready.size > 0) return nowMs;
      let due = first(cooling)?.dueAtMs;
      for (const { dueAtMs } of retrying) due = Math.min(due ?? Infinity, dueAtMs);
      return due;
    },
    /** Returns the next job that is due, with the value to write; a later value waits for the next write. */
    take(nowMs: number): { entry: LedgerEntry; status: TrainerStatus } | undefined {
      promote(nowMs);
      const entry = first(urgent) ?? first(ready);
      const waiting = entry?.pending;
      if (entry === undefined || waiting === undefined) return undefined;
      unqueue(entry);
      entry.pending = undefined;
      entry.writing = waiting;
      // Priority ends with the attempt: jobs whose writes fail again and again would keep the others waiting.
      entry.firstHasPriority = false;
      if (waiting.status.progressPercentage === 100) entry.hundredHasPriority = false;
      return { entry, status: waiting.status };
    },
    /** A write that `take` began has ended. */
    settle(entry: LedgerEntry, { retry, dueAtMs }: {
      /** Whether the value is to be written again; a newer one is written in its place. */
      readonly retry: boolean;
      /** Time at which the job's next write may begin. */
      readonly dueAtMs: number;
    }): void {
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
    /** Makes everything that is pending due at once. */
    makeAllDue(nowMs: number): void {
      cooling.clear();
      retrying.clear();
      for (const entry of entries.values()) {
        entry.dueAtMs = Math.min(entry.dueAtMs, nowMs);
        enqueue(entry);
      }
    },
  };
}
