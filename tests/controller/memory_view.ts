/** The caches of the cluster in memory: the interface of an informer, fed by hand. */
import { z } from "zod";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { Change } from "../../platform/kube/watching/informer_cache.ts";
import { keyOf, type Kind, type KubeObject, type ObjectKey } from "../../platform/kube/resource.ts";

/** Receiver of the cluster's changes. */
export interface View {
  readonly kind: string;
  apply(type: "added" | "updated" | "deleted", object: unknown): void;
}

/** Makes a value and all in it unchangeable. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}

const labelled = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()).optional() }),
});

/** Selection of a cache's objects. */
export interface Selection<T> {
  readonly indexes?: Record<string, (object: T) => string[]>;
  /** Without this label an object is not in the cache. */
  readonly label?: string;
}

/** A cache of one kind and the door through which it is fed. */
export function createView<T extends KubeObject>(
  kind: Kind<T>,
  { indexes = {}, label }: Selection<T>,
): { informer: Informer<T>; view: View } {
  const selects = (value: unknown) =>
    label === undefined || labelled.parse(value).metadata.labels?.[label] !== undefined;
  const objects = new Map<string, T>();
  const listeners = new Set<(change: Change<T>) => void>();
  const view: View = {
    kind: kind.kind,
    apply(type, value) {
      const object = deepFreeze(kind.parse(structuredClone(value)));
      const key = keyOf(object);
      const old = objects.get(key);
      const stays = type !== "deleted" && selects(value);
      if (!stays && old === undefined) return;
      if (stays) objects.set(key, object);
      else objects.delete(key);
      const change = stays ? (old === undefined ? "added" : type) : "deleted";
      for (const listener of listeners) listener({ type: change, object, old });
    },
  };
  const informer: Informer<T> = {
    get: (key: ObjectKey | string) =>
      objects.get(
        typeof key === "string" ? key : keyOf({ metadata: key }),
      ),
    list: (namespace) =>
      [...objects.values()].filter((object) =>
        namespace === undefined || object.metadata?.namespace === namespace
      ),
    byIndex(index, value) {
      const of = indexes[index];
      if (!of) throw new Error(`no index ${index} of ${kind.kind}`);
      return [...objects.values()].filter((object) => of(object).includes(value));
    },
    synced: true,
    whenSynced: () => Promise.resolve(true),
    onChange(listener) {
      listeners.add(listener);
      for (const object of objects.values()) listener({ type: "added", object });
      return () => listeners.delete(listener);
    },
    run: () => Promise.resolve(),
  };
  return { informer, view };
}
