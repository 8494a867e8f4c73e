/** Looks at something again and again: after a while, sooner after one that failed or was called for. */
import { type Backoff, backoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import { createSleeper } from "./sleeper.ts";

/** Between two looks, in milliseconds, with jitter. */
const LOOK_MS = 60_000;
/** After one that failed, or when another is called for. */
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 10_000 };

/** Options of {@link createLooks}. */
export interface LooksOptions {
  readonly clock: Pick<Clock, "sleep">;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Returns whether all went well. Must not throw. */
  readonly look: (signal: AbortSignal) => Promise<boolean>;
}

/** The looks. */
export interface Looks {
  /** Calls for another look soon. */
  again(): void;
  /** Resolves after the first look, or when none is made any more. */
  readonly looked: Promise<void>;
  /** Looks until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Creates them. */
export function createLooks({ clock, random = Math.random, look }: LooksOptions): Looks {
  const first = Promise.withResolvers<void>();
  const sleeper = createSleeper(clock);

  async function run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      if (!await look(signal)) sleeper.wake();
      first.resolve();
      // Calls count as failures: one that a look does not mend must not cause look after look.
      const isCalled = await sleeper.sleep(LOOK_MS * (0.8 + 0.4 * random()), signal);
      failures = isCalled ? failures + 1 : 0;
      if (failures > 0) await clock.sleep(backoffMs(failures, BACKOFF, random), signal);
    }
    first.resolve();
  }

  return { again: sleeper.wake, looked: first.promise, run };
}
