/** Tests of paged lists and watches. */
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

async function seed(api: TestServer, names: string[]) {
  for (const name of names) {
    await api.ok("POST", CONFIG_MAPS, { body: configMap(name, { labels: { set: "seed" } }) });
  }
}

const SEED = `${CONFIG_MAPS}?labelSelector=set%3Dseed`;

Deno.test("listObjects() pages through one snapshot, whatever changes meanwhile", async () => {
  await using api = await testServer();
  await seed(api, ["a", "b", "c", "d", "e"]);
  const first = await api.ok("GET", `${SEED}&limit=2`);
  assert.deepEqual(first.items.map((one: { metadata: { name: string } }) => one.metadata.name), [
    "a",
    "b",
  ]);
  await api.ok("DELETE", `${CONFIG_MAPS}/c`);
  await seed(api, ["bb"]);
  await api.ok("PATCH", `${CONFIG_MAPS}/d`, { type: MERGE, body: { data: { a: "new" } } });
  const token = encodeURIComponent(first.metadata.continue);
  const second = await api.ok("GET", `${SEED}&limit=9&continue=${token}`);
  assert.deepEqual(
    second.items.map((one: { metadata: { name: string }; data: { a: string } }) => [
      one.metadata.name,
      one.data.a,
    ]),
    [["c", "1"], ["d", "1"], ["e", "1"]],
  );
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
  assert.equal(second.metadata.continue, undefined);
});

Deno.test("listObjects() selects by labels and fields", async () => {
  await using api = await testServer();
  for (const [name, node] of [["a", "n1"], ["b", "n2"]] as const) {
    await api.ok("POST", PODS, {
      body: pod(name, { metadata: { labels: { app: name } }, spec: { nodeName: node } }),
    });
  }
  const names = async (query: string) => {
    const list = await api.ok("GET", `${PODS}?${query}`);
    return list.items.map((one: { metadata: { name: string } }) => one.metadata.name).join();
  };
  const cases: Record<string, string> = {
    "fieldSelector=spec.nodeName%3Dn1": "a",
    "fieldSelector=spec.nodeName!%3Dn1": "b",
    "fieldSelector=status.phase%3DPending,metadata.name%3Db": "b",
    "labelSelector=app+in+(a,b)": "a,b",
    "labelSelector=app+notin+(a)": "b",
    "labelSelector=!app": "",
    "labelSelector=app,app!%3Db": "a",
  };
  for (const [query, want] of Object.entries(cases)) assert.equal(await names(query), want, query);
});

Deno.test("watchObjects() sends existing objects, then each change, in order", async () => {
  await using api = await testServer();
  await seed(api, ["a"]);
  const lines = await api.watch(`${SEED}&watch=1`, 4, async () => {
    await seed(api, ["b"]);
    await api.ok("PATCH", `${CONFIG_MAPS}/b`, { type: MERGE, body: { data: { a: "2" } } });
    await api.ok("DELETE", `${CONFIG_MAPS}/b`);
  });
  assert.deepEqual(lines.map(({ type, object }) => [type, object.metadata.name, object.data.a]), [
    ["ADDED", "a", "1"],
    ["ADDED", "b", "1"],
    ["MODIFIED", "b", "2"],
    ["DELETED", "b", "2"],
  ]);
  const versions = lines.map(({ object }) => Number(object.metadata.resourceVersion));
  assert.deepEqual(versions, versions.toSorted((a, b) => a - b));
});

Deno.test("watchObjects() continues from a resource version, without loss", async () => {
  await using api = await testServer();
  await seed(api, ["a"]);
  const { metadata } = await api.ok("GET", SEED);
  await seed(api, ["b", "c"]);
  const path = `${SEED}&watch=true&resourceVersion=${metadata.resourceVersion}`;
  const lines = await api.watch(path, 3, () => seed(api, ["d"]));
  assert.deepEqual(lines.map(({ object }) => object.metadata.name), ["b", "c", "d"]);
});

