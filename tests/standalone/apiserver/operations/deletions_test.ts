/** Tests of deletion: finalizers, grace periods, propagation, namespaces and definitions. */
import assert from "node:assert/strict";
import {
  CONFIG_MAPS,
  configMap,
  pod,
  PODS,
  type TestServer,
  testServer,
  widget,
  widgetDefinition,
  WIDGETS,
} from "../api_cluster.ts";

const MERGE = "application/merge-patch+json";
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async function owned(
  api: TestServer,
  name: string,
  owner: { metadata: { name: string; uid: string } },
) {
  const reference = {
    apiVersion: "v1",
    kind: "ConfigMap",
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return await api.ok("POST", CONFIG_MAPS, {
    body: configMap(name, { ownerReferences: [reference] }),
  });
}

async function family(api: TestServer) {
  const parent = await api.ok("POST", CONFIG_MAPS, { body: configMap("parent") });
  const child = await owned(api, "child", parent);
  await owned(api, "grandchild", child);
}

function isGone(api: TestServer, path: string) {
  return api.until(path, ({ status }) => status === 404);
}

for (const policy of ["Background", "Foreground"]) {
  Deno.test(`startGarbageCollector() removes dependents of dependents: ${policy}`, async () => {
    await using api = await testServer();
    await family(api);
    const answer = await api.ok("DELETE", `${CONFIG_MAPS}/parent`, {
      body: { propagationPolicy: policy },
    });
    const waits = policy === "Foreground";
    assert.equal(answer.kind, waits ? "ConfigMap" : "Status");
    if (waits) assert.deepEqual(answer.metadata.finalizers, ["foregroundDeletion"]);
    for (const name of ["grandchild", "child", "parent"]) {
      await isGone(api, `${CONFIG_MAPS}/${name}`);
    }
  });
}

Deno.test("startGarbageCollector() lets a foreground owner wait for its dependents", async () => {
  await using api = await testServer();
  await family(api);
  const hold = { metadata: { finalizers: ["example.com/hold"] } };
  await api.ok("PATCH", `${CONFIG_MAPS}/child`, { type: MERGE, body: hold });
  await api.ok("DELETE", `${CONFIG_MAPS}/parent?propagationPolicy=Foreground`);
  const path = `${CONFIG_MAPS}/child`;
  await api.until(path, ({ body }) => body.metadata?.deletionTimestamp !== undefined);
  assert.equal((await api.call("GET", `${CONFIG_MAPS}/parent`)).status, 200);
  await api.ok("PATCH", path, { type: MERGE, body: { metadata: { finalizers: null } } });
  await isGone(api, `${CONFIG_MAPS}/parent`);
});

Deno.test("startGarbageCollector() leaves orphans behind, without their owner", async () => {
  await using api = await testServer();
  await family(api);
  await api.ok("DELETE", `${CONFIG_MAPS}/parent?propagationPolicy=Orphan`);
  await isGone(api, `${CONFIG_MAPS}/parent`);
  const child = await api.ok("GET", `${CONFIG_MAPS}/child`);
  assert.equal(child.metadata.ownerReferences, undefined);
  assert.equal((await api.call("GET", `${CONFIG_MAPS}/grandchild`)).status, 200);
});

Deno.test("startGarbageCollector() removes objects whose owner never existed", async () => {
  await using api = await testServer();
  await owned(api, "lost", { metadata: { name: "parent", uid: "no-such-uid" } });
  await isGone(api, `${CONFIG_MAPS}/lost`);
});

Deno.test("deleteObject() waits for finalizers and takes no new ones", async () => {
  await using api = await testServer();
  const finalizers = ["example.com/hold"];
  await api.ok("POST", CONFIG_MAPS, { body: configMap("a", { finalizers }) });
  const waiting = await api.ok("DELETE", `${CONFIG_MAPS}/a`);
  assert.ok(waiting.metadata.deletionTimestamp);
  const again = await api.ok("DELETE", `${CONFIG_MAPS}/a`);
  assert.equal(again.metadata.resourceVersion, waiting.metadata.resourceVersion);
  const patch = (body: unknown) => api.call("PATCH", `${CONFIG_MAPS}/a`, { type: MERGE, body });
  const more = await patch({ metadata: { finalizers: [...finalizers, "example.com/more"] } });
  assert.equal(more.status, 422);
  assert.match(more.body.message, /no new finalizers can be added/);
  assert.equal((await patch({ metadata: { finalizers: [] } })).status, 200);
  assert.equal((await api.call("GET", `${CONFIG_MAPS}/a`)).status, 404);
});

Deno.test("deleteObject() gives grace to pods that a node has, and to no others", async () => {
  await using api = await testServer();
  await api.ok("POST", PODS, { body: pod("free") });
  await api.ok("DELETE", `${PODS}/free`);
  assert.equal((await api.call("GET", `${PODS}/free`)).status, 404);
  await api.ok("POST", PODS, { body: pod("bound", { spec: { nodeName: "n" } }) });
  const marked = await api.ok("DELETE", `${PODS}/bound?gracePeriodSeconds=20`);
  assert.equal(marked.metadata.deletionGracePeriodSeconds, 20);
  assert.ok(Date.parse(marked.metadata.deletionTimestamp) > Date.now());
  const shorter = await api.ok("DELETE", `${PODS}/bound?gracePeriodSeconds=5`);
  assert.equal(shorter.metadata.deletionGracePeriodSeconds, 5);
  await api.ok("DELETE", `${PODS}/bound?gracePeriodSeconds=0`);
  assert.equal((await api.call("GET", `${PODS}/bound`)).status, 404);
  await api.ok("POST", PODS, {
    body: pod("held", { metadata: { finalizers: ["example.com/hold"] }, spec: { nodeName: "n" } }),
  });
  await api.ok("DELETE", `${PODS}/held?gracePeriodSeconds=1`);
  const held = await api.ok("DELETE", `${PODS}/held?gracePeriodSeconds=0`);
  assert.equal(held.metadata.deletionGracePeriodSeconds, 0);
  const freed = { metadata: { finalizers: null } };
  await api.ok("PATCH", `${PODS}/held`, { type: MERGE, body: freed });
  assert.equal((await api.call("GET", `${PODS}/held`)).status, 404);
  await api.ok("POST", PODS, { body: pod("done", { spec: { nodeName: "n" } }) });
  const status = { status: { phase: "Succeeded" } };
  await api.ok("PATCH", `${PODS}/done/status`, { type: MERGE, body: status });
  await api.ok("DELETE", `${PODS}/done`);
  assert.equal((await api.call("GET", `${PODS}/done`)).status, 404);
});

Deno.test("deletecollection removes what is selected, and nothing else", async () => {
  await using api = await testServer();
  for (const name of ["a", "b"]) {
    await api.ok("POST", CONFIG_MAPS, { body: configMap(name, { labels: { app: name } }) });
  }
  await api.ok("DELETE", `${CONFIG_MAPS}?labelSelector=app%3Da`);
  assert.equal((await api.call("GET", `${CONFIG_MAPS}/a`)).status, 404);
  assert.equal((await api.call("GET", `${CONFIG_MAPS}/b`)).status, 200);
});

Deno.test("a namespace has its service account and CA, and is removed after its content", async () => {
  await using api = await testServer();
  assert.equal((await api.ok("GET", "/api/v1/namespaces/kube-public")).status.phase, "Active");
  await api.ok("POST", "/api/v1/namespaces", { body: { metadata: { name: "team" } } });
  const home = "/api/v1/namespaces/team";
  await api.until(`${home}/serviceaccounts/default`, ({ status }) => status === 200);
  const ca = await api.until(`${home}/configmaps/kube-root-ca.crt`, ({ status }) => status === 200);
  assert.equal(ca.body.data["ca.crt"], api.server.caCertificate);
  await api.ok("POST", `${home}/configmaps`, {
    body: configMap("held", { finalizers: ["example.com/hold"] }),
  });
  const marked = await api.ok("DELETE", home);
  assert.equal(marked.status.phase, "Terminating");
  const refused = await api.call("POST", `${home}/configmaps`, { body: configMap("late") });
  assert.equal(refused.status, 403);
  assert.equal(refused.body.details.causes[0].reason, "NamespaceTerminating");
  await api.ok("PATCH", home, { type: MERGE, body: { metadata: { labels: { a: "b" } } } });
  const held = `${home}/configmaps/held`;
  await api.until(held, ({ body }) => body.metadata.deletionTimestamp !== undefined);
  await api.ok("PATCH", held, { type: MERGE, body: { metadata: { finalizers: null } } });
  await isGone(api, home);
});

Deno.test("a definition serves its kind in its versions, and takes its objects along", async () => {
  await using api = await testServer();
  assert.equal((await api.call("GET", WIDGETS)).status, 404);
  const definition = await api.ok("POST", CRDS, { body: widgetDefinition() });
  const types = definition.status.conditions.map((one: { type: string; status: string }) =>
    `${one.type}=${one.status}`
  );
  assert.deepEqual(types, ["NamesAccepted=True", "Established=True"]);
  const made = await api.ok("POST", WIDGETS, {
    body: { ...widget("a", { unknown: 1 }), status: { replicas: 9 } },
  });
  assert.deepEqual([made.spec, made.status, made.metadata.generation], [{ size: 3 }, undefined, 1]);
  const wrong = await api.call("POST", WIDGETS, { body: widget("b", { size: 0 }) });
  assert.equal(wrong.status, 422);
  assert.match(wrong.body.message, /spec.size/);
  const other = await api.ok("GET", WIDGETS.replace("/v1/", "/v1beta1/") + "/a");
  assert.equal(other.apiVersion, "example.com/v1beta1");
  const strategic = await api.call("PATCH", `${WIDGETS}/a`, {
    type: "application/strategic-merge-patch+json",
    body: { spec: { size: 2 } },
  });
  assert.equal(strategic.status, 415);
  const conditions = [{ type: "Completed", status: "True" }];
  await api.ok("PATCH", `${WIDGETS}/a/status`, { type: MERGE, body: { status: { conditions } } });
  const scale = await api.ok("PATCH", `${WIDGETS}/a/scale`, {
    type: MERGE,
    body: { spec: { replicas: 4 } },
  });
  assert.equal(scale.spec.replicas, 4);
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const table = await api.ok("GET", `${WIDGETS}/a`, { accept });
  assert.deepEqual(table.rows[0].cells.slice(0, 3), ["a", 3, "True"]);
  await api.ok("DELETE", `${CRDS}/widgets.example.com`);
  await isGone(api, `${CRDS}/widgets.example.com`);
  assert.equal((await api.call("GET", WIDGETS)).status, 404);
  await api.ok("POST", CRDS, { body: widgetDefinition() });
  assert.deepEqual((await api.ok("GET", WIDGETS)).items, []);
});
