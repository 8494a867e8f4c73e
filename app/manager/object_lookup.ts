/** Lookup of objects in a watched cache, with a read of the API server behind it. */
import {
  createLookup,
  type Lookup,
  type LookupOptions,
} from "../../platform/kube/watching/cached_lookup.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { Kind, KubeObject } from "../../platform/kube/resource.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";

/** Bounds of one read on a miss of a cache. */
export const READ_BOUNDS = { deadlineMs: 2_000, honorRetryAfter: false } as const;

/** Dependencies and bounds of the lookups. */
export interface ObjectLookupParts<T> extends Omit<LookupOptions<T>, "cached" | "read"> {
  readonly client: KubeClient;
  readonly clock: Clock;
}

/** Creates the lookup of a kind. */
export function createObjectLookup<T extends KubeObject>(
  { client, ...options }: ObjectLookupParts<T>,
  kind: Kind<T>,
  cache: Pick<Informer<T>, "get">,
): Lookup<T> {
  return createLookup<T>({
    ...options,
    cached: (key) => cache.get(key),
    read: (key) => getOrUndefined(client, kind, key, READ_BOUNDS),
  });
}
