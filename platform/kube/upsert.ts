/** Reads and writes of objects that may not exist. */
import type { CallOptions } from "./client.ts";
import { ignoring, isNotFound, isStale } from "./errors.ts";
import { formatKey, type Kind, type KubeObject, type ObjectKey } from "./resource.ts";

/** The calls of a client by which objects of one kind are read and written. */
export interface ObjectStore<T> {
  get(kind: Kind<T>, key: ObjectKey, options?: CallOptions): Promise<T>;
  create(kind: Kind<T>, object: T, options?: CallOptions): Promise<T>;
  /** Fails with a conflict if the object's resourceVersion is not the stored one. */
  replace(kind: Kind<T>, object: T, options?: CallOptions): Promise<T>;
}

/** Reads an object. Returns undefined if it, or its whole resource, does not exist. */
export async function getOrUndefined<T>(
  client: Pick<ObjectStore<NoInfer<T>>, "get">,
  kind: Kind<T>,
  key: ObjectKey,
  options?: CallOptions,
): Promise<T | undefined> {
  return await client.get(kind, key, options).catch(ignoring(isNotFound));
}

/** Outcome of {@link upsert}, and the object as the server has it now. */
export interface Upserted<T> {
  readonly outcome: "created" | "replaced" | "unchanged";
  readonly object: T | undefined;
}

/** How often an object that others write at the same time is read again. */
const ATTEMPTS = 5;

/**
 * Creates the object or replaces it at the version that was read, so that no other write is lost.
 * `change` makes the wanted object from the stored one, and returns undefined if nothing has to change;
 * it is called again after each conflict. Throws what it throws.
 */
export async function upsert<T extends KubeObject>(
  client: ObjectStore<NoInfer<T>>,
  kind: Kind<T>,
  key: ObjectKey,
  change: (stored: T | undefined) => T | undefined | Promise<T | undefined>,
  options?: CallOptions,
): Promise<Upserted<T>> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stored = await getOrUndefined(client, kind, key, options);
    const wanted = await change(stored);
    if (wanted === undefined) return { outcome: "unchanged", object: stored };
    try {
      if (stored === undefined) {
        return { outcome: "created", object: await client.create(kind, wanted, options) };
      }
      const { resourceVersion } = stored.metadata ?? {};
      const object = { ...wanted, metadata: { ...wanted.metadata, resourceVersion } };
      return { outcome: "replaced", object: await client.replace(kind, object, options) };
    } catch (error) {
      if (!isStale(error)) throw error;
    }
  }
  throw new Error(`${kind.kind} ${formatKey(key)} changed ${ATTEMPTS} times while writing it`);
}
