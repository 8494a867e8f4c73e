/** Poll: a question that is asked again and again, later each time that it fails, and soon when it is woken. */
import { type Backoff, backoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import { createSleeper } from "./sleeper.ts";

/** After a question that failed, or when the poll is woken. */
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 10_000 };

/** Creates the poll. */
export function createPoll(options: {
  readonly clock: Pick<Clock, "sleep">;
  /** A number from 0 up to 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Longest time after a question that did not fail, in milliseconds; up to a fifth less by chance. */
  readonly everyMs: number;
  /** Returns false, or throws, to be asked again soon. */
  readonly ask: (signal: AbortSignal) => Promise<boolean | void>;
  /** Called with what it throws, unless the poll ends. */
  readonly onFailure?: (error: unknown) => void;
}) {
  const { clock, random = Math.random, everyMs, ask, onFailure = () => {} } = options;
  const first = Promise.withResolvers<void>();
  const sleeper = createSleeper(clock);

  /** Returns whether it went well. */
  async function askOnce(signal: AbortSignal): Promise<boolean> {
    try {
      return await ask(signal) !== false;
    } catch (error) {
      if (!signal.aborted) onFailure(error);
      return false;
    }
  }

  return {
    /** Has it ask soon. */
    wake: sleeper.wake,
    /** Resolves when it has asked once, and told if that failed, or asks no more. */
    polled: first.promise,
    /** Asks until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      // What a question does not mend must not cause one after the other, whether it fails or is woken.
      for (let hurried = 0; !signal.aborted;) {
        sleeper.reset();
        const isWell = await askOnce(signal);
        first.resolve();
        const restMs = everyMs * (0.8 + 0.2 * random());
        hurried = !isWell || await sleeper.sleep(restMs, signal) ? hurried + 1 : 0;
        if (hurried > 0) await clock.sleep(backoffMs(hurried, BACKOFF, random), signal);
      }
      first.resolve();
    },
  };
}
