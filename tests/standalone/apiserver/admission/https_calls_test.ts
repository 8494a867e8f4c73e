/** Tests of webhook calls over TLS on loopback. */
import assert from "node:assert/strict";
import { at } from "../../../../platform/base/json.ts";
import { createAuthorizer } from "../../../../standalone/apiserver/access/authorizer.ts";
import { createAdmission } from "../../../../standalone/apiserver/admission/admission.ts";
import type { AdmissionRequest } from "../../../../standalone/apiserver/admission/admission_request.ts";
import { createHttpsCalls } from "../../../../standalone/apiserver/admission/https_calls.ts";
import { memoryStore, stored } from "../memory_store.ts";
import { makeCertificates, withWebhook } from "./webhook_server.ts";

/** Calls whose connections are closed with the scope. */
function disposable() {
  const { call, close } = createHttpsCalls();
  return {
    call,
    /** Calls a server of this machine. */
    post: (port: number, timeoutMs: number, ca?: string) =>
      call({ url: `https://127.0.0.1:${port}/`, body: "{}", timeoutMs, ...(ca && { ca }) }),
    [Symbol.dispose]: close,
  };
}

const made = Promise.all([makeCertificates(), makeCertificates()]);

/** Admits ConfigMaps with one mutating webhook. */
async function admit(
  request: AdmissionRequest,
  clientConfig: unknown,
  more: Record<string, unknown> = {},
) {
  const webhook = {
    name: "hook.test",
    clientConfig,
    rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }],
    sideEffects: "None",
    ...more,
  };
  const store = memoryStore({
    mutatingwebhookconfigurations: [
      stored("MutatingWebhookConfiguration", { name: "c" }, { webhooks: [webhook] }),
    ],
  });
  using calls = disposable();
  const admission = createAdmission({
    store,
    authorizer: createAuthorizer({ store }),
    call: calls.call,
  });
  return await admission(request, (object) => object);
}

function configMap() {
  return {
    operation: "CREATE" as const,
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    resource: { group: "", version: "v1", resource: "configmaps" },
    namespace: "ns",
    name: "c",
    object: { metadata: { name: "c" }, data: { a: "1" } },
    user: { name: "ann", groups: [] },
    dryRun: false,
  };
}

const PATCH = btoa(JSON.stringify([{ op: "add", path: "/data/b", value: "2" }]));

Deno.test("`admit()` calls a webhook by URL with its authority pinned, and applies its patch", async () => {
  const [{ ca, ...server }] = await made;
  let seen: unknown;
  const handler = (review: unknown) => {
    seen = review;
    return { allowed: true, patchType: "JSONPatch", patch: PATCH, warnings: ["take care"] };
  };
  await withWebhook({ ca, ...server }, handler, async (port) => {
    const clientConfig = { url: `https://127.0.0.1:${port}/hook`, caBundle: btoa(ca) };
    const { object, warnings } = await admit(configMap(), clientConfig);
    assert.deepEqual(at(object, "data"), { a: "1", b: "2" });
    assert.deepEqual(warnings, ["take care"]);
  });
  assert.equal(at(seen, "request", "operation"), "CREATE");
  assert.equal(at(seen, "request", "userInfo", "username"), "ann");
  assert.deepEqual(at(seen, "request", "object", "data"), { a: "1" });
});

Deno.test("`admit()` refuses a webhook by Service, which cannot be reached", async () => {
  const clientConfig = { service: { name: "hook", namespace: "ns", port: 443 } };
  await assert.rejects(admit(configMap(), clientConfig), {
    code: 500,
    message: /service "hook\.ns\.svc" cannot be reached from this server$/,
  });
});

Deno.test("`admit()` refuses a webhook whose certificate another authority signed", async () => {
  const [server, other] = await made;
  let calls = 0;
  await withWebhook(server, () => ({ allowed: ++calls > 0 }), async (port) => {
    const clientConfig = { url: `https://127.0.0.1:${port}/`, caBundle: btoa(other.ca) };
    await assert.rejects(admit(configMap(), clientConfig), {
      code: 500,
      message:
        /^Internal error occurred: failed calling webhook "hook\.test": failed to call webhook: Post "https:/,
    });
    const { object } = await admit(configMap(), clientConfig, { failurePolicy: "Ignore" });
    assert.deepEqual(at(object, "data"), { a: "1" });
  });
  assert.equal(calls, 0);
});

Deno.test("A call gives up at the deadline", async () => {
  const [server] = await made;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const handler = async () => {
    await released;
    return { allowed: true };
  };
  await withWebhook(server, handler, async (port) => {
    using calls = disposable();
    await assert.rejects(calls.post(port, 100, server.ca), /context deadline exceeded/);
    release();
  });
});

Deno.test("A call reads no endless answer", async () => {
  const [server] = await made;
  const chunk = new Uint8Array(1024 * 1024);
  const handler = () =>
    new Response(
      new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }),
    );
  await withWebhook(server, handler, async (port) => {
    using calls = disposable();
    await assert.rejects(
      calls.post(port, 10_000, server.ca),
      /the response is larger than 8388608 bytes/,
    );
  });
});

Deno.test("A call says that the connection was refused", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  using calls = disposable();
  await assert.rejects(calls.post(port, 5_000), /refused/i);
});

Deno.test("Calls go over connections that are kept, 64 at most, and over new ones after `close()`", async () => {
  const [{ ca, ...server }] = await made;
  const connections = new Set<number>();
  let [now, most] = [0, 0];
  const full = Promise.withResolvers<void>();
  let gate = Promise.resolve();
  const handler = async (_review: unknown, port: number) => {
    connections.add(port);
    most = Math.max(most, ++now);
    if (now === 64) full.resolve();
    await gate;
    now--;
    return { allowed: true };
  };
  await withWebhook({ ca, ...server }, handler, async (port) => {
    using calls = disposable();
    const call = () => calls.post(port, 30_000, ca);
    for (let turn = 0; turn < 10; turn++) assert.equal((await call()).status, 200);
    assert.equal(connections.size, 1);
    gate = full.promise; // All who come at once are there at once.
    const answers = await Promise.all(Array.from({ length: 200 }, call));
    assert.deepEqual(answers.map(({ status }) => status), Array(200).fill(200));
    assert.equal(most, 64);
    assert.ok(connections.size <= 65, `over ${connections.size}`);
    calls[Symbol.dispose]();
    const before = connections.size;
    await call();
    assert.equal(connections.size, before + 1);
  });
});