Deno.test("watchObjects() sends objects that enter and leave a selection as added and deleted", async () => {
  await using api = await testServer();
  await api.ok("POST", PODS, { body: pod("a") });
  const relabel = (app: string | null) =>
    api.ok("PATCH", `${PODS}/a`, { type: MERGE, body: { metadata: { labels: { app } } } });
  const lines = await api.watch(`${PODS}?watch=1&labelSelector=app%3Dx`, 2, async () => {
    await relabel("x");
    await relabel(null);
  });
  assert.deepEqual(lines.map(({ type }) => type), ["ADDED", "DELETED"]);
});

Deno.test("watchObjects() ends initial events with a bookmark, and the watch at its timeout", async () => {
  await using api = await testServer();
  await seed(api, ["a"]);
  const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" +
    "&allowWatchBookmarks=true&timeoutSeconds=1";
  const [added, bookmark, last, ...none] = await api.watch(`${SEED}&${query}`);
  assert.deepEqual([added?.type, bookmark?.type, last?.type, none.length], [
    "ADDED",
    "BOOKMARK",
    "BOOKMARK",
    0,
  ]);
  const { annotations, resourceVersion } = bookmark?.object.metadata;
  assert.deepEqual(annotations, { "k8s.io/initial-events-end": "true" });
  assert.ok(Number(resourceVersion) >= Number(added?.object.metadata.resourceVersion));
});

Deno.test("watchObjects() answers 410 if its history does not reach back", async () => {
  await using api = await testServer({ historyLimit: 5 });
  await seed(api, ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]);
  const { status, body } = await api.call("GET", `${SEED}&watch=1&resourceVersion=1`);
  assert.deepEqual([status, body.reason], [410, "Expired"]);
  assert.match(body.message, /too old resource version: 1 \(\d+\)/);
});

Deno.test("presenter() makes tables, with columns once a watch, and metadata alone", async () => {
  await using api = await testServer();
  await api.ok("POST", PODS, { body: pod("a") });
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  const table = await api.ok("GET", PODS, { accept });
  assert.equal(table.kind, "Table");
  assert.deepEqual(
    table.columnDefinitions.slice(0, 5).map((one: { name: string }) => one.name),
    ["Name", "Ready", "Status", "Restarts", "Age"],
  );
  assert.deepEqual(table.rows[0].cells.slice(0, 4), ["a", "0/1", "Pending", "0"]);
  assert.equal(table.rows[0].object.kind, "PartialObjectMetadata");
  const partial = await api.ok("GET", PODS, {
    accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
  });
  assert.deepEqual(Object.keys(partial.items[0]), ["kind", "apiVersion", "metadata"]);
});

Deno.test("watchObjects() ends when its kind is no longer served", async () => {
  await using api = await testServer();
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await api.ok("POST", definitions, { body: widgetDefinition() });
  await api.ok("POST", WIDGETS, { body: widget("a") });
  const lines = await api.watch(
    `${WIDGETS}?watch=1`,
    Infinity,
    () => api.ok("DELETE", `${definitions}/widgets.example.com`),
  );
  assert.deepEqual(lines.map(({ type }) => type), ["ADDED", "DELETED"]);
});

Deno.test("podLog() tells the kubelet when the client goes away", async () => {
  const told = Promise.withResolvers<void>();
  await using api = await testServer({
    podLogs: () =>
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("line\n")),
        cancel: () => told.resolve(),
      }),
  });
  await api.ok("POST", PODS, { body: pod("a") });
  const response = await api.open("GET", `${PODS}/a/log?follow=true`);
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  await told.promise;
});

Deno.test("startApiServer() ends watches when it closes", async () => {
  const api = await testServer();
  const response = await api.open("GET", `${PODS}?watch=1`);
  await Promise.all([response.text(), api[Symbol.asyncDispose]()]);
  await assert.rejects(fetch(api.server.url));
});

Deno.test("podLog() ends when the server closes", async () => {
  const told = Promise.withResolvers<void>();
  const api = await testServer({
    podLogs: () => new ReadableStream({ cancel: () => told.resolve() }),
  });
  await api.ok("POST", PODS, { body: pod("a") });
  const response = await api.open("GET", `${PODS}/a/log?follow=true`);
  await Promise.all([response.text(), told.promise, api[Symbol.asyncDispose]()]);
});
