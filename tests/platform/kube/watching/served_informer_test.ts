/** Tests of informers of what is not always there. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createClient } from "../../../../platform/kube/connection/connected_client.ts";
import { createSwitch, type Turnable } from "../../../../platform/base/switch.ts";
import {
  createServedInformer,
  type ServedInformer,
  type WatchedScope,
} from "../../../../platform/kube/watching/served_informer.ts";
import { until } from "../../../support/until.ts";
import { FakeApiServer, WIDGET, type Widget, widget } from "../fake_api_server.ts";

interface World {
  readonly informer: ServedInformer<Widget>;
  readonly served: Turnable;
  readonly server: FakeApiServer;
  readonly seen: string[];
}

async function withWorld(
  test: (world: World) => Promise<void>,
  more: { readonly tellsDeletions?: boolean } = {},
): Promise<void> {
  await using server = new FakeApiServer();
  const client = createClient({ connection: server.connection });
  const served = createSwitch();
  const informer = createServedInformer<Widget>({ client, kind: WIDGET, served, ...more });
  const seen: string[] = [];
  informer.onChange(({ type, object }) => void seen.push(`${type} ${object.metadata?.name}`));
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  try {
    await test({ informer, served, server, seen });
  } finally {
    stop.abort();
    await running;
    client.close();
  }
}

Deno.test("`createServedInformer()` is synced and empty while it is off", () =>
  withWorld(async ({ informer, served, server }) => {
    server.put(widget("a"));
    equal(informer.synced, false);
    equal(informer.wasSynced, true);
    served.turn(false);
    equal(await informer.whenSynced(), true);
    equal(informer.synced, true);
    deepEqual([informer.list(), informer.get("ns/a"), informer.byIndex("any", "a")], [
      [],
      undefined,
      [],
    ]);
  }));

Deno.test("`createServedInformer()` that is on from the start was synced with its first list", () =>
  withWorld(async ({ informer, served, server, seen }) => {
    server.put(widget("a"));
    served.turn(true);
    equal(informer.wasSynced, false);
    equal(await informer.whenSynced(), true);
    deepEqual(seen, ["added a"]);
    equal(informer.get("ns/a")?.metadata?.name, "a");
    await until("it is synced", () => informer.wasSynced);
  }));

Deno.test("`createServedInformer()` that is turned off says that its objects left, and when it is back which are deleted", () =>
  withWorld(async ({ informer, served, server, seen }) => {
    for (const name of ["stays", "goes", "again"]) server.put(widget(name));
    served.turn(true);
    await informer.whenSynced();
    served.turn(false);
    await until("all have left", () => seen.length === 6);
    deepEqual(seen.slice(3).sort(), ["left again", "left goes", "left stays"]);
    server.remove("ns/goes");
    server.remove("ns/again");
    server.put(widget("again"));
    served.turn(true);
    await until("it is known what was deleted", () => seen.length === 10);
    deepEqual(seen.slice(6).sort(), [
      "added again",
      "added stays",
      "deleted again",
      "deleted goes",
    ]);
    ok(seen.indexOf("deleted again") < seen.lastIndexOf("added again"));
    served.turn(false);
    await until("they have left once more", () => seen.length === 12);
    deepEqual(seen.slice(10).sort(), ["left again", "left stays"]);
  }));

Deno.test("`createServedInformer()` takes nothing for deleted that it cannot read when it is back", () =>
  withWorld(async ({ informer, served, server, seen }) => {
    for (const name of ["a", "b"]) server.put(widget(name));
    served.turn(true);
    await informer.whenSynced();
    served.turn(false);
    await until("both have left", () => seen.length === 4);
    server.put({ ...widget("b"), spec: { broken: true } });
    served.turn(true);
    await until("what can be read is back", () => informer.list().length === 1);
    server.put(widget("b"));
    await until("the other is readable again", () => informer.list().length === 2);
    deepEqual(seen.slice(4), ["added a", "added b"]);
  }));

Deno.test("`createServedInformer()` keeps nothing of what left where nobody asks whether that is deleted", () =>
  withWorld(async ({ informer, served, server, seen }) => {
    server.put(widget("stays"));
    server.put(widget("goes"));
    served.turn(true);
    await informer.whenSynced();
    served.turn(false);
    await until("both have left", () => seen.length === 4);
    server.remove("ns/goes");
    served.turn(true);
    await until("what there is came", () => seen.length === 5);
    deepEqual(seen.slice(4), ["added stays"]);
  }, { tellsDeletions: false }));

Deno.test("`createServedInformer()` turned off and on while it ends runs on", () =>
  withWorld(async ({ informer, served, server, seen }) => {
    server.put(widget("early"));
    served.turn(true);
    await informer.whenSynced();
    served.turn(false);
    served.turn(true);
    server.remove("ns/early");
    server.put(widget("late"));
    await until("what came later is there", () => seen.length === 4, { timeoutMs: 10_000 });
    deepEqual(seen, ["added early", "left early", "deleted early", "added late"]);
  }));

Deno.test("`createServedInformer()` forgets everything when it is turned off, and lists anew", () =>
  withWorld(async ({ informer, served, server, seen }) => {
    server.put(widget("a"));
    served.turn(true);
    await informer.whenSynced();
    served.turn(false);
    await until("the cache is empty", () => seen.length === 2);
    equal(informer.list().length, 0);
    server.put(widget("b"));
    served.turn(true);
    equal(informer.synced, false);
    // A replica that serves stays ready.
    equal(informer.wasSynced, true);
    await until("both are there", () => informer.list().length === 2);
    deepEqual(seen.slice(0, 2), ["added a", "left a"]);
    deepEqual(seen.slice(2).sort(), ["added a", "added b"]);
  }));

Deno.test("`whenSynced()` ends with false when the signal aborts or the informer stops", async () => {
  await withWorld(async ({ informer }) => {
    const stop = new AbortController();
    const synced = informer.whenSynced(stop.signal);
    stop.abort();
    equal(await synced, false);
  });
  const left: Promise<boolean>[] = [];
  await withWorld(({ informer }) => Promise.resolve(void left.push(informer.whenSynced())));
  deepEqual(await Promise.all(left), [false]);
});

Deno.test("`onChange()` gives a late listener what is there, and none that has left", () =>
  withWorld(async ({ informer, served, server }) => {
    server.put(widget("a"));
    served.turn(true);
    await informer.whenSynced();
    const seen: string[] = [];
    const stop = informer.onChange(({ type }) => void seen.push(type));
    deepEqual(seen, ["added"]);
    stop();
    served.turn(false);
    await until("the cache is empty", () => informer.list().length === 0);
    deepEqual(seen, ["added"]);
  }));

Deno.test("`createServedInformer()` watches namespaces that come and go, or everywhere", async () => {
  await using server = new FakeApiServer();
  const client = createClient({ connection: server.connection });
  const served = createSwitch<WatchedScope>();
  const informer = createServedInformer<Widget>({ client, kind: WIDGET, served });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  const listed = () => server.lists().map(({ pathname }) => pathname.split("/").at(-2));
  const names = () => informer.list().map(({ metadata }) => metadata?.name).sort();
  try {
    for (const name of ["a", "b"]) {
      server.put({ ...widget(name), metadata: { name, namespace: name } });
    }
    served.turn(["a", "b"]);
    equal(await informer.whenSynced(stop.signal, "b"), true);
    await informer.whenSynced();
    deepEqual(listed().sort(), ["a", "b"]);
    served.turn(["b"]);
    await until("what was in the other has left", () => informer.list().length === 1);
    equal(informer.resting, false);
    served.turn([]);
    await until("nothing is held", () => informer.list().length === 0);
    deepEqual([informer.synced, informer.resting], [true, false]);
    served.turn(true);
    await informer.whenSynced(stop.signal, "a");
    deepEqual(names(), ["a", "b"]);
  } finally {
    stop.abort();
    await running;
    client.close();
  }
});
