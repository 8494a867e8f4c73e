/** What the owner holds for readers during one term: the newest status of each job, and who waits. */
import { LRUCache } from "lru-cache";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Push } from "../chain/exchange.ts";
import type { JobStatus, ReadEntry, Reading, ReadJob } from "./reading.ts";

/** The newest status by job, for the readers of one term. */
export interface HeldStatuses {
  /** A push was taken: it is the newest of its job now. */
  put(push: Push): void;
  /** The job is gone. */
  forget(uid: string): void;
  /**
   * The jobs whose state is not the one of their cursor; where there are none, waits for up to
   * `waitMs` milliseconds until there are. Answers what there is when `signal` aborts, or the term
   * ends. Never throws.
   */
  poll(
    entries: readonly ReadEntry[],
    waitMs: number,
    signal: AbortSignal,
  ): Promise<readonly Reading[]>;
  /** The term is over: who waits is answered, and nobody waits any more. */
  close(): void;
}

/** Options of {@link createHeldStatuses}. */
export interface HeldStatusesOptions {
  /** What the object of that UID itself shows; undefined where it shows nothing. */
  readonly shown: (job: ReadJob) => TrainerStatus | undefined;
  readonly clock: Clock;
  /** Tells this term from every other one. */
  readonly term: string;
  /** Jobs held; the longest unused are forgotten, and read from their objects. Default 100000. */
  readonly maxJobs?: number;
}

interface Held {
  readonly status: JobStatus;
  readonly version: number;
}

/** Creates {@link HeldStatuses}, empty. */
export function createHeldStatuses(options: HeldStatusesOptions): HeldStatuses {
  const { shown, clock, term, maxJobs = 100_000 } = options;
  const held = new LRUCache<string, Held>({ max: maxJobs });
  /** Who waits for a job, by its UID. */
  const waiting = new Map<string, Set<() => void>>();
  const closed = new AbortController();
  let version = 0;

  function read(job: ReadJob): Reading {
    const own = held.get(job.uid);
    if (own !== undefined) {
      return { uid: job.uid, cursor: `${term}.${own.version}`, status: own.status };
    }
    const trainerStatus = shown(job);
    if (trainerStatus === undefined) return { uid: job.uid, cursor: `${term}.0` };
    const receivedTime = trainerStatus.lastUpdatedTime;
    return {
      uid: job.uid,
      cursor: `${term}.0.${receivedTime}`,
      status: { trainerStatus, receivedTime },
    };
  }

  const changed = (entries: readonly ReadEntry[]): Reading[] =>
    entries.flatMap(({ job, cursor }) => {
      const reading = read(job);
      return reading.cursor === cursor ? [] : [reading];
    });

  function wake(uid: string): void {
    for (const ring of waiting.get(uid) ?? []) ring();
  }

  /** Calls `ring` at the next change of one of the jobs; answers how to stop that. */
  function listen(entries: readonly ReadEntry[], ring: () => void): () => void {
    for (const { job: { uid } } of entries) {
      const rings = waiting.get(uid) ?? new Set();
      waiting.set(uid, rings.add(ring));
    }
    return () => {
      for (const { job: { uid } } of entries) {
        const rings = waiting.get(uid);
        rings?.delete(ring);
        if (rings?.size === 0) waiting.delete(uid);
      }
    };
  }

  return {
    put({ job: { uid }, pod, trainerStatus, receivedMs }) {
      version += 1;
      const receivedTime = new Date(receivedMs).toISOString();
      held.set(uid, { status: { trainerStatus, receivedTime, pod: pod.name }, version });
      wake(uid);
    },
    forget(uid) {
      held.delete(uid);
      wake(uid);
    },
    async poll(entries, waitMs, signal) {
      const now = changed(entries);
      if (now.length > 0 || waitMs <= 0 || signal.aborted || closed.signal.aborted) return now;
      const over = new AbortController();
      const ring = () => over.abort();
      const stop = listen(entries, ring);
      for (const early of [signal, closed.signal]) early.addEventListener("abort", ring);
      await clock.sleep(waitMs, over.signal);
      for (const early of [signal, closed.signal]) early.removeEventListener("abort", ring);
      stop();
      return changed(entries);
    },
    close: () => closed.abort(),
  };
}
