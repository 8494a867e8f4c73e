/** Sleeps of one loop that others can end. */
import { onAbort } from "./aborted.ts";
import type { Clock } from "./clock.ts";

/** The sleeper. */
export interface Sleeper {
  /** Ends the sleep; if nobody sleeps, the next one ends at once. */
  wake(): void;
  /** Forgets that it was woken: what follows sees why. */
  reset(): void;
  /** Resolves after `ms`, when it is woken, or when `signal` aborts. Returns whether it was woken since the last sleep. */
  sleep(ms: number, signal: AbortSignal): Promise<boolean>;
}

/** Creates a {@link Sleeper} for one loop. */
export function createSleeper(clock: Pick<Clock, "sleep">): Sleeper {
  let isWoken = false;
  let end = () => {};
  return {
    wake() {
      isWoken = true;
      end();
    },
    reset: () => void (isWoken = false),
    async sleep(ms, signal) {
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
