/** Exponential back-off with jitter. */
import type { Clock } from "./clock.ts";

/** Bounds of the delay after failures. */
export interface Backoff {
  /** Delay after the first failure, in milliseconds. */
  readonly firstMs: number;
  /** Longest delay, in milliseconds. */
  readonly longestMs: number;
}

/** Delay after so many failures in a row (1 or more): doubles from `firstMs` up to `longestMs`. */
export function exponentialMs(failures: number, { firstMs, longestMs }: Backoff): number {
  return Math.min(longestMs, firstMs * 2 ** Math.max(0, failures - 1));
}

/** The delay of {@link exponentialMs}, of which the upper half is left to chance. */
export function backoffMs(failures: number, backoff: Backoff, random: () => number): number {
  const full = exponentialMs(failures, backoff);
  return full / 2 + random() * full / 2;
}

/** Options of {@link retry}. */
export interface RetryOptions {
  readonly backoff: Backoff;
  readonly clock: Pick<Clock, "sleep">;
  /** A number from 0 up to 1. Default `Math.random`. */
  readonly random?: () => number;
  readonly signal: AbortSignal;
  /** Called after each failure, for the log. Throws to give up. */
  readonly onFailure: (error: unknown, failures: number) => void;
}

/** Tries as {@link retry} does, but returns undefined once `signal` aborts. */
export async function retryUntilAborted<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  options: RetryOptions,
): Promise<T | undefined> {
  return await retry(attempt, options).catch((error) => {
    if (!options.signal.aborted) throw error;
    return undefined;
  });
}

/** Tries until an attempt succeeds. Throws the reason of `signal` once that aborts. */
export async function retry<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { backoff, clock, random = Math.random, signal, onFailure } = options;
  for (let failures = 1;; failures++) {
    signal.throwIfAborted();
    try {
      return await attempt(signal);
    } catch (error) {
      signal.throwIfAborted();
      onFailure(error, failures);
      await clock.sleep(backoffMs(failures, backoff, random), signal);
    }
  }
}
