/** Tests of informers, against an API server that misbehaves. */
import assert from "node:assert/strict";
import { createClient } from "../../../../platform/kube/connection/connected_client.ts";
import {
  createInformer,
  type InformerOptions,
} from "../../../../platform/kube/watching/informer.ts";
import type { Change } from "../../../../platform/kube/watching/informer_cache.ts";
import { keyOf } from "../../../../platform/kube/resource.ts";
import { FakeClock, until } from "../../../support/fake_clock.ts";
import { withLogs } from "../../../support/logged.ts";
import { FakeApiServer, refusal, WIDGET, type Widget, widget } from "../fake_api_server.ts";

/** Sleeps are over at once, so that back-off takes no time. */
const impatient = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal?.aborted) return resolve();
      const timer = setTimeout(finish, Math.min(ms, 5));
      function finish() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", finish);
        resolve();
      }
      signal?.addEventListener("abort", finish);
    }),
};

function told(change: Change<Widget>): string {
  return `${change.type} ${keyOf(change.object)} ${change.object.spec?.color}`;
}

/** Runs an informer against a server, and returns the changes that it reported. */
async function withInformer(
  prepare: (server: FakeApiServer) => void,
  test: (world: {
    server: FakeApiServer;
    informer: ReturnType<typeof createInformer<Widget>>;
    changes: string[];
    restarts: string[];
  }) => Promise<void>,
  options: Partial<InformerOptions<Widget>> = {},
): Promise<void> {
  await using server = new FakeApiServer();
  prepare(server);
  const client = createClient({ connection: server.connection });
  const changes: string[] = [];
  const restarts: string[] = [];
  const informer = createInformer<Widget>({
    client,
    kind: WIDGET,
    clock: impatient,
    onRestart: (cause) => restarts.push(cause),
    indexes: { color: (object) => [object.spec?.color ?? ""] },
    ...options,
  });
  informer.onChange((change) => changes.push(told(change)));
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  try {
    assert.equal(await informer.whenSynced(), true);
    await until("the watch is open", () => server.watches === 1);
    await test({ server, informer, changes, restarts });
  } finally {
    stop.abort();
    await running;
    client.close();
  }
}

const nothing = () => {};

Deno.test("`createInformer()` says that a kind is not served at the second 404 in a row", () =>
  withLogs(async (records) => {
    const faults = [404, 503, 404, 404, 404];
    const prepare = (server: FakeApiServer) => {
      for (const code of faults) server.failNext(() => refusal(code, "Failure"));
    };
    await withInformer(prepare, async () => {});
    const [missing, failed] = ["the API server does not serve this kind", "listing failed"];
    assert.deepEqual(
      records.map(({ rawMessage }) => String(rawMessage).split(/[,;]/)[0]),
      [failed, failed, failed, missing, missing],
    );
  }, "warning"));

Deno.test("`createInformer()` lists in pages, then reports each change once", () =>
  withInformer((server) => {
    for (const name of ["a", "b", "c", "d", "e"]) server.put(widget(name));
  }, async ({ server, informer, changes, restarts }) => {
    assert.equal(server.lists().length, 3);
    assert.equal(server.lists()[0]?.searchParams.get("limit"), "2");
    server.put(widget("a", "blue"));
    server.put(widget("f"));
    server.remove("ns/b");
    await until("the deletion came", () => changes.length === 8);
    assert.deepEqual(changes.slice(5), [
      "updated ns/a blue",
      "added ns/f red",
      "deleted ns/b red",
    ]);
    assert.deepEqual(informer.byIndex("color", "blue").map(keyOf), ["ns/a"]);
    assert.equal(informer.get({ namespace: "ns", name: "b" }), undefined);
    assert.equal(informer.list("ns").length, 5);
    assert.deepEqual(informer.list("other"), []);
    assert.equal(informer.get("ns/a")?.apiVersion, "test.example/v1");
    assert.deepEqual(restarts, []);
  }, { pageSize: 2 }));

