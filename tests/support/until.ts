/** Waiting for a condition, with a deadline that names what did not come. */

/** How long to wait, and how often to look, in milliseconds. */
export interface UntilOptions {
  /** Default 60000: a bound for a machine under load, not a measure. */
  timeoutMs?: number;
  everyMs?: number;
}

/**
 * Looks again and again until `look` answers something other than `undefined` or `false`, and answers
 * that. What `look` throws counts as "not yet". Throws with the last look when the time is over.
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  { timeoutMs = 60_000, everyMs = 20 }: UntilOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await look();
      if (value !== undefined && value !== false) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      const detail = last instanceof Error ? `: ${last.message}` : "";
      throw new Error(`after ${timeoutMs} ms still waiting for ${what}${detail}`, { cause: last });
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
