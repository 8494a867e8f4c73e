/** Object reader over a list of objects. */
import type { ApiObject, Metadata } from "../../../standalone/apiserver/objects/api_object.ts";
import type { ObjectReader, ResourceKey } from "../../../standalone/apiserver/storage/store.ts";

/** An object with metadata that a server would have given it. */
export function stored(
  kind: string,
  metadata: Partial<Metadata> & { name: string },
  more: Record<string, unknown> = {},
): ApiObject {
  return {
    apiVersion: "v1",
    kind,
    metadata: {
      uid: `uid-${metadata.name}`,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
    },
    ...more,
  };
}

/** A reader over lists by plural; the lists may be changed while it is in use. */
export function memoryStore(objects: Record<string, ApiObject[]>): ObjectReader {
  const all = (key: ResourceKey, namespace?: string) =>
    (objects[key.resource] ?? []).filter((it) =>
      namespace === undefined || it.metadata.namespace === namespace
    );
  return {
    get: (key, namespace, name) => all(key, namespace).find((it) => it.metadata.name === name),
    list: all,
  };
}
