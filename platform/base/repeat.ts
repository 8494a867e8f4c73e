/** Loop of passes: another when it is due, when the loop is woken, or after a failure. */
import { type RetryOptions, retryUntilAborted } from "./backoff.ts";
import type { Sleeper } from "./sleeper.ts";

/** Options of {@link repeat}. */
export interface RepeatOptions extends Omit<RetryOptions, "signal"> {
  /** One pass; returns the milliseconds to the next. Throws to be made again after a back-off. */
  readonly pass: (signal: AbortSignal) => Promise<number>;
  /** What wakes it before the next pass is due. */
  readonly sleeper: Sleeper;
  /** Pause after it was woken, so that a burst of changes is one pass, in milliseconds. Default 0. */
  readonly settleMs?: number;
}

/** Makes passes until `signal` aborts; then resolves once the pass in hand is over. */
export async function repeat(options: RepeatOptions, signal: AbortSignal): Promise<void> {
  const { pass, sleeper, clock, settleMs = 0 } = options;
  const attempt = (signal: AbortSignal) => {
    sleeper.reset();
    return pass(signal);
  };
  for (;;) {
    const restMs = await retryUntilAborted(attempt, { ...options, signal });
    if (restMs === undefined || signal.aborted) return;
    if (await sleeper.sleep(restMs, signal)) await clock.sleep(settleMs, signal);
  }
}
