/**
 * Informer that runs only while a switch is on; it counts as synced, and is empty, while it is off
 * (docs/decisions/0061).
 */
import {
  type Change,
  createInformer,
  type Informer,
  type InformerOptions,
  tell,
} from "./informer.ts";
import { keyOf, type KubeObject } from "../resource.ts";
import { onAbort } from "../../base/aborted.ts";
import type { Switch } from "../../base/switch.ts";

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
  /**
   * Whether it is told, when the switch is on again, which of the objects that left are deleted; until then these stay
   * in memory. Default true.
   */
  readonly tellsDeletions?: boolean;
}

/**
 * Creates the cache. When the switch is turned off, its objects leave. Each time it is turned on, everything is
 * listed anew; those that left and are not there any more are deleted, if that is to be told.
 */
export function createSwitchedInformer<T extends KubeObject>(
  options: SwitchedInformerOptions<T>,
): SwitchedInformer<T> {
  const { power, kind, tellsDeletions = true } = options;
  const listeners = new Set<(change: Change<T>) => void>();
  const waiters = new Set<() => void>();
  /** Objects that left, by key, until it is known whether they still exist. */
  let away: ReadonlyMap<string, T> = new Map();
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

  /** Tells which of the objects that left are gone, by a list of all that exist. */
  function settleAway(objects: readonly T[], unreadable: readonly string[]): void {
    if (away.size === 0) return;
    const uids = new Map(objects.map((it) => [keyOf(it), it.metadata?.uid]));
    const unknown = new Set(unreadable);
    const before = [...away];
    away = new Map(before.filter(([key]) => unknown.has(key)));
    for (const [key, object] of before) {
      const isGone = !unknown.has(key) && uids.get(key) !== object.metadata?.uid;
      if (isGone) deliver({ type: "deleted", object });
    }
  }

  /** Runs until `signal` aborts; that of the whole is `stop`. */
  async function runOnce(signal: AbortSignal, stop: AbortSignal): Promise<void> {
    const current = createInformer({ ...options, onList: settleAway });
    inner = current;
    current.onChange(deliver);
    current.whenSynced(signal).then(changed);
    await current.run(signal);
    if (stop.aborted) return;
    inner = undefined;
    const held = current.list();
    if (tellsDeletions) {
      away = new Map([...away, ...held.map((object) => [keyOf(object), object] as const)]);
    }
    for (const object of held) deliver({ type: "left", object });
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
      const forget = onAbort(signal, check);
      check();
      return promise.finally(() => {
        waiters.delete(check);
        forget();
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
        await power.whileOn((it) => runOnce(it, signal), signal);
      } finally {
        stop();
        stopped = true;
        changed();
      }
    },
  };
}
