/** Tests of the API server over HTTPS: objects from creation to deletion. */
import assert from "node:assert/strict";
import { CONFIG_MAPS, configMap, pod, PODS, type TestServer, testServer } from "./api_cluster.ts";

Deno.test("startApiServer() serves an object from create to delete", async () => {
  await using api = await testServer();
  const created = await api.ok("POST", CONFIG_MAPS, { body: configMap("a") });
  assert.match(created.metadata.uid, /^[0-9a-f-]{36}$/);
  assert.match(created.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.equal(created.metadata.managedFields, undefined);
  const replaced = await api.ok("PUT", `${CONFIG_MAPS}/a`, {
    body: { ...created, data: { a: "2" } },
  });
  assert.equal(replaced.data.a, "2");
  assert.ok(Number(replaced.metadata.resourceVersion) > Number(created.metadata.resourceVersion));
  assert.deepEqual(await api.ok("GET", `${CONFIG_MAPS}/a`), replaced);
  const gone = await api.ok("DELETE", `${CONFIG_MAPS}/a`);
  assert.equal(gone.status, "Success");
  assert.equal(gone.details.uid, created.metadata.uid);
  assert.equal((await api.call("GET", `${CONFIG_MAPS}/a`)).status, 404);
});

Deno.test("startApiServer() writes nothing if an update changes nothing", async () => {
  await using api = await testServer();
  const created = await api.ok("POST", CONFIG_MAPS, { body: configMap("a") });
  const again = await api.ok("PUT", `${CONFIG_MAPS}/a`, { body: created });
  assert.equal(again.metadata.resourceVersion, created.metadata.resourceVersion);
});

interface Refusal {
  method: string;
  path: string;
  body?: unknown;
  type?: string;
  accept?: string;
  token?: string;
  want: [number, string, RegExp];
}

const MERGE = "application/merge-patch+json";
const refusals: Record<string, Refusal> = {
  "no such object: 404": {
    method: "GET",
    path: `${PODS}/none`,
    want: [404, "NotFound", /pods "none" not found/],
  },
  "no such kind: 404": {
    method: "GET",
    path: "/apis/batch/v1/namespaces/default/none",
    want: [404, "NotFound", /could not find the requested resource/],
  },
  "no such namespace: 404": {
    method: "POST",
    path: "/api/v1/namespaces/none/configmaps",
    body: configMap("a"),
    want: [404, "NotFound", /namespaces "none" not found/],
  },
  "a name that is taken: 409": {
    method: "POST",
    path: CONFIG_MAPS,
    body: configMap("taken"),
    want: [409, "AlreadyExists", /configmaps "taken" already exists/],
  },
  "an old resource version: 409": {
    method: "PUT",
    path: `${CONFIG_MAPS}/taken`,
    body: configMap("taken", { resourceVersion: "1" }),
    want: [409, "Conflict", /object has been modified/],
  },
  "a patch with an old resource version: 409": {
    method: "PATCH",
    path: `${CONFIG_MAPS}/taken`,
    type: MERGE,
    body: { metadata: { resourceVersion: "1" }, data: { a: "3" } },
    want: [409, "Conflict", /object has been modified/],
  },
  "another UID: 422": {
    method: "PATCH",
    path: `${CONFIG_MAPS}/taken`,
    type: MERGE,
    body: { metadata: { uid: "other" } },
    want: [422, "Invalid", /metadata\.uid: .*field is immutable/],
  },
  "another name than the path's: 400": {
    method: "PUT",
    path: `${CONFIG_MAPS}/taken`,
    body: configMap("other"),
    want: [400, "BadRequest", /does not match the name on the URL/],
  },
  "no name: 422": {
    method: "POST",
    path: CONFIG_MAPS,
    body: { metadata: {} },
    want: [422, "Invalid", /name or generateName is required/],
  },
  "another kind than the path's: 400": {
    method: "POST",
    path: CONFIG_MAPS,
    body: pod("a"),
    want: [400, "BadRequest", /does not match the expected kind/],
  },
  "a resource version on create: 500": {
    method: "POST",
    path: CONFIG_MAPS,
    body: configMap("b", { resourceVersion: "1" }),
    want: [500, "InternalError", /resourceVersion should not be set/],
  },
  "not JSON: 400": {
    method: "POST",
    path: CONFIG_MAPS,
    body: "{",
    want: [400, "BadRequest", /not valid JSON/],
  },
  "labels that are no texts: 400": {
    method: "POST",
    path: CONFIG_MAPS,
    body: configMap("b", { labels: { a: 1 } }),
    want: [400, "BadRequest", /metadata.labels.a/],
  },
  "an unknown field, strictly: 400": {
    method: "POST",
    path: `${PODS}?fieldValidation=Strict`,
    body: pod("a", { spec: { imge: "x" } }),
    want: [400, "BadRequest", /strict decoding error: unknown field "spec.imge"/],
  },
  "a wrong field: 422": {
    method: "POST",
    path: PODS,
    body: pod("a", { spec: { containers: [{ name: "UPPER_case", image: "i" }] } }),
    want: [422, "Invalid", /spec.containers\[0\].name/],
  },
  "a body of an unknown type: 415": {
    method: "POST",
    path: CONFIG_MAPS,
    type: "text/plain",
    body: "a",
    want: [415, "UnsupportedMediaType", /text\/plain/],
  },
  "server-side apply: 415, and what to use instead": {
    method: "PATCH",
    path: `${CONFIG_MAPS}/taken`,
    type: "application/apply-patch+yaml",
    body: "{}",
    want: [415, "UnsupportedMediaType", /server-side apply is not supported.*--server-side=false/],
  },
  "an answer of an unknown type: 406": {
    method: "GET",
    path: CONFIG_MAPS,
    accept: "text/html",
    want: [406, "NotAcceptable", /application\/json/],
  },
  "a body over the limit: 413": {
    method: "POST",
    path: CONFIG_MAPS,
    body: "x".repeat(3 * 1024 * 1024 + 1),
    want: [413, "RequestEntityTooLarge", /limit is 3145728/],
  },
  "POST on an object: 405": {
    method: "POST",
    path: `${CONFIG_MAPS}/taken`,
    body: configMap("taken"),
    want: [405, "MethodNotAllowed", /does not allow this method/],
  },
  "a review is not to be read: 405": {
    method: "GET",
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    want: [405, "MethodNotAllowed", /does not allow this method/],
  },
  "exec: 405, by name": {
    method: "POST",
    path: `${PODS}/taken/exec`,
    want: [405, "MethodNotAllowed", /pods\/exec is not served here: .* run the command in a shell/],
  },
  "a bad token: 401": {
    method: "GET",
    path: PODS,
    token: "bad",
    want: [401, "Unauthorized", /Unauthorized/],
  },
  "no token: 401": { method: "GET", path: PODS, token: "", want: [401, "Unauthorized", /./] },
  "an invalid label selector: 400": {
    method: "GET",
    path: `${PODS}?labelSelector=a%3D%3D%3Db`,
    want: [400, "BadRequest", /is not a label selector/],
  },
  "a field that selects nothing: 400": {
    method: "GET",
    path: `${PODS}?fieldSelector=spec.foo%3Db`,
    want: [400, "BadRequest", /field label not supported: spec.foo/],
  },
  "a limit that is no number: 400": {
    method: "GET",
    path: `${PODS}?limit=x`,
    want: [400, "BadRequest", /limit must be/],
  },
  "an invalid continue token: 400": {
    method: "GET",
    path: `${PODS}?limit=1&continue=x`,
    want: [400, "BadRequest", /continue key is not valid/],
  },
  "a resource version of the future: 410": {
    method: "GET",
    path: `${PODS}?watch=1&resourceVersion=99999`,
    want: [410, "Expired", /Too large resource version/],
  },
  "a deletion of another UID: 409": {
    method: "DELETE",
    path: `${CONFIG_MAPS}/taken`,
    body: { preconditions: { uid: "other" } },
    want: [409, "Conflict", /UID in the precondition/],
  },
  "a propagation that there is not: 422": {
    method: "DELETE",
    path: `${CONFIG_MAPS}/taken`,
    body: { propagationPolicy: "Sometimes" },
    want: [422, "Invalid", /propagationPolicy/],
  },
};

async function refuses(api: TestServer, { method, path, want, ...options }: Refusal) {
  const [code, reason, message] = want;
  const { status, body } = await api.call(method, path, options);
  assert.deepEqual([status, body.kind, body.code, body.reason], [code, "Status", code, reason]);
  assert.match(body.message, message);
}

Deno.test("startApiServer() refuses, with a code, a reason and what to change", async (t) => {
  await using api = await testServer();
  await api.ok("POST", CONFIG_MAPS, { body: configMap("taken") });
  await api.ok("POST", PODS, { body: pod("taken") });
  for (const [sentence, refusal] of Object.entries(refusals)) {
    await t.step(sentence, () => refuses(api, refusal));
  }
});

Deno.test("startApiServer() warns of unknown fields, drops them and generates names", async () => {
  await using api = await testServer();
  const body = { ...pod(""), metadata: { generateName: "p-" } };
  const { status, body: created, headers } = await api.call("POST", PODS, {
    body: { ...body, spec: { ...body.spec, imge: "x" } },
  });
  assert.equal(status, 201);
  assert.match(headers.get("warning") ?? "", /299 - "unknown field \\"spec.imge\\""/);
  assert.match(created.metadata.name, /^p-[a-z0-9]{5}$/);
  assert.equal(created.spec.imge, undefined);
  assert.equal(created.spec.restartPolicy, "Always");
  assert.deepEqual(created.status, { phase: "Pending", qosClass: "BestEffort" });
  assert.equal(created.spec.serviceAccountName, "default");
});

Deno.test("startApiServer() keeps status and the rest apart, and counts generations", async () => {
  await using api = await testServer();
  const created = await api.ok("POST", PODS, {
    body: { ...pod("a"), status: { phase: "Failed" } },
  });
  assert.equal(created.status.phase, "Pending");
  const merge = { type: MERGE };
  const other = await api.ok("PATCH", `${PODS}/a/status`, {
    ...merge,
    body: { status: { phase: "Running" }, spec: { nodeName: "n" } },
  });
  assert.equal(other.status.phase, "Running");
  assert.equal(other.spec.nodeName, undefined);
  assert.equal(other.metadata.generation, 1);
  const main = await api.ok("PATCH", `${PODS}/a`, {
    ...merge,
    body: { status: { phase: "Failed" }, spec: { activeDeadlineSeconds: 9 } },
  });
  assert.equal(main.status.phase, "Running");
  assert.equal(main.metadata.generation, 2);
});

Deno.test("startApiServer() does nothing on a dry run", async () => {
  await using api = await testServer();
  await api.ok("POST", `${CONFIG_MAPS}?dryRun=All`, { body: configMap("a") });
  assert.equal((await api.call("GET", `${CONFIG_MAPS}/a`)).status, 404);
  await api.ok("POST", CONFIG_MAPS, { body: configMap("a") });
  await api.ok("PATCH", `${CONFIG_MAPS}/a?dryRun=All`, { type: MERGE, body: { data: { a: "9" } } });
  await api.ok("DELETE", `${CONFIG_MAPS}/a?dryRun=All`);
  assert.equal((await api.ok("GET", `${CONFIG_MAPS}/a`)).data.a, "1");
});

Deno.test("startApiServer() applies the three patch types, and loses none of many concurrent ones", async () => {
  await using api = await testServer();
  await api.ok("POST", PODS, { body: pod("a") });
  const strategic = await api.ok("PATCH", `${PODS}/a`, {
    type: "application/strategic-merge-patch+json",
    body: { spec: { containers: [{ name: "c", image: "new" }] } },
  });
  assert.deepEqual([strategic.spec.containers[0].image, strategic.spec.containers.length], [
    "new",
    1,
  ]);
  await api.ok("POST", CONFIG_MAPS, { body: configMap("a") });
  await Promise.all([...Array(20).keys()].map((i) =>
    api.ok("PATCH", `${CONFIG_MAPS}/a`, {
      type: "application/json-patch+json",
      body: [{ op: "add", path: `/data/k${i}`, value: `${i}` }],
    })
  ));
  assert.equal(Object.keys((await api.ok("GET", `${CONFIG_MAPS}/a`)).data).length, 21);
});

Deno.test("startApiServer() closes after a log that has broken off", async () => {
  await using api = await testServer({
    podLogs: () => new ReadableStream({ pull: (log) => log.error(new Error("the file has gone")) }),
  });
  await api.ok("POST", PODS, { body: pod("a") });
  await assert.rejects(api.call("GET", `${PODS}/a/log`));
});

Deno.test("startApiServer() gives pods logs, nodes and scale", async () => {
  await using api = await testServer({
    podLogs: ({ pod, container, options }) =>
      ReadableStream.from([`${pod.metadata?.name} ${container} ${options.tailLines}`])
        .pipeThrough(new TextEncoderStream()),
  });
  await api.ok("POST", PODS, { body: pod("a") });
  assert.equal(await api.ok("GET", `${PODS}/a/log?tailLines=3`), "a c 3");
  assert.equal((await api.call("GET", `${PODS}/a/log?container=x`)).status, 400);
  assert.equal((await api.call("GET", `${PODS}/a/log?tailLines=-1`)).status, 400);
  await api.ok("POST", `${PODS}/a/binding`, { body: { target: { kind: "Node", name: "n1" } } });
  const bound = await api.ok("GET", `${PODS}/a`);
  assert.equal(bound.spec.nodeName, "n1");
  assert.equal(bound.status.conditions[0].type, "PodScheduled");
  assert.equal(
    (await api.call("POST", `${PODS}/a/binding`, { body: { target: { name: "n2" } } })).status,
    409,
  );
});
