/** Work queue of keys with per-key back-off: each key is in it once, and with one worker at a time. */
import { type Backoff, backoffMs } from "./backoff.ts";
import { after, type Clock, systemClock } from "./clock.ts";
import { DelayedKeys } from "./delayed_keys.ts";

/** Bounds of the delay after failures of a key, when none are given. */
const DEFAULT_BACKOFF: Backoff = { firstMs: 5, longestMs: 300_000 };

/** A rate-limited, de-duplicating queue of keys. */
export type WorkQueue = ReturnType<typeof createWorkQueue>;

/** Calls `work`, which must not throw, with one key after the other, until the queue is shut down. */
export async function workOn(
  queue: Pick<WorkQueue, "take" | "done">,
  work: (key: string) => Promise<void>,
): Promise<void> {
  for (;;) {
    const key = await queue.take();
    if (key === undefined) return;
    await work(key);
    queue.done(key);
  }
}

/** Creates an empty queue. Its timer runs only while a worker waits in {@link WorkQueue.take}. */
export function createWorkQueue(options: {
  clock?: Clock;
  /** A number from 0 up to 1. Default `Math.random`. */
  random?: () => number;
  backoff?: Backoff;
  /** Called with the depth after each change of it. */
  onDepth?: (depth: number) => void;
} = {}) {
  const { clock = systemClock, random = Math.random, backoff = DEFAULT_BACKOFF, onDepth } = options;
  /** Keys to work on, oldest first; a Set keeps the order and drops duplicates. */
  const ready = new Set<string>();
  const inHand = new Set<string>();
  /** Keys that were added while they were being worked on. */
  const dirty = new Set<string>();
  const delayed = new DelayedKeys();
  const failures = new Map<string, number>();
  const waiters: ((key: string | undefined) => void)[] = [];
  let timer: { at: number; cancel: () => void } | undefined;
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

  /** Hands ready keys to the waiting workers. */
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
    timer?.cancel();
    timer = undefined;
    if (next === undefined) return;
    const onDue = () => {
      timer = undefined;
      addDue();
      armTimer();
    };
    timer = { at: next, cancel: after(clock, next - clock.monotonic(), onDue) };
  }

  function addAfter(key: string, ms: number): void {
    if (Number.isNaN(ms)) throw new RangeError(`${key}: the time to wait is no number`);
    if (down) return;
    if (ms <= 0) return add(key);
    delayed.set(key, clock.monotonic() + ms);
    armTimer();
  }

  return {
    /** Queues the key now. A key that is being worked on is queued again afterwards. */
    add,
    /** Queues the key after `ms` milliseconds; an earlier time that is set already stays. */
    addAfter,
    /**
     * Queues the key after the next delay of its own, which doubles with each failure, or after
     * `atLeastMs` if that is later. Returns the delay in milliseconds.
     */
    addRateLimited(key: string, atLeastMs = 0): number {
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      const delay = Math.max(backoffMs(count, backoff, random), atLeastMs);
      addAfter(key, delay);
      return delay;
    },
    /** Forgets the failures of the key. */
    forget: (key: string): void => void failures.delete(key),
    /** Failures since the last {@link forget}. */
    failures: (key: string): number => failures.get(key) ?? 0,
    /** Resolves with the next key, or with undefined when the queue is shut down. */
    take(): Promise<string | undefined> {
      if (down) return Promise.resolve(undefined);
      addDue();
      const taken = new Promise<string | undefined>((resolve) => waiters.push(resolve));
      serve();
      return taken;
    },
    /** Ends the work on a key that was taken. Call it once for each key taken. */
    done(key: string): void {
      inHand.delete(key);
      if (dirty.delete(key)) add(key);
    },
    /** Keys that wait for a worker. */
    get depth(): number {
      return ready.size;
    },
    /** Ends the timer and every {@link take}. Queued keys are dropped, later ones ignored. */
    shutDown(): void {
      down = true;
      ready.clear();
      dirty.clear();
      delayed.clear();
      for (const waiter of waiters.splice(0)) waiter(undefined);
      armTimer();
    },
  };
}
