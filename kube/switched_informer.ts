/** Informer that runs only while a switch is on; it counts as synced, and is empty, while it is off. */
import {
  type Change,
  createInformer,
  type Informer,
  type InformerOptions,
  tell,
} from "./informer.ts";
import type { KubeObject } from "./resource.ts";
import type { Switch } from "./switch.ts";

/** An {@link Informer} of what is not always there. */
export interface SwitchedInformer<T> extends Informer<T> {
  /**
   * False only while the first list is read of what is on from the start. It stays true when the switch is turned
   * on later, lest a replica that serves become unready.
   */
  readonly settled: boolean;
}

/** Options of {@link createSwitchedInformer}. */
export interface SwitchedInformerOptions<T> extends InformerOptions<T> {
  readonly power: Switch;
}

/** Creates the cache. Each time the switch is turned on, everything is listed anew. */
export function createSwitchedInformer<T extends KubeObject>(
  options: SwitchedInformerOptions<T>,
): SwitchedInformer<T> {
  const { power, kind } = options;
  const listeners = new Set<(change: Change<T>) => void>();
  const waiters = new Set<() => void>();
  let inner: Informer<T> | undefined;
  let settled = false;
  let stopped = false;

  const deliver = (change: Change<T>) => {
    for (const listener of [...listeners]) tell(kind.kind, listener, change);
  };
  const isSynced = () => power.on === false || inner?.synced === true;

  function changed(): void {
    settled ||= isSynced();
    for (const waiter of [...waiters]) waiter();
  }

  async function runOnce(signal: AbortSignal): Promise<void> {
    const current = createInformer(options);
    inner = current;
    current.onChange(deliver);
    current.whenSynced(signal).then(changed);
    await current.run(signal);
    if (power.on) return;
    inner = undefined;
    for (const object of current.list()) deliver({ type: "deleted", object });
  }

  return {
    get: (key) => inner?.get(key),
    list: (namespace) => inner?.list(namespace) ?? [],
    byIndex: (index, value) => inner?.byIndex(index, value) ?? [],
    get synced() {
      return isSynced();
    },
    whenSynced(signal) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const check = () => {
        if (isSynced()) resolve(true);
        else if (stopped || signal?.aborted) resolve(false);
      };
      waiters.add(check);
      signal?.addEventListener("abort", check, { once: true });
      check();
      return promise.finally(() => {
        waiters.delete(check);
        signal?.removeEventListener("abort", check);
      });
    },
    get settled() {
      return settled || power.on === undefined;
    },
    onChange(listener) {
      listeners.add(listener);
      for (const object of inner?.list() ?? []) {
        tell(kind.kind, listener, { type: "added", object });
      }
      return () => void listeners.delete(listener);
    },
    async run(signal) {
      const stop = power.onChange(changed);
      changed();
      try {
        await power.whileOn(runOnce, signal);
      } finally {
        stop();
        stopped = true;
        changed();
      }
    },
  };
}
