/** A line in which work waits, so that little of it is under way at a time. */

/** Lets some through at a time, in the order in which they came. */
export class Line {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** @param places How many are let through at a time. */
  constructor(places: number) {
    this.#free = places;
  }

  /** Does the work when it is its turn. Rejects with the signal's reason where that aborts before. */
  async through<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const goneAway = () => {
        this.#waiting.delete(begin);
        reject(signal.reason);
      };
      const begin = () => {
        signal.removeEventListener("abort", goneAway);
        resolve();
      };
      this.#waiting.add(begin);
      signal.addEventListener("abort", goneAway, { once: true });
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
