/** Tests of informers of kinds that the API server may not serve. */
import { deepEqual, equal } from "node:assert/strict";
import { createClient } from "../../../../platform/kube/connection/connected_client.ts";
import type { KubeClient } from "../../../../platform/kube/client.ts";
import { KubeError, TransportError } from "../../../../platform/kube/errors.ts";
import { createServedInformer } from "../../../../platform/kube/watching/served_informer.ts";
import { REST_MS } from "../../../../platform/kube/watching/served_switch.ts";
import { logged } from "../../../support/logged.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { until } from "../../../support/until.ts";
import { FakeApiServer, refusal, WIDGET, type Widget, widget } from "../fake_api_server.ts";

const absent = new KubeError("the server could not find the requested resource", {
  code: 404,
  reason: "NotFound",
});
const forbidden = new KubeError("widgets is forbidden", { code: 403, reason: "Forbidden" });

interface World {
  readonly clock: FakeClock;
  readonly informer: ReturnType<typeof createServedInformer<Widget>>;
  readonly server: FakeApiServer;
  /** What questions and lists end with; undefined: they reach the server. */
  error: Error | undefined;
  lists: number;
  readonly seen: string[];
}

async function withWorld(error: Error | undefined, test: (world: World) => Promise<void>) {
  await using server = new FakeApiServer();
  const clock = new FakeClock();
  const real = createClient({ connection: server.connection });
  const client: KubeClient = {
    ...real,
    list: (kind, options) => {
      world.lists++;
      return world.error ? Promise.reject(world.error) : real.list(kind, options);
    },
  };
  const informer = createServedInformer<Widget>({ client, kind: WIDGET, clock, random: () => 1 });
  const world: World = { clock, informer, server, error, lists: 0, seen: [] };
  informer.onChange(({ type, object }) => void world.seen.push(`${type} ${object.metadata?.name}`));
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  try {
    await test(world);
  } finally {
    stop.abort();
    await running;
    real.close();
  }
}

Deno.test("`createServedInformer()` is an informer if its kind is served", () =>
  withWorld(undefined, async ({ informer, server, seen }) => {
    server.put(widget("a"));
    equal(await informer.whenSynced(), true);
    equal(informer.resting, false);
    await until("the widget is there", () => informer.list().length === 1 || undefined);
    deepEqual(seen, ["added a"]);
  }));

for (const [why, error] of [["not served", absent], ["forbidden", forbidden]] as const) {
  Deno.test(`\`createServedInformer()\` counts as synced, and empty, while its kind is ${why}`, () =>
    withWorld(error, async ({ informer }) => {
      equal(await informer.whenSynced(), true);
      equal(informer.synced, true);
      equal(informer.resting, true);
      deepEqual(informer.list(), []);
    }));
}

Deno.test("`createServedInformer()` checks periodically, and starts when the kind appears", () =>
  withWorld(absent, async (world) => {
    const { informer, clock, server } = world;
    await informer.whenSynced();
    const { lists } = world;
    await clock.advance(REST_MS);
    equal(world.lists, lists + 1);
    world.error = undefined;
    server.put(widget("a"));
    await clock.advance(REST_MS);
    await until("the widget is there", () => informer.get("ns/a") !== undefined || undefined);
    equal(informer.resting, false);
  }));

Deno.test("`createServedInformer()` checks soon when it is woken, at most once a second", () =>
  withWorld(absent, async (world) => {
    const { informer, clock } = world;
    await informer.whenSynced();
    const { lists } = world;
    for (let call = 0; call < 10; call++) informer.wake();
    await clock.advance(999);
    equal(world.lists, lists);
    await clock.advance(1);
    equal(world.lists, lists + 1);
    await clock.advance(REST_MS - 1);
    equal(world.lists, lists + 1);
  }));

Deno.test("`createServedInformer()` is not synced while it is unknown whether its kind is served", () =>
  withWorld(new TransportError("connection refused"), async (world) => {
    const { informer, clock } = world;
    await until("it has asked", () => world.lists > 0 || undefined);
    await clock.advance(REST_MS);
    equal(informer.synced, false);
    equal(informer.resting, false);
    world.error = absent;
    await clock.advance(REST_MS);
    equal(await informer.whenSynced(), true);
    equal(informer.resting, true);
  }));

