/** Tests of the sources of a controller's keys. */
import assert from "node:assert/strict";
import { createController } from "../../../platform/kube/controller.ts";
import type { Change } from "../../../platform/kube/watching/informer_cache.ts";
import type { KubeObject } from "../../../platform/kube/resource.ts";
import { type Source, watch, watchOwned, watchSignal } from "../../../platform/kube/sources.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

/** A cache that a test fills and changes. */
function fakeCache() {
  const listeners = new Set<(change: Change<KubeObject>) => void>();
  const synced = Promise.withResolvers<boolean>();
  return {
    listeners,
    sync: synced.resolve,
    whenSynced: () => synced.promise,
    onChange(listener: (change: Change<KubeObject>) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell(object: KubeObject) {
      for (const listener of listeners) listener({ type: "updated", object });
    },
  };
}

const OWNER = { group: "example.org", kind: "Parent" } as const;

/** An object whose references are `[kind, apiVersion, controller]`. */
function owned(...owners: [string, string, boolean][]): KubeObject {
  const ownerReferences = owners.map(([kind, apiVersion, controller], index) => ({
    apiVersion,
    kind,
    name: `p${index}`,
    uid: `uid-${index}`,
    controller,
  }));
  return { metadata: { namespace: "ns", name: "child", ownerReferences } };
}

const cases: Record<string, { object: KubeObject; want: string[] }> = {
  "the controlling parent": { object: owned(["Parent", "example.org/v1", true]), want: ["ns/p0"] },
  "a parent of another version": {
    object: owned(["Other", "example.org/v1", false], ["Parent", "example.org/v2", true]),
    want: ["ns/p1"],
  },
  "no parent that does not control": {
    object: owned(["Parent", "example.org/v1", false]),
    want: [],
  },
  "no parent of another group": { object: owned(["Parent", "example.com/v1", true]), want: [] },
  "no parent of another kind": { object: owned(["Other", "example.org/v1", true]), want: [] },
};
for (const [sentence, { object, want }] of Object.entries(cases)) {
  Deno.test(`\`watchOwned()\` enqueues ${sentence}`, () => {
    const cache = fakeCache();
    const keys: string[] = [];
    watchOwned(cache, OWNER).start((key) => void keys.push(key));
    cache.tell(object);
    assert.deepEqual(keys, want);
  });
}

Deno.test("`watch()` shows a change to its observer before it enqueues keys", () => {
  const cache = fakeCache();
  const did: string[] = [];
  const observer = { seen: ({ type }: Change<KubeObject>) => void did.push(`seen ${type}`) };
  const end = watch(cache, () => ["a", "b"], observer).start((key) => void did.push(key));
  cache.tell({});
  end();
  cache.tell({});
  assert.deepEqual(did, ["seen updated", "a", "b"]);
});

/** A controller of these sources, and the keys that it reconciled. */
function run(sources: readonly Source[]) {
  const keys: string[] = [];
  const stop = new AbortController();
  const controller = createController({
    name: "test",
    clock: new FakeClock(),
    reconcile: (key) => Promise.resolve(void keys.push(key)),
    sources,
  });
  return { keys, stop, running: controller.run(stop.signal) };
}

Deno.test("`createController()` works when all its sources are synced, and leaves none open", async () => {
  const [one, other] = [fakeCache(), fakeCache()];
  let signal = () => {};
  let ended = false;
  const { keys, stop, running } = run([
    watch(one, () => ["one"]),
    watch(other, () => ["other"]),
    watchSignal((listener) => {
      signal = listener;
      return () => ended = true;
    }, () => ["signal"]),
  ]);
  one.tell({});
  one.sync(true);
  await settle();
  assert.deepEqual(keys, []);
  other.sync(true);
  await settle();
  signal();
  other.tell({});
  await settle();
  assert.deepEqual(keys, ["one", "signal", "other"]);
  stop.abort();
  await running;
  assert.deepEqual([one.listeners.size, other.listeners.size, ended], [0, 0, true]);
});

Deno.test("`createController()` does not begin when a cache stops before it is synced", async () => {
  const cache = fakeCache();
  const { keys, running } = run([watch(cache, () => ["a"])]);
  cache.tell({});
  cache.sync(false);
  await running;
  assert.deepEqual([keys, cache.listeners.size], [[], 0]);
});