Deno.test("`keep` decides what is held, also when an object changes", () =>
  withInformer((server) => {
    server.put(widget("kept", "red"));
    server.put(widget("left", "blue"));
  }, async ({ server, informer, changes }) => {
    assert.deepEqual(informer.list().map(keyOf), ["ns/kept"]);
    server.put(widget("left", "green"));
    server.put(widget("kept", "blue"));
    server.put(widget("left", "red"));
    await until("the last one came", () => informer.get("ns/left") !== undefined);
    assert.deepEqual(changes, ["added ns/kept red", "left ns/kept blue", "added ns/left red"]);
    server.endWatches();
    server.compact();
    server.put(widget("left", "blue"));
    await until("nothing is left", () => informer.list().length === 0);
    assert.deepEqual(changes.slice(3), ["left ns/left blue"]);
  }, { keep: ({ spec }) => spec?.color === "red" }));

Deno.test("`createInformer()` shares equal parts of objects", () =>
  withInformer((server) => {
    server.put({ ...widget("a"), spec: { color: "a color with a long name" } });
    server.put({ ...widget("b"), spec: { color: "a color with a long name" } });
  }, ({ informer }) => {
    assert.equal(informer.get("ns/a")?.spec?.color, "a color with a long name");
    assert.equal(informer.get("ns/a")?.spec, informer.get("ns/b")?.spec);
    return Promise.resolve();
  }));

Deno.test("`createInformer()` lists from the first page again when the continue token is too old", async () => {
  await using server = new FakeApiServer();
  for (const name of ["a", "b", "c"]) server.put(widget(name));
  const client = createClient({ connection: server.connection });
  const informer = createInformer<Widget>({ client, kind: WIDGET, pageSize: 2, clock: impatient });
  const stop = new AbortController();
  server.failNext(() => {
    server.compact();
    const metadata = { resourceVersion: "101", continue: "101:2" };
    return Response.json({ metadata, items: [] });
  });
  const running = informer.run(stop.signal);
  assert.equal(await informer.whenSynced(), true);
  assert.equal(informer.list().length, 3);
  const pages = server.lists().map(({ searchParams }) => searchParams);
  assert.deepEqual(pages.map((it) => it.get("limit")), ["2", "2", "2", "2"]);
  assert.deepEqual(pages.map((it) => it.has("continue")), [false, true, false, true]);
  stop.abort();
  await running;
  client.close();
});

Deno.test("`createInformer()` lists again after 410 and reports exactly the missed changes", () =>
  withInformer((server) => {
    for (const name of ["kept", "changed", "gone", "replaced"]) server.put(widget(name));
  }, async ({ server, informer, changes, restarts }) => {
    changes.length = 0;
    server.endWatches();
    server.failNext(() => refusal(500, "InternalError"));
    server.put(widget("changed", "blue"));
    server.remove("ns/gone");
    server.remove("ns/replaced");
    server.put(widget("replaced", "green"));
    server.put(widget("new"));
    server.compact();
    await until("the list came", () => restarts.length === 1 && server.watches === 1);
    assert.deepEqual(changes.toSorted(), [
      "added ns/new red",
      "added ns/replaced green",
      "deleted ns/gone red",
      "deleted ns/replaced red",
      "updated ns/changed blue",
    ]);
    assert.deepEqual(restarts, ["the resource version is too old"]);
    assert.deepEqual(informer.byIndex("color", "red").map(keyOf).toSorted(), ["ns/kept", "ns/new"]);
  }));

Deno.test("`createInformer()` lists again when 410 comes in the middle of a watch", () =>
  withInformer((server) => {
    server.put(widget("a"));
  }, async ({ server, changes, restarts }) => {
    server.put(widget("b"));
    server.expireWatches();
    await until("the watch is open again", () => restarts.length === 1 && server.watches === 1);
    server.put(widget("c"));
    await until("c came", () => changes.includes("added ns/c red"));
    assert.deepEqual(changes, ["added ns/a red", "added ns/b red", "added ns/c red"]);
  }));

Deno.test("`createInformer()` continues after a line was cut by a lost connection", () =>
  withInformer(nothing, async ({ server, changes, restarts }) => {
    const a = server.put(widget("a"));
    await until("a came", () => changes.length === 1);
    server.write('{"type":"ADDED","object":{"metadata":{"name":"cut');
    server.breakWatches();
    server.put(widget("b"));
    await until("b came", () => changes.length === 2);
    assert.deepEqual(changes, ["added ns/a red", "added ns/b red"]);
    const last = server.watchRequests().at(-1);
    assert.equal(last?.searchParams.get("resourceVersion"), a.metadata?.resourceVersion);
    assert.deepEqual(restarts, []);
  }));

