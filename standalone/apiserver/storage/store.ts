/** Objects in the store: their keys, their changes, and read access to them. */
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
