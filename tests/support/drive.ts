/** Runs a reconciler by hand until it has nothing left to do, without timers. */
import type { ReconcileResult } from "../../platform/kube/controller.ts";
import type { Source } from "../../platform/kube/sources.ts";

/** The driven reconciler. */
export interface Driven {
  reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult>;
  readonly sources: readonly Source[];
}

/** A driver of one reconciler. */
export class Driver {
  /** Errors of passes, in order. */
  readonly errors: unknown[] = [];
  /** Requeue times of the last pass of each key, in milliseconds. */
  readonly requeues = new Map<string, number>();
  /** Called after each pass. */
  afterPass?: () => void;
  /** Number of passes. */
  passes = 0;
  readonly #dirty = new Set<string>();
  readonly #driven: Driven;
  readonly #ends: readonly (() => void)[];

  constructor(driven: Driven) {
    this.#driven = driven;
    this.#ends = driven.sources.map((source) => source.start((key) => this.#dirty.add(key)));
  }

  /** As if a change of the key had been seen. */
  enqueue(key: string): void {
    this.#dirty.add(key);
  }

  /** Passes until no key is left; one that fails comes again. Throws after `most` passes. */
  async settle(most = 200): Promise<void> {
    for (let passes = 0; this.#dirty.size > 0; passes++) {
      if (passes >= most) throw new Error(`not settled after ${most} passes: ${this.errors}`);
      await this.pass();
    }
  }

  /** Whether a key waits. */
  get busy(): boolean {
    return this.#dirty.size > 0;
  }

  /** One pass of the first key that waits. */
  async pass(): Promise<void> {
    const [key] = this.#dirty;
    if (key === undefined) return;
    this.#dirty.delete(key);
    this.requeues.delete(key);
    this.passes++;
    try {
      const result = await this.#driven.reconcile(key, new AbortController().signal);
      const after = result?.requeueAfterMs;
      if (after !== undefined && after <= 1) this.#dirty.add(key);
      else if (after !== undefined) this.requeues.set(key, after);
      if (result?.error !== undefined) throw result.error;
    } catch (error) {
      this.errors.push(error);
      this.#dirty.add(key);
    }
    this.afterPass?.();
  }

  /** Takes the reconciler off its caches, as the end of a process does. */
  stop(): void {
    for (const end of this.#ends) end();
    this.#dirty.clear();
  }
}
