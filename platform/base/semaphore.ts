/** Counting semaphore with a first-in, first-out queue. */
import { createFairTurns } from "./fair_turns.ts";

/** Limits how many pieces of work run at a time. */
export interface Semaphore {
  /** Runs the work when a place is free. Rejects with the signal's reason if it aborts before that. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Creates a {@link Semaphore} with `count` permits. Its queue has no bound of its own. */
export function createSemaphore(count: number): Semaphore {
  const inTurn = createFairTurns({ perKey: count });
  return { run: (work, signal) => inTurn("", work, signal) };
}
