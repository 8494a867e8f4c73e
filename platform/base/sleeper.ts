/** Sleeps of one loop that others can end. */
import { onAbort } from "./aborted.ts";
import type { Clock } from "./clock.ts";

/** The sleeper. */
export type Sleeper = ReturnType<typeof createSleeper>;

/** Creates a {@link Sleeper} for one loop. */
export function createSleeper(clock: Pick<Clock, "sleep">) {
  let isWoken = false;
  let end = () => {};
  return {
    /** Ends the sleep; if nobody sleeps, the next one ends at once. */
    wake(): void {
      isWoken = true;
      end();
    },
    /** Forgets that it was woken: what follows sees why. */
    reset: (): void => void (isWoken = false),
    /** Resolves after `ms`, when it is woken, or when `signal` aborts. Returns whether it was woken since the last sleep. */
    async sleep(ms: number, signal: AbortSignal): Promise<boolean> {
      if (!isWoken) {
        const over = new AbortController();
        end = () => over.abort("woken");
        const forget = onAbort(signal, end);
        await clock.sleep(ms, over.signal);
        forget();
      }
      const wasWoken = isWoken;
      isWoken = false;
      return wasWoken;
    },
  };
}
