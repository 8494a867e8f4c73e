/** A queue of keys: each at most once in it, never two workers on one, failures spaced out. */
import type { Clock } from "./clock.ts";

/** Bounds of the delay after failures. */
export interface Backoff {
  /** Delay after the first failure, in milliseconds. Default 5. */
  readonly firstMs?: number;
  /** Longest delay, in milliseconds. Default 300000. */
  readonly longestMs?: number;
}

/** Options of {@link createWorkQueue}. */
export interface WorkQueueOptions {
  clock?: Clock;
  /** A number from 0 up to 1. Default `Math.random`. */
  random?: () => number;
  backoff?: Backoff;
}

/** A rate-limited, de-duplicating queue of keys. */
export interface WorkQueue {
  /** Queues the key now. One in hand is queued again when it is done. */
  add(key: string): void;
  /** Queues the key after `ms` milliseconds; an earlier time that is set already stays. */
  addAfter(key: string, ms: number): void;
  /** Queues the key after the next delay of its own. Answers the delay in milliseconds. */
  addRateLimited(key: string): number;
  /** Forgets the failures of the key. */
  forget(key: string): void;
  /** Failures since the last {@link forget}. */
  failures(key: string): number;
  /** The next key, when there is one; undefined when the queue was shut down. */
  take(): Promise<string | undefined>;
  /** Tells that the work on a key that was taken is over. Call it once for each key taken. */
  done(key: string): void;
  /** Keys that wait for a worker. */
  readonly depth: number;
  /** Ends the timer and every {@link take}. Queued keys are dropped. */
  shutDown(): void;
}

/** An empty queue. */
export function createWorkQueue(_options?: WorkQueueOptions): WorkQueue {
  throw new Error("the work queue is being built");
}
