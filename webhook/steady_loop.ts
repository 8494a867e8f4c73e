/** Reconciliation loop of one thing: again on change, at a set time, or after a failure. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/base/clock.ts";
import { repeat } from "../platform/base/repeat.ts";
import { createSleeper } from "../platform/base/sleeper.ts";

const log = getLogger(["milepost", "webhook"]);

/** Pauses after failures. */
const BACKOFF = { firstMs: 500, longestMs: 30_000 } as const;
/** Pause after a change, so that a burst of changes is one pass, in milliseconds. */
const SETTLE_MS = 50;
/** Time between passes if no change was reported, in milliseconds. */
const RESYNC_MS = 60_000;

/** Calls the listener when what is kept may have changed. Returns a function that stops this. */
export type ChangeSource = (listener: () => void) => () => void;

/** Runs passes until `signal` aborts; then resolves once the pass in hand is over. */
export async function runSteadyLoop(
  { name, clock, changes, pass }: {
    /** For the log. */
    readonly name: string;
    /** One pass; may resolve with the time to the next, in milliseconds, if that is due early. Throws to be tried again. */
    readonly pass: (signal: AbortSignal) => Promise<number | void>;
    readonly clock: Clock;
    readonly changes?: ChangeSource;
  },
  signal: AbortSignal,
): Promise<void> {
  const sleeper = createSleeper(clock);
  const stop = changes?.(sleeper.wake);
  await repeat({
    clock,
    sleeper,
    pass: async (signal) => Math.max(0, Math.min(RESYNC_MS, await pass(signal) ?? RESYNC_MS)),
    settleMs: SETTLE_MS,
    backoff: BACKOFF,
    onFailure: (error) => log.warn("cannot update {name}; retrying", { name, error }),
  }, signal).finally(stop);
}
