/** Tests of `platform/kube/client.ts`. */
import assert from "node:assert/strict";
import type { RequestReport } from "../../../platform/kube/client.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import {
  isConflict,
  isForbidden,
  isNotFound,
  KubeError,
  TooLargeError,
  TransportError,
} from "../../../platform/kube/errors.ts";
import { connectionTo } from "../../../platform/kube/connection/kubeconfig.ts";
import { answeringClient, silent } from "../../support/answering_client.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeApiServer, refusal, WIDGET, type Widget, widget } from "./fake_api_server.ts";

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly type: string | null;
  readonly body: unknown;
}

/** A client of a server that answers with `answer`, while `test` runs. */
async function withClient(
  answer: (request: Request, count: number) => Response | Promise<Response>,
  test: (world: {
    client: ReturnType<typeof createClient>;
    sent: Sent[];
    reports: RequestReport[];
    slept: number[];
  }) => Promise<void>,
): Promise<void> {
  const sent: Sent[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const text = await request.clone().text();
      sent.push({
        method: request.method,
        path: pathname + search,
        type: request.headers.get("content-type"),
        body: text === "" ? undefined : JSON.parse(text),
      });
      return await answer(request, sent.length);
    },
  );
  const reports: RequestReport[] = [];
  const slept: number[] = [];
  const client = createClient({
    connection: connectionTo({ server: `http://127.0.0.1:${server.addr.port}` }),
    onRequest: (report) => reports.push(report),
    random: () => 0,
    clock: {
      ...systemClock,
      sleep(ms, signal) {
        // Deadlines are real; waits that the server asks for are over at once.
        if (ms === 30_000 || ms < 100) return systemClock.sleep(ms, signal);
        slept.push(ms);
        return Promise.resolve();
      },
    },
  });
  try {
    await test({ client, sent, reports, slept });
  } finally {
    client.close();
  }
}

const stored = (): Response =>
  Response.json({ apiVersion: "test.example/v1", kind: "Widget", ...widget("a") });
const KEY = { namespace: "ns", name: "a" };
const BASE = "/apis/test.example/v1/namespaces/ns/widgets";
const JSON_TYPE = "application/json";

