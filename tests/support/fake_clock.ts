/** Fake clock, which stands still until a test advances it. */
import type { Clock } from "../../platform/base/clock.ts";

interface Sleeper {
  readonly wakeAt: number;
  readonly wake: () => void;
}

/** Runs everything that is ready: microtasks, and a few turns of the event loop. */
export async function settle(turns = 3): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
  }
}

/** Runs only microtasks, which is many times faster than {@link settle}. */
export async function settlePromises(turns = 40): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await undefined;
}

/** A {@link Clock} that a test advances by hand. Aborted sleeps leave nothing behind. */
export class FakeClock implements Clock {
  #now: number;
  #elapsed = 0;
  readonly #sleepers = new Set<Sleeper>();
  readonly #settle: () => Promise<void>;

  /**
   * @param now The wall-clock time at the start, in milliseconds since the epoch.
   * @param settling Runs what the end of a sleep has triggered.
   */
  constructor(now = Date.parse("2026-01-01T00:00:00Z"), settling: () => Promise<void> = settle) {
    this.#now = now;
    this.#settle = settling;
  }

  now(): number {
    return this.#now + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper: Sleeper = { wakeAt: this.#elapsed + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  /** Number of sleeps that have not ended. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Milliseconds until the next sleep ends; undefined where nobody sleeps. */
  get nextWakeMs(): number | undefined {
    const next = this.#next();
    return next && next.wakeAt - this.#elapsed;
  }

  /** Moves the wall clock alone, as an administrator would. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Lets `ms` milliseconds pass: sleeps end in order, and after each, what it set off runs. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await this.#settle();
    for (let next = this.#next(); next && next.wakeAt <= end; next = this.#next()) {
      this.#elapsed = Math.max(this.#elapsed, next.wakeAt);
      next.wake();
      await this.#settle();
    }
    this.#elapsed = end;
  }

  #next(): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (first === undefined || sleeper.wakeAt < first.wakeAt) first = sleeper;
    }
    return first;
  }
}

/**
 * Resolves when `condition` holds, checked at each turn of the event loop. Throws after
 * `deadlineMs` of real time, saying what was awaited.
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 10_000,
): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`);
    await new Promise<void>((resolve) => setTimeout(resolve, 2));
  }
}
