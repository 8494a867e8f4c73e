/**
 * Informer of a kind that is not always there: it is empty, and counts as synced, while its kind is not served, may not be
 * read or is not wanted (docs/decisions/0061).
 */
import { aborted, onAbort } from "../../base/aborted.ts";
import { createListeners } from "../../base/listeners.ts";
import type { Switch } from "../../base/switch.ts";
import { keyOf, type KubeObject } from "../resource.ts";
import { createInformer, type Informer, type InformerOptions, tell } from "./informer.ts";
import type { Change } from "./informer_cache.ts";
import { createServedSwitch, type ServedSwitch } from "./served_switch.ts";

/** All namespaces at once. */
const EVERYWHERE = "";

/** Where a kind is watched: everywhere, not at all while it is not served or not wanted, or in these namespaces. */
export type WatchedScope = boolean | readonly string[];

const ALL: readonly string[] = [EVERYWHERE];
const NONE: readonly string[] = [];

/** An {@link Informer} of what is not always there. */
export interface ServedInformer<T> extends Informer<T> {
  /** Whether it is known that there is nothing to be watched now. */
  readonly resting: boolean;
  /**
   * Whether it was synced once, or the caller's switch knows nothing yet. It stays true when there is more to be listed,
   * lest a replica that serves become unready.
   */
  readonly wasSynced: boolean;
  /** Resolves as {@link Informer.whenSynced} does, about one namespace if that is given. */
  whenSynced(signal?: AbortSignal, namespace?: string): Promise<boolean>;
  /** Has it find out soon whether its kind is served, where nobody else says so. */
  wake(): void;
}

/** Options of {@link createServedInformer}. */
export interface ServedInformerOptions<T> extends Omit<InformerOptions<T>, "namespace" | "onList"> {
  /** Where it is watched. Default: everywhere while the kind can be listed, which the informer finds out. */
  readonly served?: Switch<WatchedScope>;
  /** Called when it has found out that the kind is served after all. */
  readonly onServed?: () => void;
  /**
   * Whether it is told, when a scope is watched again, which of the objects that left are deleted; until then these stay
   * in memory. Default true.
   */
  readonly tellsDeletions?: boolean;
}

/** What says where a kind is watched: the caller's switch, or one that asks the API server. */
function sourceOf<T>(
  options: ServedInformerOptions<T>,
): Omit<ServedSwitch, "served"> & { readonly served: Switch<WatchedScope> } {
  const { served } = options;
  if (served === undefined) return createServedSwitch(options);
  return { served, wake: () => {}, failed: () => {}, run: aborted };
}

/** One scope that is watched, a namespace or {@link EVERYWHERE}, until `stop` aborts. */
interface Member<T> {
  readonly informer: Informer<T>;
  readonly stop: AbortController;
}

/**
 * Creates the cache. When a scope is watched no more, its objects leave. Each time that one is watched, everything there is
 * listed anew; those that left and are not there any more are deleted, if that is to be told.
 */
export function createServedInformer<T extends KubeObject>(
  options: ServedInformerOptions<T>,
): ServedInformer<T> {
  const { kind, tellsDeletions = true } = options;
  const { served, wake, failed, run } = sourceOf(options);
  const listeners = createListeners<Change<T>>((it, change) => tell(kind.kind, it, change));
  const waiters = createListeners();
  const members = new Map<string, Member<T>>();
  /** Those of the members. */
  let informers: readonly Informer<T>[] = [];
  const running = new Set<Promise<void>>();
  /** By scope the objects that left, by key, until it is known whether they still exist. */
  const away = new Map<string, ReadonlyMap<string, T>>();
  let wasSynced = false;
  let stopped = false;

  const gather = (read: (informer: Informer<T>) => T[]) => {
    const [only] = informers;
    return only !== undefined && informers.length === 1 ? read(only) : informers.flatMap(read);
  };
  const scopes = () => served.on === true ? ALL : served.on || NONE;
  const isSynced = (scope?: string) =>
    served.on !== undefined &&
    (scope === undefined ? scopes() : [scope]).every((it) =>
      (members.get(EVERYWHERE) ?? members.get(it))?.informer.synced
    );

  function changed(): void {
    wasSynced ||= isSynced();
    waiters.notify();
  }

  /** Tells which of the objects that left a scope are gone, by a list of all that exist there. */
  function settleAway(scope: string, objects: readonly T[], unreadable: readonly string[]): void {
    const before = away.get(scope);
    if (before === undefined) return;
    const uids = new Map(objects.map((it) => [keyOf(it), it.metadata?.uid]));
    const unknown = new Set(unreadable);
    away.set(scope, new Map([...before].filter(([key]) => unknown.has(key))));
    for (const [key, object] of before) {
      const isGone = !unknown.has(key) && uids.get(key) !== object.metadata?.uid;
      if (isGone) listeners.notify({ type: "deleted", object });
    }
  }

  /** Watches a scope until it is not wanted any more, or `signal` aborts. */
  async function watch(scope: string, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const informer = createInformer<T>({
      ...options,
      ...(scope !== EVERYWHERE && { namespace: scope }),
      onList: (objects, unreadable) => settleAway(scope, objects, unreadable),
      onFailure(error) {
        failed(error);
        options.onFailure?.(error);
      },
    });
    members.set(scope, { informer, stop });
    informers = [...informers, informer];
    informer.onChange(listeners.notify);
    informer.whenSynced(stop.signal).then(changed);
    await informer.run(AbortSignal.any([signal, stop.signal]));
    if (signal.aborted) return;
    members.delete(scope);
    informers = informers.filter((it) => it !== informer);
    const held = informer.list();
    if (tellsDeletions) {
      const left = held.map((object) => [keyOf(object), object] as const);
      away.set(scope, new Map([...away.get(scope) ?? [], ...left]));
    }
    for (const object of held) listeners.notify({ type: "left", object });
    follow(signal);
  }

  /** Ends what is watched and not wanted; only when that has ended, begins what is wanted and not watched. */
  function follow(signal: AbortSignal): void {
    const wanted = scopes();
    const unwanted = [...members].filter(([scope]) => !wanted.includes(scope));
    for (const [, { stop }] of unwanted) stop.abort();
    if (unwanted.length === 0) {
      for (const scope of wanted) {
        if (members.has(scope)) continue;
        const watching = watch(scope, signal).finally(() => running.delete(watching));
        running.add(watching);
      }
    }
    changed();
  }

  return {
    get: (key) => {
      for (const it of informers) {
        const object = it.get(key);
        if (object !== undefined) return object;
      }
      return undefined;
    },
    list: (namespace) => gather((it) => it.list(namespace)),
    byIndex: (index, value) => gather((it) => it.byIndex(index, value)),
    get synced() {
      return isSynced();
    },
    whenSynced(signal, namespace) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const check = () => {
        if (isSynced(namespace)) resolve(true);
        else if (stopped || signal?.aborted) resolve(false);
      };
      const ends = [waiters.add(check), onAbort(signal, check)];
      check();
      return promise.finally(() => ends.forEach((end) => end()));
    },
    get resting() {
      return served.on === false;
    },
    get wasSynced() {
      return wasSynced || (options.served !== undefined && served.on === undefined);
    },
    wake,
    onChange(listener) {
      const remove = listeners.add(listener);
      for (const object of gather((it) => it.list())) {
        tell(kind.kind, listener, { type: "added", object });
      }
      return remove;
    },
    async run(signal) {
      const stop = served.onChange(() => follow(signal));
      follow(signal);
      await run(signal);
      stop();
      await Promise.all(running);
      stopped = true;
      changed();
    },
  };
}
