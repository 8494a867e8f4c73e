/** Deadlines of work, by a clock and a signal. */
import { onAbort } from "./aborted.ts";
import { after, type Clock } from "./clock.ts";

/** The time that a piece of work may take, and the signal that ends it earlier. */
export interface Bounds {
  readonly clock: Clock;
  /** Milliseconds; `Infinity` for no limit. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
  /** The error with which the work is aborted when the time is over. */
  readonly onDeadline: () => Error;
}

/** A constant, because its stack is never read: a new error for each piece of work would cost more than the work. */
const ENDED = "ended";

/** Runs `work` with a signal that aborts when one of these does. Leaves no listener behind. */
export async function withSignals<T>(
  signals: readonly (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const given = signals.filter((it) => it !== undefined);
  for (const signal of given) signal.throwIfAborted();
  const inner = new AbortController();
  const forgets = given.map((signal) => onAbort(signal, () => inner.abort(signal.reason)));
  try {
    return await work(inner.signal);
  } finally {
    for (const forget of forgets) forget();
  }
}

/**
 * Runs `work` with a signal that aborts when the outer one does or when the time is over; the
 * signal's reason shows which. Leaves no timer and no listener behind.
 */
export async function withDeadline<T>(
  bounds: Bounds,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, deadlineMs, signal, onDeadline } = bounds;
  signal?.throwIfAborted();
  const inner = new AbortController();
  const forget = onAbort(signal, () => inner.abort(signal?.reason));
  const stop = Number.isFinite(deadlineMs)
    ? after(clock, deadlineMs, () => inner.abort(onDeadline()))
    : undefined;
  try {
    return await work(inner.signal);
  } catch (error) {
    throw inner.signal.aborted ? inner.signal.reason : error;
  } finally {
    stop?.();
    forget();
  }
}

/**
 * Returns what `work` answers, or `late` when `ms` milliseconds are over or the outer signal aborts, also if the work goes
 * on. Its own signal aborts when nobody waits for it any more. An answer that is there at once needs no promise and no
 * timer. Leaves neither timer nor listener behind.
 */
export function answerInTime<T, L>(
  clock: Pick<Clock, "sleep">,
  ms: number,
  late: L,
  work: (signal: AbortSignal) => T | Promise<T>,
  signal?: AbortSignal,
): T | Promise<T | L> {
  const over = new AbortController();
  const answer = work(over.signal);
  if (!(answer instanceof Promise)) return answer;
  return new Promise((resolve, reject) => {
    const end = () => {
      over.abort(ENDED);
      forget();
    };
    const forget = onAbort(signal, () => over.abort(ENDED));
    answer.then((it) => (end(), resolve(it)), (error) => (end(), reject(error)));
    clock.sleep(ms, over.signal).then(() => (end(), resolve(late)));
  });
}
