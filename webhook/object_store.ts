/** The calls of a Kubernetes client that this room makes, for objects of one kind. */
import type { Kind } from "../crds/kinds.ts";

/** Name of an object; `namespace` is absent for cluster scope. */
export interface StoredKey {
  readonly namespace?: string;
  readonly name: string;
}

/** Reads and writes objects of kind `T`; `kube/client.ts` does it. Errors are `KubeError`s. */
export interface ObjectStore<T> {
  get(kind: Kind<T>, key: StoredKey, options?: { signal?: AbortSignal }): Promise<T>;
  create(kind: Kind<T>, object: T, options?: { signal?: AbortSignal }): Promise<T>;
  /** Fails with a conflict where the object's resourceVersion is not the stored one. */
  replace(kind: Kind<T>, object: T, options?: { signal?: AbortSignal }): Promise<T>;
}

/** Calls `listener` whenever the objects in question may have changed; returns how to stop it. */
export type ChangeSource = (listener: () => void) => () => void;
