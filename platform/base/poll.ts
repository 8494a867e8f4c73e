/** Poll: a question that is asked again and again, later each time that it fails, and soon when it is woken. */
import { type Backoff, backoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import { createSleeper } from "./sleeper.ts";

/** After a question that failed, or when the poll is woken. */
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 10_000 };

/** Options of {@link createPoll}. */
export interface PollOptions {
  readonly clock: Pick<Clock, "sleep">;
  /** A number from 0 up to 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Longest time after a question that did not fail, in milliseconds; up to a fifth less by chance. */
  readonly everyMs: number;
  /** Returns whether all went well. Must not throw. */
  readonly ask: (signal: AbortSignal) => Promise<boolean>;
}

/** The poll. */
export interface Poll {
  /** Has it ask soon. */
  wake(): void;
  /** Resolves when it has asked once, or asks no more. */
  readonly polled: Promise<void>;
  /** Asks until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Creates it. */
export function createPoll({ clock, random = Math.random, everyMs, ask }: PollOptions): Poll {
  const first = Promise.withResolvers<void>();
  const sleeper = createSleeper(clock);

  async function run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      if (!await ask(signal)) sleeper.wake();
      first.resolve();
      // Being woken counts as a failure: what a question does not mend must not cause one after the other.
      const isWoken = await sleeper.sleep(everyMs * (0.8 + 0.2 * random()), signal);
      failures = isWoken ? failures + 1 : 0;
      if (failures > 0) await clock.sleep(backoffMs(failures, BACKOFF, random), signal);
    }
    first.resolve();
  }

  return { wake: sleeper.wake, polled: first.promise, run };
}
