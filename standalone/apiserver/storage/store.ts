/** Storage of objects: what the rest of the server reads and writes, and what changes. */
import type { ApiObject } from "../objects/api_object.ts";

/** Where the objects of one kind are kept, whatever their version: `{group: "batch", resource: "jobs"}`. */
export interface ResourceKey {
  readonly group: string;
  /** Plural. */
  readonly resource: string;
}

/** A change that was made, in the order of resource versions. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly key: ResourceKey;
  /** Monotonic over all resources. */
  readonly revision: number;
  /** The object after the change; of a deletion, its last state with the deletion's revision. */
  readonly object: ApiObject;
  /** The object before the change. */
  readonly previous?: ApiObject;
}

/** What the parts of the API server may read. */
export interface ObjectReader {
  /** One object, or undefined. Namespace `undefined` means cluster scope. */
  get(key: ResourceKey, namespace: string | undefined, name: string): ApiObject | undefined;
  /** Every object of a kind, or of one namespace, ordered by namespace and name. */
  list(key: ResourceKey, namespace?: string): ApiObject[];
}

/** Objects, their history, and small secrets of the server. */
export interface Store extends ObjectReader {
  /** The revision of the last write. */
  readonly revision: number;
  /** Writes an object that replaces `previous`; gives it the next resource version. Durable when it returns. */
  put(key: ResourceKey, object: ApiObject): ApiObject;
  /** Removes an object; false where there is none. Durable when it returns. */
  remove(key: ResourceKey, namespace: string | undefined, name: string): boolean;
  /** The objects as they were at a revision. Throws 410 where the history does not reach back. */
  listAt(key: ResourceKey, namespace: string | undefined, revision: number): ApiObject[];
  /** Changes of a kind after a revision. Throws 410 where the history does not reach back. */
  changesSince(key: ResourceKey, revision: number): Change[];
  /** Calls `listener` after each change, in order; the result ends it. */
  subscribe(listener: (change: Change) => void): () => void;
  /** Kinds that have objects. */
  keys(): ResourceKey[];
  /** A value that outlives the process, such as a signing key. */
  setting(name: string): string | undefined;
  setSetting(name: string, value: string): void;
  close(): void;
}
