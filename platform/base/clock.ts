/** Clock: the only file here that reads the time or sets a timer. */

/** Source of time. Tests pass a fake one. */
export interface Clock {
  /** Wall-clock time, in milliseconds since the epoch. It may jump. */
  now(): number;
  /** Time that only grows, in milliseconds from an unknown start. Measure durations with it. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts. Never throws. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Longest delay that a timer of the platform takes; longer sleeps are cut into pieces. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish, { once: true });
  });
}

/** Calls `act` after `ms` milliseconds. Returns a function that prevents it, and leaves no timer behind. */
export function after(clock: Pick<Clock, "sleep">, ms: number, act: () => void): () => void {
  const over = new AbortController();
  clock.sleep(ms, over.signal).then(() => over.signal.aborted || act());
  // A constant: a new error, which nobody reads, would cost more than most of what has a timer.
  return () => over.abort("over");
}

/** Calls `act` after each `ms` milliseconds, until the returned function is called. */
export function every(clock: Pick<Clock, "sleep">, ms: number, act: () => void): () => void {
  const over = new AbortController();
  const run = async () => {
    for (;;) {
      await clock.sleep(ms, over.signal);
      if (over.signal.aborted) return;
      act();
    }
  };
  void run();
  return () => over.abort("over");
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    let left = Math.max(0, ms);
    do {
      if (signal?.aborted) return;
      const step = Math.min(left, LONGEST_TIMER_MS);
      await sleepOnce(step, signal);
      left -= step;
    } while (left > 0);
  },
};
