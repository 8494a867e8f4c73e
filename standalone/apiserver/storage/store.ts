/** Store of objects: reads, writes, history and change notifications. */
import type { ApiObject } from "../objects/api_object.ts";

/** Key of a kind's objects, whatever their version: `{group: "batch", resource: "jobs"}`. */
export interface ResourceKey {
  readonly group: string;
  /** Plural name. */
  readonly resource: string;
}

/** A change of an object. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly key: ResourceKey;
  /** Monotonic over all resources. */
  readonly revision: number;
  /** The object after the change; for a deletion its last state, with the deletion's revision. */
  readonly object: ApiObject;
  /** The object before the change. */
  readonly previous?: ApiObject;
}

/** Read access to objects. */
export interface ObjectReader {
  /** Returns one object, or undefined. The namespace of cluster-scoped objects is `undefined`. */
  get(key: ResourceKey, namespace: string | undefined, name: string): ApiObject | undefined;
  /** Returns every object of a kind, or those of one namespace, ordered by namespace and name. */
  list(key: ResourceKey, namespace?: string): ApiObject[];
}

/** Store of objects, their history, and settings of the server. */
export interface Store extends ObjectReader {
  /** The revision of the last write. */
  readonly revision: number;
  /** Writes an object and returns it with the next resource version. The write is durable on return. */
  put(key: ResourceKey, object: ApiObject): ApiObject;
  /** Removes an object; returns false if there is none. The removal is durable on return. */
  remove(key: ResourceKey, namespace: string | undefined, name: string): boolean;
  /** Returns the objects as they were at a revision. Throws 410 if the history does not reach back. */
  listAt(key: ResourceKey, namespace: string | undefined, revision: number): ApiObject[];
  /** Returns the changes of a kind after a revision. Throws 410 if the history does not reach back. */
  changesSince(key: ResourceKey, revision: number): Change[];
  /** Calls `listener` after each change, in order. Returns a function that ends the subscription. */
  subscribe(listener: (change: Change) => void): () => void;
  /** Returns the kinds that have objects. */
  keys(): ResourceKey[];
  /** Returns a value that outlives the process, such as a signing key. */
  setting(name: string): string | undefined;
  setSetting(name: string, value: string): void;
  close(): void;
}