Deno.test("`createServedInformer()` says once that its kind is not served, and once that it is", async () => {
  const records = await logged(() =>
    withWorld(absent, async (world) => {
      const { informer, clock, server } = world;
      await informer.whenSynced();
      for (let look = 0; look < 5; look++) await clock.advance(REST_MS);
      world.error = undefined;
      server.put(widget("a"));
      await clock.advance(REST_MS);
      await until("the widget is there", () => informer.get("ns/a") !== undefined || undefined);
    }), "info");
  deepEqual(records.map((it) => String(it.rawMessage)), [
    "the API server does not serve this kind; what needs it rests until its CRD is installed",
    "the API server serves this kind now",
  ]);
});

Deno.test("`createServedInformer()` rests again when its kind is served no more, and tells later what was deleted", () =>
  withWorld(undefined, async (world) => {
    const { informer, clock, server, seen } = world;
    for (const name of ["a", "b"]) server.put(widget(name));
    await informer.whenSynced();
    await until("the watch is open", () => server.watches === 1);
    world.error = absent;
    const { lists } = world;
    server.expireWatches();
    await until("it has listed in vain", () => world.lists > lists);
    await clock.advance(0);
    equal(informer.resting, false);
    await clock.advance(1_000);
    await until("it rests", () => informer.resting && informer.list().length === 0);
    deepEqual([informer.synced, informer.wasSynced], [true, true]);
    deepEqual(seen.splice(0).sort(), ["added a", "added b", "left a", "left b"]);
    server.remove("ns/a");
    world.error = undefined;
    await clock.advance(REST_MS);
    await until("the rest is back", () => informer.list().length === 1);
    deepEqual(seen, ["deleted a", "added b"]);
  }));

for (const what of ["list", "watch"] as const) {
  Deno.test(`\`createServedInformer()\` keeps what it has, and never rests, over one 404 of a ${what}`, () =>
    withWorld(undefined, async ({ informer, clock, server, seen }) => {
      server.put(widget("a"));
      await informer.whenSynced();
      await until("the watch is open", () => server.watches === 1);
      let failed = 0;
      server.failNext(() => {
        failed++;
        return refusal(404, "NotFound");
      });
      if (what === "list") server.expireWatches();
      else server.endWatches();
      await until("it has failed", async () => {
        await clock.advance(100);
        return failed === 1;
      });
      const end = clock.monotonic() + 2 * REST_MS;
      while (clock.monotonic() < end) {
        await clock.advance(200);
        deepEqual([informer.resting, informer.synced, informer.list().length], [false, true, 1]);
      }
      await until("the watch is open again", () => server.watches === 1);
      server.put(widget("b"));
      await until("it goes on", () => informer.list().length === 2);
      deepEqual(seen, ["added a", "added b"]);
    }));
}

Deno.test("`createServedInformer()` asks until it knows whether a kind that was 404 is gone", () =>
  withWorld(undefined, async (world) => {
    const { informer, clock, server } = world;
    server.put(widget("a"));
    await informer.whenSynced();
    await until("the watch is open", () => server.watches === 1);
    server.failNext(() => refusal(404, "NotFound"));
    const { lists } = world;
    server.expireWatches();
    await until("it has listed in vain", () => world.lists > lists);
    await until("it has heard of the 404", () => clock.sleeping > 1);
    for (const error of [new TransportError("connection refused"), forbidden]) {
      world.error = error;
      await clock.advance(2 * REST_MS);
      deepEqual([informer.resting, informer.list().length], [false, 1], error.message);
    }
    world.error = absent;
    await until("it rests", async () => {
      await clock.advance(1_000);
      return informer.resting;
    });
  }));

Deno.test("`createServedInformer()` keeps what it has of a kind that may not be read for a while", () =>
  withWorld(undefined, async (world) => {
    const { informer, clock, server } = world;
    server.put(widget("a"));
    await informer.whenSynced();
    world.error = forbidden;
    await until("the watch is open", () => server.watches === 1);
    const { lists } = world;
    server.expireWatches();
    await until("it has listed in vain", async () => {
      await clock.advance(1_000);
      return world.lists > lists + 1;
    });
    equal(informer.resting, false);
    equal(informer.list().length, 1);
  }));
