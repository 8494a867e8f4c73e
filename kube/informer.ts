/** A cache of all objects of a kind, kept current by list and watch. */
import type { Clock } from "./clock.ts";
import type { KubeClient } from "./client.ts";
import type { KubeObject, ObjectKey, ResourceKind } from "./resource.ts";

/** A change that the cache made. `old` is what it held before. */
export interface Change<T> {
  readonly type: "added" | "updated" | "deleted";
  readonly object: T;
  readonly old?: T;
}

/** A cache of one kind. Its objects are frozen: copy before you change one. */
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
   * Calls the listener for every change after the cache has it; what is there already comes as
   * `added` at once. Answers a function that ends this. A listener that throws is logged.
   */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Runs until `signal` aborts, whatever the server does. May be called once. */
  run(signal: AbortSignal): Promise<void>;
}

/** Options of {@link createInformer}. */
export interface InformerOptions<T> {
  client: KubeClient;
  kind: ResourceKind<T>;
  /** Without it: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Values under which an object is found, by the name of the index. */
  indexes?: Record<string, (object: T) => string[]>;
  clock?: Clock;
  /** A number from 0 up to 1. Default `Math.random`. */
  random?: () => number;
  /** Told each time the watch has to begin again by a list, with the cause. */
  onRestart?: (cause: string) => void;
  /** Objects a page of a list. Default 500. */
  pageSize?: number;
  /** A watch on which nothing came for this long is begun anew, in milliseconds. Default 180000. */
  idleMs?: number;
}

/** An informer; it starts with {@link Informer.run}. */
export function createInformer<T extends KubeObject>(_options: InformerOptions<T>): Informer<T> {
  throw new Error("the informer is being built");
}
