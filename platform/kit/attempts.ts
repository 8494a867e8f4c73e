/** Calls of a pass in their order, each attempted whatever became of those before it. */
import { inParallel } from "../base/parallel.ts";
import type { ReconcileResult } from "../kube/controller.ts";

/** What a pass has attempted. Once its signal aborts, each call rejects: a pass that is broken off says nothing. */
export class Attempts {
  /** What went wrong, in its order. */
  readonly errors: unknown[] = [];

  /** `ends`: reports whether an error ends the pass, by the rejection of its call. */
  constructor(
    private readonly signal: AbortSignal,
    private readonly ends = (_error: unknown) => false,
  ) {}

  /** Whether something went wrong. */
  get failed(): boolean {
    return this.errors.length > 0;
  }

  /** Calls for each item, 50 at a time, and waits for all. Returns whether all went well. */
  async each<T>(items: readonly T[], call: (item: T) => Promise<unknown>): Promise<boolean> {
    const errors = await inParallel(items, call, { signal: this.signal });
    for (const error of errors) this.#take(error);
    this.signal.throwIfAborted();
    return errors.length === 0;
  }

  /** Makes one call. Returns its result; undefined if it failed. */
  async one<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      this.#take(error);
      return undefined;
    }
  }

  /** Returns the result of the pass: the first error, if there is one, and when the next pass is due in any case. */
  result(requeueAfterMs?: number): ReconcileResult {
    if (this.failed) return { error: this.errors[0], requeueAfterMs };
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  #take(error: unknown): void {
    this.signal.throwIfAborted();
    if (this.ends(error)) throw error;
    this.errors.push(error);
  }
}
