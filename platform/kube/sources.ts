/** Sources of keys for a controller: watched caches, and the keys that a change concerns. */
import type { Informer } from "./watching/informer.ts";
import type { Change } from "./watching/informer_cache.ts";
import { controllerKey, type OwnerKind } from "./owner_references.ts";
import type { KubeObject } from "./resource.ts";

/** Something that wakes a controller. */
export interface Source {
  /** Begins to enqueue keys. Returns a function that ends this. */
  start(enqueue: (key: string) => void): () => void;
  /** Resolves with true when the controller may begin to work, with false if `signal` aborts before. */
  readonly whenSynced?: (signal: AbortSignal) => Promise<boolean>;
}

/** A listener that is called with each change before the keys of the change are enqueued. */
export interface Observer<T> {
  seen(change: Change<T>): void;
}

type Watched<T> = Pick<Informer<T>, "onChange" | "whenSynced">;

/** A cache whose changes concern the keys that `keysOf` returns; what it holds already counts as added. */
export function watch<T>(
  informer: Watched<T>,
  keysOf: (change: Change<T>) => Iterable<string>,
  observer?: Observer<T>,
): Source {
  return {
    start: (enqueue) =>
      informer.onChange((change) => {
        observer?.seen(change);
        for (const key of keysOf(change)) enqueue(key);
      }),
    whenSynced: (signal) => informer.whenSynced(signal),
  };
}

/** A cache of objects whose changes concern the object of `owner` that controls them. */
export function watchOwned<T extends KubeObject>(
  informer: Watched<T>,
  owner: OwnerKind,
  observer?: Observer<T>,
): Source {
  return watch(informer, ({ object }) => {
    const key = controllerKey(object, owner);
    return key === undefined ? [] : [key];
  }, observer);
}

/** A signal from outside the caches, which concerns the keys that `keys` returns at that time. */
export function watchSignal(
  onChange: (listener: () => void) => (() => void) | void,
  keys: () => Iterable<string>,
): Source {
  return {
    start(enqueue) {
      const end = onChange(() => {
        for (const key of keys()) enqueue(key);
      });
      return () => end?.();
    },
  };
}
