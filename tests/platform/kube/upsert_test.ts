/** Tests of reads and writes of objects that may not exist, also while others write them. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { getOrUndefined, upsert } from "../../../platform/kube/upsert.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";

const KEY = { namespace: "ns", name: "settings" } as const;
const settings = (value: string) => ({ metadata: KEY, data: { value } });

function world() {
  const cluster = new MemoryCluster();
  const client = cluster.client();
  const stored = () => cluster.peek(KINDS.configMap, "ns/settings")?.data;
  return { cluster, client, stored };
}

Deno.test("`getOrUndefined()` is undefined for what does not exist, and throws all other errors", async () => {
  const { cluster, client } = world();
  assert.equal(await getOrUndefined(client, KINDS.configMap, KEY), undefined);
  cluster.put(KINDS.configMap, settings("a"));
  assert.deepEqual((await getOrUndefined(client, KINDS.configMap, KEY))?.data, { value: "a" });
  const refused = new KubeError("no", { code: 403, reason: "Forbidden" });
  const get = () => Promise.reject(refused);
  await assert.rejects(getOrUndefined({ get }, KINDS.configMap, KEY), refused);
});

Deno.test("`upsert()` creates, replaces, and leaves alone what needs no change", async () => {
  const { client, stored } = world();
  const put = (value: string) =>
    upsert(
      client,
      KINDS.configMap,
      KEY,
      (it) => it?.data?.value === value ? undefined : settings(value),
    );
  assert.equal((await put("a")).outcome, "created");
  assert.deepEqual(stored(), { value: "a" });
  assert.equal((await put("b")).outcome, "replaced");
  assert.deepEqual(stored(), { value: "b" });
  assert.equal((await put("b")).outcome, "unchanged");
});

Deno.test("`upsert()` keeps another writer's change between its read and its write", async () => {
  const { cluster, client, stored } = world();
  cluster.put(KINDS.configMap, settings("1"));
  let others = 2;
  const { outcome } = await upsert(client, KINDS.configMap, KEY, (it) => {
    const value = Number(it?.data?.value);
    if (others-- > 0) {
      cluster.edit(KINDS.configMap, "ns/settings", { data: { value: `${value + 1}` } });
    }
    return settings(`${value * 10}`);
  });
  assert.deepEqual([outcome, stored()], ["replaced", { value: "30" }]);
});

Deno.test("`upsert()` gives up if others change the object each time", async () => {
  const { cluster, client } = world();
  cluster.put(KINDS.configMap, settings("0"));
  let writes = 0;
  const endless = upsert(client, KINDS.configMap, KEY, () => {
    cluster.edit(KINDS.configMap, "ns/settings", { data: { value: `${++writes}` } });
    return settings("mine");
  });
  await assert.rejects(endless, /ConfigMap ns\/settings changed 5 times/);
});
