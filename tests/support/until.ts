/** Waiting for a condition, with a deadline whose message names the condition. */

/** Deadline and interval of the checks, in milliseconds. */
export interface UntilOptions {
  /** Default 60000: a bound for a machine under load, not a measure. */
  timeoutMs?: number;
  /** Default: an eighth of the time waited so far, from 10 to 100. */
  everyMs?: number;
}

/**
 * Looks again and again until `look` answers something other than `undefined` or `false`, and answers
 * that. What `look` throws counts as "not yet". Throws with the last look when the time is over.
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  { timeoutMs = 60_000, everyMs }: UntilOptions = {},
): Promise<T> {
  const began = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const value = await look();
      if (value !== undefined && value !== false) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    const waitedMs = performance.now() - began;
    if (waitedMs > timeoutMs) {
      const detail = last instanceof Error ? `: ${last.message}` : "";
      throw new Error(`after ${timeoutMs} ms still waiting for ${what}${detail}`, { cause: last });
    }
    const pauseMs = everyMs ?? Math.min(Math.max(waitedMs / 8, 10), 100);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
