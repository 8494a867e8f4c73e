/** Counting semaphore with a first-in, first-out queue. */

import { onAbort } from "./aborted.ts";

/** Limits how many pieces of work run at a time. */
export interface Semaphore {
  /** Runs the work when a place is free. Rejects with the signal's reason if it aborts before that. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Creates a {@link Semaphore} with `count` permits. Its queue has no bound of its own. */
export function createSemaphore(count: number): Semaphore {
  let free = count;
  /** Callers that wait, in order; one whose signal aborts leaves. */
  const queue = new Set<() => void>();

  function release(): void {
    const [next] = queue;
    if (next === undefined) free++;
    else next();
  }

  function acquire(signal: AbortSignal): Promise<void> {
    if (free > 0) {
      free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        queue.delete(enter);
        reject(signal.reason);
      };
      const enter = () => {
        queue.delete(enter);
        forget();
        resolve();
      };
      queue.add(enter);
      const forget = onAbort(signal, leave);
    });
  }

  return {
    async run(work, signal) {
      signal.throwIfAborted();
      await acquire(signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
