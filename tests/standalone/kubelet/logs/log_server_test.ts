/** Tests of the log endpoint over TLS: access, answers, and its end. */
import assert from "node:assert/strict";
import { systemClock } from "../../../../platform/base/clock.ts";
import { ConfigurationError } from "../../../../platform/kube/errors.ts";
import type { Access, Proof } from "../../../../standalone/kubelet/logs/log_access.ts";
import { LogProblem } from "../../../../standalone/kubelet/logs/log_keys.ts";
import type { LogRequest } from "../../../../standalone/kubelet/logs/log_request.ts";
import { startLogServer } from "../../../../standalone/kubelet/logs/log_server.ts";
import {
  type Authority,
  createAuthority,
  type KeyPair,
} from "../../../cluster/control_plane/certificates.ts";
import { until } from "../../../support/until.ts";

interface Served {
  readonly url: string;
  readonly ca: Authority;
  readonly proofs: Proof[];
  get(path: string, how?: { key?: KeyPair; token?: string; method?: string }): Promise<Response>;
}

const text = (value: string) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(value));
      controller.close();
    },
  });

/** Runs `work` with an endpoint whose logs are `readLogs`. */
async function withServer(
  work: (served: Served) => Promise<void>,
  options: {
    readLogs?: (request: LogRequest) => ReadableStream<Uint8Array>;
    access?: () => Promise<Access>;
  } = {},
): Promise<void> {
  const ca = await createAuthority("kubelets");
  const proofs: Proof[] = [];
  const server = await startLogServer({
    hostname: "127.0.0.1",
    port: 0,
    tls: { ...await ca.server("node", ["127.0.0.1"]), ca: ca.cert },
    clock: systemClock,
    checkAccess: (proof) => {
      proofs.push(proof);
      return options.access?.() ?? Promise.resolve({ ok: true });
    },
    readLogs: options.readLogs ?? (({ pod }) => text(`log of ${pod}\n`)),
  });
  const url = `https://127.0.0.1:${server.port}`;
  try {
    await work({
      url,
      ca,
      proofs,
      async get(path, { key, token, method = "GET" } = {}) {
        using client = Deno.createHttpClient({ caCerts: [ca.cert], ...key });
        const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
        const answer = await fetch(`${url}${path}`, { client, method, headers });
        return new Response(await answer.text(), answer);
      },
    });
  } finally {
    await server.close(0);
  }
}

const PATH = "/containerLogs/ns/pod/main";

Deno.test("startLogServer() serves a log to the bearer of a certificate of its CA", () =>
  withServer(async ({ get, ca, proofs }) => {
    const key = await ca.client({ user: "api", groups: ["a", "b"] });
    const answer = await get(PATH, { key });
    assert.equal(answer.status, 200);
    assert.equal(await answer.text(), "log of pod\n");
    assert.deepEqual(proofs, [{ certificate: { username: "api", groups: ["a", "b"] } }]);
  }));

Deno.test("startLogServer() does not trust certificates of another CA, and passes a token to the access check", () =>
  withServer(async ({ get, proofs }) => {
    const other = await createAuthority("others");
    await get(PATH, { key: await other.client({ user: "api" }) });
    await get(PATH, { token: "abc.def" });
    assert.deepEqual(proofs, [{}, { token: "abc.def" }]);
  }));

Deno.test("startLogServer() refuses with the code that the access check gives", async () => {
  const access = () => Promise.resolve({ ok: false, code: 401, message: "who?" } as const);
  await withServer(async ({ get }) => {
    const answer = await get(PATH);
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get("www-authenticate"), "Bearer");
    assert.equal(await answer.text(), "who?\n");
  }, { access });
});

Deno.test("startLogServer() answers 500 without detail when the caller cannot be identified", async () => {
  const access = () => Promise.reject(new Error("the API server is away"));
  await withServer(async ({ get }) => {
    const answer = await get(PATH);
    assert.equal(answer.status, 500);
    assert.doesNotMatch(await answer.text(), /away/);
  }, { access });
});

Deno.test("startLogServer() says why there is no log, and which paths it does not serve", async () => {
  const readLogs = () => {
    throw new LogProblem('container "main" in pod "pod" is waiting to start: x', 400);
  };
  await withServer(async ({ get }) => {
    const answer = await get(PATH);
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /waiting to start/);
    assert.equal((await get("/pods")).status, 404);
    const wrong = await get(PATH, { method: "DELETE" });
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.get("allow"), "GET");
  }, { readLogs });
});

Deno.test("startLogServer() ends a log when its reader goes", async () => {
  let cancelled = false;
  const readLogs = () =>
    new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode("first\n")),
      cancel: () => {
        cancelled = true;
      },
    });
  await withServer(async ({ url, ca }) => {
    using client = Deno.createHttpClient({ caCerts: [ca.cert] });
    const answer = await fetch(`${url}${PATH}?follow=true`, { client });
    const reader = answer.body?.getReader();
    const part = await reader?.read();
    assert.equal(new TextDecoder().decode(part?.value), "first\n");
    await reader?.cancel();
    await until("the log is cancelled", () => cancelled);
  }, { readLogs });
});

Deno.test("startLogServer() closes while a log is followed", async () => {
  const ended = Promise.withResolvers<void>();
  const readLogs = () => new ReadableStream<Uint8Array>({ cancel: () => ended.resolve() });
  let reading: Promise<unknown> = Promise.resolve();
  await withServer(async ({ url, ca }) => {
    const client = Deno.createHttpClient({ caCerts: [ca.cert] });
    const answer = await fetch(`${url}${PATH}?follow=true`, { client });
    reading = assert.rejects(answer.text()).finally(() => client.close());
  }, { readLogs });
  await Promise.all([reading, ended.promise]);
});

Deno.test("startLogServer() says in one line that its port is taken or its key is invalid", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const tls = await (await createAuthority("kubelets")).server("node", ["127.0.0.1"]);
  const common = {
    hostname: "127.0.0.1",
    clock: systemClock,
    checkAccess: () => Promise.resolve({ ok: true } as const),
    readLogs: () => text(""),
  };
  const { port } = taken.addr;
  await assert.rejects(startLogServer({ ...common, tls, port }), (error: unknown) => {
    assert.ok(error instanceof ConfigurationError);
    assert.match(
      error.message,
      new RegExp(`--port: port ${port} is taken; choose another`),
    );
    return true;
  });
  const broken = { cert: "none", key: "none" };
  await assert.rejects(startLogServer({ ...common, tls: broken, port: 0 }), ConfigurationError);
});
