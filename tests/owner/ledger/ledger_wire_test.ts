/** Tests of the ledger's writes as an API server sees them: number, size, and retries after a refusal. */
import assert from "node:assert/strict";
import type { ClosableClient } from "../../../platform/kube/connection/http_client.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { connectionTo } from "../../../platform/kube/connection/kubeconfig.ts";
import { createLedger, type Ledger } from "../../../owner/ledger/ledger.ts";
import { createStatusWriter } from "../../../owner/ledger/status_writer.ts";
import { until } from "../../support/until.ts";
import { jobOf, progressOf } from "./ledger_world.ts";

/** A request that came. */
interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly atMs: number;
}

const written = (path: string) => {
  const [, , , , , namespace, , name] = path.split("/");
  return Response.json({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { namespace, name, uid: `uid-${name}` },
    spec: { runtimeRef: { name: "any" } },
    status: {},
  });
};

function refusal(code: number, reason: string, retryAfter?: number): () => Response {
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", reason, code, message: "no" };
  const headers = new Headers();
  if (retryAfter !== undefined) headers.set("retry-after", String(retryAfter));
  return () => Response.json(body, { status: code, headers });
}

/** A ledger over the product's client, to a server that gives these answers first, then writes. */
async function withServer(
  answers: (() => Response)[],
  work: (set: { ledger: Ledger; seen: Seen[]; ends: string[]; dropped: string[] }) => Promise<void>,
): Promise<void> {
  const seen: Seen[] = [];
  const ends: string[] = [];
  const dropped: string[] = [];
  await using cleanup = new AsyncDisposableStack();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const path = new URL(request.url).pathname;
    const body = await request.text();
    seen.push({ method: request.method, path, body, atMs: performance.now() });
    return answers.shift()?.() ?? written(path);
  });
  cleanup.defer(() => server.shutdown());
  const client: ClosableClient = createClient({
    connection: connectionTo({ server: `http://127.0.0.1:${server.addr.port}` }),
  });
  cleanup.defer(() => client.close());
  const ledger = createLedger({
    clock: systemClock,
    write: createStatusWriter(client),
    intervalMs: 100,
    onWrite: (result) => ends.push(result),
    onDrop: (cause, count) => dropped.push(`${cause} ${count}`),
  });
  const stop = new AbortController();
  const running = ledger.run(stop.signal);
  cleanup.defer(async () => {
    stop.abort();
    await running;
  });
  await work({ ledger, seen, ends, dropped });
}

Deno.test("a write of progress is one request of less than 500 bytes", async () => {
  await withServer([], async ({ ledger, seen }) => {
    ledger.submit({ ...jobOf("a"), uid: crypto.randomUUID() }, {
      ...progressOf(45),
      estimatedRemainingSeconds: 120,
      metrics: [{ name: "loss", value: "0.23" }, { name: "epoch", value: "3" }],
    });
    await until("it is written", () => seen.length > 0 && ledger.pending() === 0);
    const [write] = seen;
    assert.equal(seen.length, 1);
    assert.equal(write?.method, "PATCH");
    assert.equal(
      write?.path,
      "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/a/status",
    );
    assert.ok((write?.body.length ?? 0) < 500, `${write?.body.length} bytes`);
  });
});

Deno.test("a 429 and a 503 with Retry-After hold every write back, and the newest value follows", async () => {
  const rests = [refusal(429, "TooManyRequests", 1), refusal(503, "ServiceUnavailable", 2)];
  await withServer([...rests], async ({ ledger, seen, ends, dropped }) => {
    ledger.submit(jobOf("a"), progressOf(1));
    await until("the first refusal", () => ends.length === 1);
    ledger.submit(jobOf("b"), progressOf(2));
    ledger.submit(jobOf("a"), progressOf(3));
    await until("both are written", () => ledger.pending() === 0);
    const [first = 0, second = 0, , last = 0] = seen.map(({ atMs }) => atMs);
    assert.ok(second - first >= 995, `${second - first} ms`);
    // The third was under way with the second.
    assert.ok(last - second >= 1995, `${last - second} ms`);
    assert.equal(seen.length, 4);
    const newest = seen.findLast(({ path }) => path.endsWith("/a/status"));
    assert.match(newest?.body ?? "", /"progressPercentage":3/);
    assert.deepEqual(dropped, []);
  });
});

Deno.test("a conflict, an error and a time-out are tried again with the newest value", async () => {
  const failures = [
    refusal(409, "Conflict"),
    refusal(500, "InternalError"),
    refusal(504, "Timeout"),
  ];
  await withServer([...failures], async ({ ledger, seen, dropped }) => {
    ledger.submit(jobOf("a"), progressOf(1));
    await until("the first refusal", () => seen.length === 1);
    ledger.submit(jobOf("a"), progressOf(2));
    await until("it is written", () => ledger.pending() === 0);
    assert.equal(seen.length, 4);
    const percents = seen.map(({ body }) => /"progressPercentage":(\d+)/.exec(body)?.[1]);
    assert.deepEqual(percents, ["1", "2", "2", "2"]);
    assert.deepEqual(dropped, []);
  });
});

Deno.test("a job that is gone costs one request, and its value is dropped and counted", async () => {
  await withServer([refusal(404, "NotFound")], async ({ ledger, seen, dropped }) => {
    ledger.submit(jobOf("a"), progressOf(1));
    await until("it is dropped", () => dropped.length > 0);
    assert.deepEqual(dropped, ["gone 1"]);
    assert.equal(ledger.pending(), 0);
    assert.equal(seen.length, 1);
  });
});
