/** A queue of keys: each at most once in it, never two workers on one, failures spaced out. */
import { type Clock, systemClock } from "./clock.ts";
import { createDelayedKeys } from "./delayed_keys.ts";

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
  /** Told the depth after each change of it. */
  onDepth?: (depth: number) => void;
}

/** A rate-limited, de-duplicating queue of keys. */
export interface WorkQueue {
  /** Queues the key now. One in hand is queued again when it is done. */
  add(key: string): void;
  /** Queues the key after `ms` milliseconds; an earlier time that is set already stays. */
  addAfter(key: string, ms: number): void;
  /**
   * Queues the key after the next delay of its own, which doubles with each failure, or after
   * `atLeastMs` where that is later. Answers the delay in milliseconds.
   */
  addRateLimited(key: string, atLeastMs?: number): number;
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
  /** Ends the timer and every {@link take}. Queued keys are dropped; later ones are ignored. */
  shutDown(): void;
}

/**
 * Delay after the given number of failures: doubles from `firstMs` up to `longestMs`, of which the
 * upper half is left to chance.
 */
export function backoffMs(failures: number, backoff: Backoff, random: () => number): number {
  const { firstMs = 5, longestMs = 300_000 } = backoff;
  const full = Math.min(longestMs, firstMs * 2 ** Math.max(0, failures - 1));
  return full / 2 + random() * full / 2;
}

/** An empty queue. Its timer runs only while somebody waits in {@link WorkQueue.take}. */
export function createWorkQueue(options: WorkQueueOptions = {}): WorkQueue {
  const { clock = systemClock, random = Math.random, backoff = {}, onDepth } = options;
  /** Keys to work on, oldest first; a Set keeps the order and drops what is there already. */
  const ready = new Set<string>();
  const inHand = new Set<string>();
  /** Keys in hand that were added meanwhile. */
  const dirty = new Set<string>();
  const delayed = createDelayedKeys();
  const failures = new Map<string, number>();
  const waiters: ((key: string | undefined) => void)[] = [];
  let timer: { at: number; stop: AbortController } | undefined;
  let down = false;

  function add(key: string): void {
    if (down) return;
    if (inHand.has(key)) {
      dirty.add(key);
      return;
    }
    ready.add(key);
    serve();
  }

  /** Hands ready keys to those who wait. */
  function serve(): void {
    for (const key of ready) {
      const waiter = waiters.shift();
      if (waiter === undefined) break;
      ready.delete(key);
      inHand.add(key);
      waiter(key);
    }
    onDepth?.(ready.size);
    armTimer();
  }

  function addDue(): void {
    for (const key of delayed.takeDue(clock.monotonic())) add(key);
  }

  function armTimer(): void {
    const next = waiters.length > 0 ? delayed.nextAt() : undefined;
    if (next === timer?.at) return;
    timer?.stop.abort();
    timer = undefined;
    if (next === undefined) return;
    const stop = new AbortController();
    timer = { at: next, stop };
    clock.sleep(next - clock.monotonic(), stop.signal).then(() => {
      if (stop.signal.aborted) return;
      timer = undefined;
      addDue();
      armTimer();
    });
  }

  function addAfter(key: string, ms: number): void {
    if (down) return;
    if (!(ms > 0)) return add(key);
    delayed.set(key, clock.monotonic() + ms);
    armTimer();
  }

  return {
    add,
    addAfter,
    addRateLimited(key, atLeastMs = 0) {
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      const delay = Math.max(backoffMs(count, backoff, random), atLeastMs);
      addAfter(key, delay);
      return delay;
    },
    forget: (key) => void failures.delete(key),
    failures: (key) => failures.get(key) ?? 0,
    take() {
      if (down) return Promise.resolve(undefined);
      addDue();
      const taken = new Promise<string | undefined>((resolve) => waiters.push(resolve));
      serve();
      return taken;
    },
    done(key) {
      inHand.delete(key);
      if (dirty.delete(key)) add(key);
    },
    get depth() {
      return ready.size;
    },
    shutDown() {
      down = true;
      ready.clear();
      dirty.clear();
      delayed.clear();
      for (const waiter of waiters.splice(0)) waiter(undefined);
      armTimer();
    },
  };
}
