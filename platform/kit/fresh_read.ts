/** Fresh read of an object for which something is about to be made: a cache that is behind must not lead to it. */
import type { CallOptions } from "../kube/client.ts";
import { type Kind, type KubeObject, objectKeyOf } from "../kube/resource.ts";
import { getOrUndefined, type ObjectStore } from "../kube/upsert.ts";

/** Delay of the next pass if a cache was outdated, in milliseconds. */
export const OUTDATED_RETRY_MS = 500;

/** Returns the object as the API server has it; undefined if it is gone or about to, or another one has its name. */
export async function readAgain<T extends KubeObject>(
  client: Pick<ObjectStore<NoInfer<T>>, "get">,
  kind: Kind<T>,
  object: KubeObject,
  options: CallOptions,
): Promise<T | undefined> {
  const live = await getOrUndefined(client, kind, objectKeyOf(object), options);
  const { uid, deletionTimestamp } = live?.metadata ?? {};
  return uid === object.metadata?.uid && deletionTimestamp === undefined ? live : undefined;
}
