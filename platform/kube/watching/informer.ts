/** Informer: a cache of all objects of a kind, kept current by list and watch. */
import { getLogger } from "@logtape/logtape";
import { settledOrAborted } from "../../base/aborted.ts";
import { systemClock } from "../../base/clock.ts";
import { type Change, InformerCache } from "./informer_cache.ts";
import { type ListWatchOptions, runListWatch } from "./list_watch.ts";
import { formatKey, keyOf, type KubeObject, type ObjectKey } from "../resource.ts";
import { createListeners } from "../../base/listeners.ts";

/**
 * A cache of one kind. Its objects are frozen, lack `metadata.managedFields`, and share parts that are
 * equal: copy before you change one.
 */
export interface Informer<T> {
  get(key: ObjectKey | string): T | undefined;
  list(namespace?: string): T[];
  /** Objects for which the index function of that name gave `value`. Throws for an unknown index. */
  byIndex(index: string, value: string): T[];
  /** Whether the first list is in the cache and was delivered to the listeners. */
  readonly synced: boolean;
  /** Resolves with true when synced, with false when `signal` aborts or the informer stops before. */
  whenSynced(signal?: AbortSignal): Promise<boolean>;
  /**
   * Calls the listener for every change after the cache has it; objects that are there already come
   * as `added` at once. Returns a function that ends this. A listener that throws is logged.
   */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Runs until `signal` aborts, through all failures of the server. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

/** The part of an informer that controllers read. */
export type Cache<T> = Omit<Informer<T>, "run">;

/** Options of {@link createInformer}. */
export interface InformerOptions<T>
  extends
    Omit<ListWatchOptions<T>, "clock" | "random">,
    Partial<Pick<ListWatchOptions<T>, "clock">> {
  /** Which objects are held; the others count as absent. Default: all. */
  keep?: (object: T) => boolean;
  /** Values under which an object is found, by the name of the index. */
  indexes?: Record<string, (object: T) => string[]>;
  /** A number from 0 up to 1. Default `Math.random`. */
  random?: () => number;
  /** Called with each whole list before the cache has it, also with what is not held, and keys of what cannot be read. */
  onList?: (objects: readonly T[], unreadable: readonly string[]) => void;
}

const logger = getLogger(["milepost", "kube", "informer"]);

type Listener<T> = (change: Change<T>) => void;

/** Calls a listener and logs its errors. */
export function tell<T>(kind: string, listener: Listener<T>, change: Change<T>): void {
  const log = (error: unknown) => logger.error("a listener failed", { kind, error });
  try {
    // The type also admits an async function as a listener.
    const result: unknown = listener(change);
    if (result instanceof Promise) result.catch(log);
  } catch (error) {
    log(error);
  }
}

/** An informer; it starts with {@link Informer.run}. */
export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  const { kind, clock = systemClock, random = Math.random, indexes = {} } = options;
  const { keep = () => true } = options;
  const cache = new InformerCache<T>(indexes);
  const listeners = createListeners<Change<T>>((it, change) => tell(kind.kind, it, change));
  /** Settles when the informer is synced, or has stopped. */
  const known = Promise.withResolvers<void>();
  let synced = false;
  let started = false;

  function deliver(changes: readonly Change<T>[]): void {
    for (const change of changes) listeners.notify(change);
  }

  return {
    get: (key) => cache.get(typeof key === "string" ? key : formatKey(key)),
    list: (namespace) => cache.list(namespace),
    byIndex: (index, value) => cache.byIndex(index, value),
    get synced() {
      return synced;
    },
    async whenSynced(signal) {
      await settledOrAborted(known.promise, signal);
      return synced;
    },
    onChange(listener) {
      const remove = listeners.add(listener);
      for (const object of cache.list()) tell(kind.kind, listener, { type: "added", object });
      return remove;
    },
    async run(signal) {
      if (started) throw new Error(`informer of ${kind.plural}: run can be called only once`);
      started = true;
      await runListWatch({ ...options, clock, random }, {
        replace(objects, unreadable) {
          options.onList?.(objects, unreadable);
          const kept = objects.filter(keep);
          const left = kept.length < objects.length ? objects.filter((it) => !keep(it)) : [];
          deliver([...left.flatMap((it) => cache.leave(it)), ...cache.replace(kept, unreadable)]);
          synced = true;
          known.resolve();
        },
        put: (object) => deliver(keep(object) ? cache.put(object) : cache.leave(object)),
        remove: (object) => deliver(cache.remove(keyOf(object), object)),
        removeKey: (key) => deliver(cache.remove(key)),
      }, signal);
      known.resolve();
    },
  };
}