Deno.test("`createInformer()` continues from a bookmark", () =>
  withInformer(nothing, async ({ server, restarts }) => {
    server.bookmark();
    const at = server.resourceVersion;
    server.endWatches();
    await until("the watch is open again", () => server.watches === 1);
    const last = server.watchRequests().at(-1);
    assert.equal(last?.searchParams.get("resourceVersion"), at);
    assert.equal(last?.searchParams.get("allowWatchBookmarks"), "true");
    const seconds = Number(last?.searchParams.get("timeoutSeconds"));
    assert.ok(seconds >= 300 && seconds <= 600, `${seconds} s`);
    assert.deepEqual(restarts, []);
  }));

for (
  const [sentence, event] of Object.entries({
    "an object": { metadata: { name: "a", namespace: "ns" } },
    "an object that it cannot parse": {
      metadata: { name: "a", namespace: "ns" },
      spec: { broken: true },
    },
  })
) {
  Deno.test(`\`createInformer()\` keeps its position after ${sentence} without a resource version`, () =>
    withInformer(nothing, async ({ server, changes, restarts }) => {
      server.put(widget("a"));
      await until("a came", () => changes.length === 1);
      const last = server.put(widget("b"));
      const object = { apiVersion: "test.example/v1", kind: "Widget", ...event };
      server.write(JSON.stringify({ type: "MODIFIED", object }) + "\n");
      server.endWatches();
      server.put(widget("c"));
      await until("c came", () => changes.at(-1) === "added ns/c red");
      const again = server.watchRequests().at(-1)?.searchParams;
      assert.equal(again?.get("resourceVersion"), last.metadata?.resourceVersion);
      assert.deepEqual(restarts, []);
    }));
}

Deno.test("`createInformer()` watches again after a line of garbage and loses nothing", () =>
  withInformer(nothing, async ({ server, changes }) => {
    server.put(widget("a"));
    server.write("this is no JSON\n");
    server.put(widget("b"));
    await until("b came", () => changes.length === 2);
    assert.deepEqual(changes, ["added ns/a red", "added ns/b red"]);
  }));

Deno.test("`createInformer()` lists again when the garbage comes again", () =>
  withInformer(nothing, async ({ server, restarts }) => {
    server.failNext(() => new Response("garbage\n"), 2);
    server.endWatches();
    await until("it listed again", () => restarts.length === 1);
    assert.match(restarts[0] ?? "", /not an event: "garbage"/);
  }));

Deno.test("`createInformer()` skips an object that it cannot parse and keeps its last good state", () => {
  let skipped = 0;
  return withInformer((server) => {
    server.put({ ...widget("bad"), spec: { broken: true } });
    server.put(widget("good"));
  }, async ({ server, informer, changes, restarts }) => {
    server.put({ ...widget("good"), spec: { broken: true } });
    server.put(widget("next"));
    await until("next came", () => changes.includes("added ns/next red"));
    assert.equal(informer.get("ns/good")?.spec?.color, "red");
    assert.equal(informer.get("ns/bad"), undefined);
    server.compact();
    server.expireWatches();
    await until("it listed again", () => restarts.length === 1 && server.watches === 1);
    assert.equal(informer.get("ns/good")?.spec?.color, "red");
    server.put(widget("bad", "blue"));
    server.remove("ns/good");
    await until("good went", () => changes.includes("deleted ns/good red"));
    assert.deepEqual(
      changes,
      [
        "added ns/good red",
        "added ns/next red",
        "added ns/bad blue",
        "deleted ns/good red",
      ],
    );
    assert.equal(skipped, 2);
  }, { onSkipped: () => skipped++ });
});

Deno.test("`createInformer()` restarts a watch without data", () =>
  withInformer(nothing, async ({ server, restarts }) => {
    await until("several watches were begun", () => server.watchRequests().length >= 3);
    assert.deepEqual(restarts, []);
  }, { idleMs: 20 }));

