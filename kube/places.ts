/** Places for work: so many pieces at a time, the others wait in their order. */

/** Lets work in, a few pieces at a time. */
export interface Places {
  /** Does the work when there is a place. Rejects with the signal's reason where it aborts before. */
  within<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Creates so many {@link Places}. Who waits in line is bounded by who asks. */
export function createPlaces(count: number): Places {
  let free = count;
  /** In their order; one that aborts leaves it. */
  const line = new Set<() => void>();

  function give(): void {
    const [next] = line;
    if (next === undefined) free++;
    else next();
  }

  function take(signal: AbortSignal): Promise<void> {
    if (free > 0) {
      free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        line.delete(enter);
        reject(signal.reason);
      };
      const enter = () => {
        line.delete(enter);
        signal.removeEventListener("abort", leave);
        resolve();
      };
      line.add(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  return {
    async within(work, signal) {
      signal.throwIfAborted();
      await take(signal);
      try {
        return await work();
      } finally {
        give();
      }
    },
  };
}
