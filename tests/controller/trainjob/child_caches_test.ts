/** Tests of `controller/trainjob/child_caches.ts`. */
import { deepEqual, equal } from "node:assert/strict";
import type { Child } from "../../../controller/runtime/child.ts";
import { createChildCaches } from "../../../controller/trainjob/child_caches.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { keyOf, type KubeObject } from "../../../platform/kube/resource.ts";
import { MemoryCluster } from "../memory_cluster.ts";

const KIND = KINDS.volcanoPodGroup;
const GROUP: Child = {
  kind: KIND,
  name: "tj",
  mode: "while-suspended",
  content: {},
  watched: true,
};
const HOW = { namespace: "ml", fresh: false, signal: new AbortController().signal };
const group = (spec = {}): KubeObject => ({ metadata: { name: "tj", namespace: "ml" }, ...spec });

function begin() {
  const cluster = new MemoryCluster();
  const asked: string[] = [];
  const rest = { resting: false, served: () => {} };
  const enqueued: string[] = [];
  const caches = createChildCaches({
    client: cluster.client(),
    clock: { monotonic: () => 0 },
    createCache(kind, onServed) {
      asked.push(kind.plural);
      rest.served = onServed;
      return Object.create(cluster.informer(kind), {
        resting: { get: () => rest.resting },
        wake: { value: () => {} },
      });
    },
    parentsOf: (object) => [keyOf(object)],
    waiting: () => ["ml/waits"],
  });
  const stop = caches.start((key) => enqueued.push(key));
  const gets = () => cluster.calls.filter(({ verb }) => verb === "get").length;
  return { cluster, caches, asked, rest, enqueued, gets, stop };
}

Deno.test("createChildCaches() watches a kind from the first such child on, and no other", async () => {
  const { caches, asked, gets, cluster, enqueued } = begin();
  deepEqual(asked, []);
  const { watched: _, ...unwatched } = GROUP as Extract<
    Child,
    { mode: "equal" | "while-suspended" }
  >;
  equal(await caches.read(unwatched, HOW), undefined);
  deepEqual([asked.length, gets()], [0, 1]);
  cluster.put(KIND, group());
  equal((await caches.read(GROUP, HOW) as KubeObject).metadata?.name, "tj");
  equal((await caches.read(GROUP, HOW) as KubeObject).metadata?.name, "tj");
  deepEqual([asked, gets()], [["podgroups"], 1]);
  cluster.remove(KIND, "ml/tj");
  equal(enqueued.at(-1), "ml/tj");
  equal(await caches.read(GROUP, HOW), undefined);
  await caches.read(GROUP, { ...HOW, fresh: true });
  equal(gets(), 2, "a fresh read asks the API server");
});

Deno.test("createChildCaches() knows own writes before the cache does", async () => {
  const { caches, cluster, gets } = begin();
  await caches.read(GROUP, HOW);
  cluster.hold();
  const create = () => cluster.client().create(KIND, group());
  const written = await caches.track(KIND, "ml/tj", create);
  equal((await caches.read(GROUP, HOW) as KubeObject).metadata?.uid, written.metadata?.uid);
  cluster.catchUp();
  cluster.remove(KIND, "ml/tj");
  equal(await caches.read(GROUP, HOW), undefined);
  equal(gets(), 0);
});

Deno.test("createChildCaches() wakes nobody for a change of what the cache does not keep", async () => {
  const { caches, cluster, enqueued } = begin();
  await caches.read(GROUP, HOW);
  cluster.put(KIND, group({ spec: { minMember: 1 } }));
  cluster.put(KIND, group({ spec: { minMember: 1 } }));
  deepEqual(enqueued, ["ml/tj"]);
  cluster.put(KIND, group({ spec: { minMember: 2 } }));
  cluster.remove(KIND, "ml/tj");
  deepEqual(enqueued, ["ml/tj", "ml/tj", "ml/tj"]);
});

Deno.test("createChildCaches() asks the API server while the kind rests, and wakes who waits", async () => {
  const { caches, rest, enqueued, gets } = begin();
  rest.resting = true;
  equal(await caches.read(GROUP, HOW), undefined);
  equal(gets(), 1);
  rest.resting = false;
  rest.served();
  deepEqual(enqueued, ["ml/waits"]);
});
