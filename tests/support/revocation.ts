/** Time until pushes with a deleted identity are refused, measured from the deletion's event. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Kind, KubeObject } from "../../platform/kube/resource.ts";

/** An object that is deleted during pushes. */
export interface Revocation<T extends KubeObject> {
  readonly client: KubeClient;
  readonly kind: Kind<T>;
  readonly object: { metadata?: { name?: string; namespace?: string; uid?: string } };
  /** Deletes the object for good. */
  readonly remove: () => Promise<unknown>;
  /** Pushes, and returns the code. */
  readonly push: () => Promise<number>;
}

/** Resolves with the moment at which the API server tells that the object is gone. */
async function whenDeleted<T extends KubeObject>(
  { client, kind, object }: Revocation<T>,
  signal: AbortSignal,
): Promise<number> {
  const { namespace, uid } = object.metadata ?? {};
  const { resourceVersion } = await client.list(kind, { namespace });
  for await (const event of client.watch(kind, { namespace, resourceVersion, signal })) {
    if (event.type === "deleted" && event.object.metadata?.uid === uid) return performance.now();
  }
  throw new Error("the watch ended before the object was gone");
}

/** Time between two pushes, in milliseconds. */
const PAUSE_MS = 50;

/** Pauses. Returns by how much longer it took, since this process had to wait. */
async function pause(): Promise<number> {
  const begun = performance.now();
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return performance.now() - begun - PAUSE_MS;
}

/**
 * Pushes all the time while the object is deleted, until 2 s after the event. No push that begins a
 * second after the event, or later, may be taken; every one before the deletion must be. Time in which
 * this process, and the manager in it, was kept waiting by the machine counts for neither. Every refusal
 * must say that the token, or its pod, is not good any more (401 or 403).
 */
export async function refusedWithinASecond<T extends KubeObject>(
  revocation: Revocation<T>,
): Promise<void> {
  const { push, remove } = revocation;
  const stop = new AbortController();
  const watching = whenDeleted(revocation, stop.signal);
  let goneAt = Infinity;
  watching.then((at) => goneAt = at, () => {});
  try {
    assert.equal(await push(), 200, "it is taken before");
    await remove();
    const end = performance.now() + 30_000;
    let waitedMs = 0;
    while (performance.now() < end) {
      const begun = performance.now();
      const code = await push();
      if (code !== 200) assert(code === 401 || code === 403, `a push was answered ${code}`);
      const after = Math.round(begun - goneAt - waitedMs);
      assert(code !== 200 || after < 1000, `a push ${after} ms after the deletion was taken`);
      if (after > 2000) return;
      const late = await pause();
      if (goneAt < Infinity) waitedMs += late;
    }
    throw new Error("the deletion was not told in 30 s");
  } finally {
    stop.abort();
    await watching.catch(() => {});
  }
}

/** The same for a service account is deleted, and created again under its name. */
export async function refusedOnceMadeAnew(
  client: KubeClient,
  account: { readonly namespace: string; readonly name: string },
  push: () => Promise<number>,
): Promise<void> {
  await refusedWithinASecond({
    client,
    kind: KINDS.serviceAccount,
    object: await client.get(KINDS.serviceAccount, account),
    remove: async () => {
      await client.delete(KINDS.serviceAccount, account);
      await client.create(KINDS.serviceAccount, { metadata: account });
    },
    push,
  });
}