Deno.test("`createClient()` sends each call to its path", () =>
  withClient(stored, async ({ client, sent, reports }) => {
    await client.get(WIDGET, KEY);
    await client.create(WIDGET, widget("a"));
    await client.replace(WIDGET, widget("a", "blue", { resourceVersion: "7" }));
    await client.replace(WIDGET, widget("a"), { subresource: "status" });
    await client.patch(WIDGET, KEY, { type: "merge", body: { spec: null } });
    const operations = [{ op: "test" as const, path: "/metadata/uid", value: "u" }];
    await client.patch(WIDGET, KEY, { type: "json", operations }, { subresource: "status" });
    await client.patch(WIDGET, KEY, { type: "strategic", body: {} });
    const preconditions = { uid: "u" };
    await client.delete(WIDGET, KEY, { propagationPolicy: "Background", preconditions });
    await client.createSubresource(WIDGET, KEY, "token", { spec: {} });
    const typed = { apiVersion: "test.example/v1", kind: "Widget" };
    assert.deepEqual(
      sent.map(({ method, path, type, body }) => [method, path, type, body]),
      [
        ["GET", `${BASE}/a`, null, undefined],
        ["POST", BASE, JSON_TYPE, { ...widget("a"), ...typed }],
        ["PUT", `${BASE}/a`, JSON_TYPE, {
          ...widget("a", "blue", { resourceVersion: "7" }),
          ...typed,
        }],
        ["PUT", `${BASE}/a/status`, JSON_TYPE, { ...widget("a"), ...typed }],
        ["PATCH", `${BASE}/a`, "application/merge-patch+json", { spec: null }],
        ["PATCH", `${BASE}/a/status`, "application/json-patch+json", operations],
        ["PATCH", `${BASE}/a`, "application/strategic-merge-patch+json", {}],
        ["DELETE", `${BASE}/a`, JSON_TYPE, {
          apiVersion: "v1",
          kind: "DeleteOptions",
          propagationPolicy: "Background",
          preconditions,
        }],
        ["POST", `${BASE}/a/token`, JSON_TYPE, { spec: {} }],
      ],
    );
    assert.deepEqual(
      reports.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`),
      [
        "get widgets 200",
        "create widgets 200",
        "update widgets 200",
        "update widgets/status 200",
        "patch widgets 200",
        "patch widgets/status 200",
        "patch widgets 200",
        "delete widgets 200",
        "create widgets/token 200",
      ],
    );
  }));

Deno.test("`createClient()` requests the metadata alone of a kind that says so", () => {
  const accepted: (string | null)[] = [];
  return withClient(({ headers }) => {
    accepted.push(headers.get("accept"));
    return Response.json({ ...widget("a"), items: [widget("a")] });
  }, async ({ client }) => {
    const kind = { ...WIDGET, metadataOnly: true };
    await client.get(kind, { namespace: "ns", name: "a" });
    await client.list(kind);
    await client.create(kind, widget("a"));
    await client.get(WIDGET, { namespace: "ns", name: "a" }).catch(() => undefined);
    const as = (form: string) => `application/json;as=${form};g=meta.k8s.io;v=v1,application/json`;
    assert.deepEqual(accepted, [
      as("PartialObjectMetadata"),
      as("PartialObjectMetadataList"),
      as("PartialObjectMetadata"),
      "application/json",
    ]);
  });
});

Deno.test("`list()` reads no response that is longer than `maxBytes`", () =>
  withClient(
    () => Response.json({ items: [widget("a", "x".repeat(5000))] }),
    async ({ client }) => {
      await assert.rejects(client.list(WIDGET, { maxBytes: 4096 }), TooLargeError);
      assert.equal((await client.list(WIDGET, { maxBytes: 8192 })).items.length, 1);
    },
  ));

Deno.test("`list()` sends selectors and reports objects that it could not parse", () =>
  withClient(() =>
    Response.json({
      metadata: { resourceVersion: "9", continue: "next" },
      items: [widget("a"), { ...widget("b"), spec: { broken: true } }, null],
    }), async ({ client, sent }) => {
    const result = await client.list(WIDGET, {
      namespace: "ns",
      labelSelector: "a=b,c!=d",
      limit: 3,
    });
    assert.equal(sent[0]?.path, `${BASE}?labelSelector=a%3Db%2Cc%21%3Dd&limit=3`);
    assert.deepEqual(result.items.map((item) => item.metadata?.name), ["a"]);
    assert.equal(result.resourceVersion, "9");
    assert.equal(result.continue, "next");
    assert.deepEqual(result.problems, [
      { key: "ns/b", problem: "a broken widget" },
      { key: "", problem: "not an object" },
    ]);
    await client.list(WIDGET);
    assert.equal(sent[1]?.path, "/apis/test.example/v1/widgets");
  }));

Deno.test("`createClient()` throws the Status that the server answers", () =>
  withClient(
    (_request, count) =>
      count === 1
        ? refusal(409, "Conflict", "the object has been modified")
        : count === 2
        ? refusal(404, "NotFound")
        : new Response("<html>", { status: 502 }),
    async ({ client }) => {
      await assert.rejects(client.replace(WIDGET, widget("a")), (error) => {
        assert.ok(error instanceof KubeError && isConflict(error));
        assert.equal(error.message, "the object has been modified");
        return true;
      });
      await assert.rejects(client.delete(WIDGET, KEY), (error) => isNotFound(error));
      await assert.rejects(client.get(WIDGET, KEY), (error) => {
        assert.ok(error instanceof KubeError && error.code === 502);
        assert.equal(error.message, `GET ${BASE}/a: HTTP 502`);
        return true;
      });
    },
  ));

Deno.test("`createClient()` waits as long as 429 and 503 ask for, a few times", async (t) => {
  const busy = (seconds: string) =>
    refusal(429, "TooManyRequests", "busy", { "retry-after": seconds });
  await t.step(
    "and then returns the response",
    () =>
      withClient(
        (_request, count) => count < 3 ? busy("2") : stored(),
        async ({ client, slept }) => {
          await client.create(WIDGET, widget("a"));
          assert.deepEqual(slept, [2000, 2000]);
        },
      ),
  );
  await t.step("and then gives up", () =>
    withClient(() => busy("1"), async ({ client, sent }) => {
      await assert.rejects(client.get(WIDGET, KEY), (error) => {
        assert.ok(error instanceof KubeError && error.retryAfterMs === 1000);
        return true;
      });
      assert.equal(sent.length, 4);
    }));
  await t.step(
    "but not if retries are off, nor for long, nor beyond the deadline",
    () =>
      withClient((_request, count) => busy(count === 2 ? "60" : "3"), async ({ client, sent }) => {
        await assert.rejects(client.get(WIDGET, KEY, { honorRetryAfter: false }), KubeError);
        await assert.rejects(client.get(WIDGET, KEY), KubeError);
        await assert.rejects(client.get(WIDGET, KEY, { deadlineMs: 90 }), KubeError);
        assert.equal(sent.length, 3);
      }),
  );
  await t.step(
    "and reports at most a minute to callers",
    () =>
      withClient(() => busy("86400"), async ({ client }) => {
        await assert.rejects(client.get(WIDGET, KEY), (error) => {
          assert.ok(error instanceof KubeError && error.retryAfterMs === 60_000);
          return true;
        });
      }),
  );
  await t.step(
    "and not without Retry-After",
    () =>
      withClient(() => refusal(503, "ServiceUnavailable"), async ({ client, sent }) => {
        await assert.rejects(client.get(WIDGET, KEY), KubeError);
        assert.equal(sent.length, 1);
      }),
  );
});

Deno.test("`createClient()` gives up at the deadline and at once on abort", async () => {
  const open: (() => void)[] = [];
  const never = () => new Promise<Response>((resolve) => open.push(() => resolve(stored())));
  await withClient(never, async ({ client, reports }) => {
    await assert.rejects(client.get(WIDGET, KEY, { deadlineMs: 20 }), (error) => {
      assert.ok(error instanceof TransportError);
      assert.equal(error.message, `GET ${BASE}/a: no response within 20 ms`);
      return true;
    });
    const stop = new AbortController();
    const call = client.get(WIDGET, KEY, { signal: stop.signal });
    stop.abort(new Error("enough"));
    await assert.rejects(call, /^Error: enough$/);
    await assert.rejects(client.get(WIDGET, KEY, { signal: stop.signal }), /enough/);
    await assert.rejects(client.read("/healthz", { deadlineMs: 20 }), TransportError);
    await assert.rejects(client.stream("/log", { deadlineMs: 20, idleMs: 20 }), TransportError);
    assert.deepEqual(new Set(reports.map(({ code }) => code)), new Set([0]));
    for (const end of open) end();
  });
});

Deno.test("`createClient()` names an object that it cannot read, and a call without a name", () =>
  withClient(
    () => Response.json({ ...widget("a"), spec: { broken: true } }),
    async ({ client, sent }) => {
      await assert.rejects(client.get(WIDGET, KEY), /Widget ns\/a cannot be read: a broken widget/);
      const calls: (() => Promise<unknown>)[] = [
        () => client.get(WIDGET, { name: "a" }),
        () => client.get(WIDGET, { namespace: "ns", name: "" }),
        () => client.delete(WIDGET, { namespace: "ns", name: ".." }),
        () => client.create(WIDGET, { metadata: { name: "a" } }),
      ];
      for (const call of calls) await assert.rejects(async () => await call(), /must be given/);
      assert.equal(sent.length, 1);
    },
  ));

Deno.test("`read()` and `stream()` send what they are given, and throw a refusal", () =>
  withClient(
    (_request, count) => count < 3 ? refusal(403, "Forbidden") : new Response("ok"),
    async (
      { client, sent, reports },
    ) => {
      const post = { method: "POST", body: "{}" };
      for (const call of [client.read, client.stream]) {
        await assert.rejects(call("/healthz?verbose=1", { ...post, idleMs: 1000 }), isForbidden);
        assert.deepEqual([sent.at(-1)?.method, sent.at(-1)?.path], ["POST", "/healthz?verbose=1"]);
        assert.equal(reports.at(-1)?.resource, "raw");
      }
      assert.equal((await client.read("/healthz")).text, "ok");
    },
  ));

/** How a call ends: the error, or what it gave. */
const endOf = (call: Promise<unknown>) => call.catch((error) => String(error));

Deno.test("no call waits longer than its deadline for a body that falls silent", async () => {
  for (const status of [200, 500]) {
    const answer = () => new Response(silent().body, { status });
    const clock = new FakeClock();
    const client = answeringClient(answer, clock);
    const signal = new AbortController().signal;
    const calls = {
      get: client.get(WIDGET, KEY),
      list: client.list(WIDGET),
      read: client.read("/openapi/v3"),
      ...(status === 200 ? {} : {
        stream: client.stream("/log", { idleMs: 600_000 }),
        watch: client.watch(WIDGET, { signal })[Symbol.asyncIterator]().next(),
      }),
    };
    const ended: Record<string, unknown> = {};
    for (const [name, call] of Object.entries(calls)) {
      void endOf(call).then((end) => ended[name] = end);
    }
    await clock.advance(29_999);
    assert.deepEqual(ended, {});
    await clock.advance(1);
    assert.deepEqual(Object.keys(ended).sort(), Object.keys(calls).sort());
    for (const end of Object.values(ended)) {
      assert.match(String(end), /no response within 30000 ms/);
    }
    assert.equal(clock.sleeping, 0);
  }
});

Deno.test("`read()` reads so many bytes and no more", async () => {
  const client = answeringClient(() => new Response("x".repeat(2_000)));
  assert.equal((await client.read("/", { maxBytes: 2_000 })).text.length, 2_000);
  await assert.rejects(client.read("/", { maxBytes: 1_999 }), TooLargeError);
});

Deno.test("`stream()` ends after a silence, in which the time of its reader does not count", async () => {
  const clock = new FakeClock();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isLeft = false;
  const body = () =>
    new ReadableStream<Uint8Array>({
      start: (it) => void (controller = it),
      cancel: () => void (isLeft = true),
    });
  const client = answeringClient(() => new Response(body()), clock);
  const opened = await client.stream("/log", { idleMs: 1_000 });
  const parts = opened.body[Symbol.asyncIterator]();
  controller?.enqueue(new Uint8Array([1]));
  assert.deepEqual((await parts.next()).value, new Uint8Array([1]));
  await clock.advance(60_000);
  controller?.enqueue(new Uint8Array([2]));
  assert.deepEqual((await parts.next()).value, new Uint8Array([2]));
  const next = endOf(parts.next());
  await clock.advance(999);
  assert.equal(isLeft, false);
  await clock.advance(1);
  assert.equal(await next, "SilentError: GET /log: nothing came for 1000 ms");
  assert.deepEqual({ isLeft, sleeping: clock.sleeping }, { isLeft: true, sleeping: 0 });
});

Deno.test("`stream()` closes the connection when nobody reads, or stops reading", async () => {
  const clock = new FakeClock();
  let left = 0;
  const bytes = new Uint8Array([1]);
  const client = answeringClient(() =>
    new Response(
      new ReadableStream<Uint8Array>({
        start: (it) => it.enqueue(bytes),
        cancel: () => void left++,
      }),
    ), clock);
  await client.stream("/log", { idleMs: 1_000 });
  await clock.advance(1_000);
  assert.deepEqual({ left, sleeping: clock.sleeping }, { left: 1, sleeping: 0 });
  for await (const _ of (await client.stream("/log", { idleMs: 1_000 })).body) break;
  assert.deepEqual({ left, sleeping: clock.sleeping }, { left: 2, sleeping: 0 });
});

Deno.test("a call says how its request is to be sent", async () => {
  const sent: unknown[] = [];
  const client = answeringClient((request) => {
    sent.push(request.newConnection);
    return stored();
  });
  await client.get(WIDGET, KEY, { newConnection: true });
  await client.get(WIDGET, KEY);
  assert.deepEqual(sent, [true, undefined]);
  const mayLeave = () => {
    throw new Error("not now");
  };
  await assert.rejects(client.delete(WIDGET, KEY, { mayLeave }), /not now/);
  assert.equal(sent.length, 2);
});

Deno.test("`watch()` ends when it has been silent for longer than bookmarks are apart", async () => {
  const clock = new FakeClock();
  const client = answeringClient(() => silent(""), clock);
  let isOver = false;
  const signal = new AbortController().signal;
  void client.watch(WIDGET, { signal })[Symbol.asyncIterator]().next().then(({ done }) => {
    isOver = done === true;
  });
  await clock.advance(74_999);
  assert.equal(isOver, false);
  await clock.advance(1);
  assert.deepEqual({ isOver, sleeping: clock.sleeping }, { isOver: true, sleeping: 0 });
});

Deno.test("`watch()` throws a refusal, ends after an error event, and ends with its signal", async () => {
  await using server = new FakeApiServer();
  const client = createClient({ connection: server.connection });
  const stop = new AbortController();
  const read = async (resourceVersion: string) => {
    const types: string[] = [];
    const watch = client.watch<Widget>(WIDGET, { resourceVersion, signal: stop.signal });
    for await (const event of watch) {
      types.push(event.type);
      if (types.length === 1) server.expireWatches();
    }
    return types;
  };
  server.put(widget("a"));
  assert.deepEqual(await read("0"), ["added", "error"]);
  server.compact();
  await assert.rejects(read("0"), (error) => error instanceof KubeError && error.code === 410);
  const waiting = read(server.resourceVersion);
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  client.close();
});