Deno.test("`createInformer()` begins a watch anew that missed its bookmark of each minute", async () => {
  await using server = new FakeApiServer();
  const clock = new FakeClock();
  const client = createClient({ connection: server.connection, clock });
  const stop = new AbortController();
  const running = createInformer<Widget>({ client, kind: WIDGET, clock }).run(stop.signal);
  await until("the watch is open", () => server.watches === 1);
  await clock.advance(62_000);
  assert.equal(server.watchRequests().length, 1);
  await clock.advance(13_000);
  await until("another watch was begun", () => server.watchRequests().length === 2);
  assert.equal(server.lists().length, 1);
  stop.abort();
  await running;
  client.close();
});

Deno.test("`createInformer()` waits for a server that is not running yet", async () => {
  await using server = new FakeApiServer();
  server.failNext(() => refusal(503, "ServiceUnavailable"), 3);
  server.put(widget("a"));
  const client = createClient({ connection: server.connection });
  const informer = createInformer<Widget>({ client, kind: WIDGET, clock: impatient });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  assert.equal(await informer.whenSynced(), true);
  assert.equal(server.lists().length, 4);
  stop.abort();
  await running;
  client.close();
});

Deno.test("`onChange()` survives a listener that throws, and ends when it is stopped", () =>
  withInformer(nothing, async ({ server, informer, changes }) => {
    const late: string[] = [];
    informer.onChange(() => {
      throw new Error("a bug of the test");
    });
    informer.onChange(() => Promise.reject(new Error("an asynchronous bug of the test")));
    server.put(widget("a"));
    await until("a came", () => changes.length === 1);
    const end = informer.onChange((change) => late.push(told(change)));
    assert.deepEqual(late, ["added ns/a red"]);
    end();
    server.put(widget("b"));
    await until("b came", () => changes.length === 2);
    assert.deepEqual(late, ["added ns/a red"]);
  }));

Deno.test("`get()` returns frozen objects without managedFields", () =>
  withInformer((server) => {
    const object = widget("a");
    server.put({ ...object, metadata: { ...object.metadata, ...{ managedFields: [{}] } } });
  }, ({ informer }) => {
    const object = informer.get("ns/a");
    assert.ok(Object.isFrozen(object) && Object.isFrozen(object?.metadata));
    assert.equal(Object.hasOwn(object?.metadata ?? {}, "managedFields"), false);
    assert.throws(() => informer.byIndex("size", "1"), /unknown index size/);
    return Promise.resolve();
  }));

Deno.test("`run()` settles after abort in every phase", async (t) => {
  const phases: Record<string, { prepare: (server: FakeApiServer) => void; ready: number }> = {
    "while listing": {
      prepare: (server) => server.failNext(hang),
      ready: 1,
    },
    "while waiting after a failure": {
      prepare: (server) => server.failNext(() => refusal(500, "InternalError"), 100),
      ready: 2,
    },
    "while watching": { prepare: nothing, ready: 2 },
  };
  for (const [phase, { prepare, ready }] of Object.entries(phases)) {
    await t.step(phase, async () => {
      await using server = new FakeApiServer();
      prepare(server);
      const client = createClient({ connection: server.connection });
      const informer = createInformer<Widget>({ client, kind: WIDGET, clock: impatient });
      const stop = new AbortController();
      const running = informer.run(stop.signal);
      const synced = informer.whenSynced();
      await until("it is at work", () => server.requests.length >= ready);
      stop.abort();
      await running;
      await synced;
      client.close();
    });
  }
});

/** Responds when the client has gone. */
function hang(request: Request): Promise<Response> {
  return new Promise((resolve) => {
    request.signal.addEventListener("abort", () => resolve(new Response()), { once: true });
  });
}

Deno.test("`whenSynced()` is false when the signal aborts or the informer stops first", async () => {
  await using server = new FakeApiServer();
  server.failNext(hang);
  const client = createClient({ connection: server.connection });
  const informer = createInformer<Widget>({ client, kind: WIDGET, clock: impatient });
  const [stop, impatience] = [new AbortController(), new AbortController()];
  const running = informer.run(stop.signal);
  const [first, second] = [informer.whenSynced(impatience.signal), informer.whenSynced()];
  impatience.abort();
  assert.equal(await first, false);
  stop.abort();
  assert.equal(await second, false);
  await running;
  await assert.rejects(informer.run(stop.signal), /run can be called only once/);
  client.close();
});
