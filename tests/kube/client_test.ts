/** Tests of `kube/client.ts`. */
import assert from "node:assert/strict";
import { createClient, type RequestReport } from "../../kube/client.ts";
import { systemClock } from "../../kube/clock.ts";
import {
  isConflict,
  isNotFound,
  KubeError,
  TooLargeError,
  TransportError,
} from "../../kube/errors.ts";
import { connectionTo } from "../../kube/kubeconfig.ts";
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
    await assert.rejects(client.raw("/healthz", { deadlineMs: 20 }), TransportError);
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

Deno.test("`raw()` returns refusals as they are", () =>
  withClient(() => refusal(403, "Forbidden"), async ({ client, sent, reports }) => {
    const response = await client.raw("/healthz?verbose=1", { method: "POST", body: "{}" });
    assert.equal(response.status, 403);
    await response.body?.cancel();
    assert.equal(sent[0]?.path, "/healthz?verbose=1");
    assert.equal(reports[0]?.resource, "raw");
  }));

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
