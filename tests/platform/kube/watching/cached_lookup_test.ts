/** Tests of lookups: caches first, few reads behind them, and nothing believed for long. */
import assert from "node:assert/strict";
import {
  createLookup,
  type LookupOptions,
} from "../../../../platform/kube/watching/cached_lookup.ts";
import { createReadBudget, ReadBudgetError } from "../../../../platform/http/limits/read_budget.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";

interface Thing {
  metadata: { uid: string };
}
const thing = (uid: string): Thing => ({ metadata: { uid } });
const A = { namespace: "team", name: "a" };

/** A lookup over a cache and an API server that a test changes; reads take as long as `takesMs`. */
function bench(options: Partial<LookupOptions<Thing>> = {}) {
  const clock = new FakeClock();
  const cache = new Map<string, Thing>();
  const server = new Map<string, Thing>();
  const state = { reads: 0, takesMs: 0 };
  const lookup = createLookup<Thing>({
    clock,
    cached: (key) => cache.get(key),
    read: async ({ name }) => {
      state.reads += 1;
      // What the server says is what it had when it was asked.
      const found = server.get(name);
      await clock.sleep(state.takesMs);
      return found;
    },
    ...options,
  });
  const uidOf = async (uid?: string) => (await lookup(A, uid))?.metadata.uid;
  return { clock, cache, server, state, lookup, uidOf };
}

Deno.test("`createLookup()` reads objects that the cache lacks only once in a while", async () => {
  const { clock, cache, server, state, lookup, uidOf } = bench();
  cache.set("team/a", thing("1"));
  server.set("a", thing("2"));
  assert.equal(await uidOf(), "1");
  assert.equal(await uidOf("1"), "1");
  assert.equal(state.reads, 0);
  const both = await Promise.all([lookup(A, "2"), lookup(A, "2")]);
  assert.deepEqual(both.map((object) => object?.metadata.uid), ["2", "2"]);
  assert.equal(await uidOf("2"), "2");
  assert.equal(state.reads, 1);
  for (let time = 0; time < 5; time++) assert.equal(await uidOf("3"), undefined);
  assert.equal(state.reads, 2);
  await clock.advance(2001);
  assert.equal(await uidOf("3"), undefined);
  assert.equal(state.reads, 3);
});

Deno.test("`createLookup()` trusts a read for half a second, counted from the request", async () => {
  const { clock, server, state, uidOf } = bench();
  server.set("a", thing("1"));
  state.takesMs = 300;
  const first = uidOf("1");
  await clock.advance(300);
  assert.equal(await first, "1");
  server.delete("a");
  await clock.advance(199);
  assert.equal(await uidOf("1"), "1");
  await clock.advance(1);
  state.takesMs = 0;
  assert.equal(await uidOf("1"), undefined);
});

Deno.test("`createLookup()` shares a slow read with callers that come soon, not with later ones", async () => {
  const { clock, server, state, uidOf } = bench();
  server.set("a", thing("1"));
  state.takesMs = 1900;
  const first = uidOf("1");
  await clock.advance(400);
  const soon = uidOf("1");
  server.delete("a");
  await clock.advance(1000);
  state.takesMs = 0;
  assert.equal(await uidOf("1"), undefined);
  assert.equal(state.reads, 2);
  await clock.advance(600);
  assert.deepEqual(await Promise.all([first, soon]), ["1", "1"]);
});

Deno.test("`createLookup()` throws if the API server does not answer, and asks again", async () => {
  let reads = 0;
  const { uidOf } = bench({
    read: () => {
      reads += 1;
      return reads === 1 ? Promise.reject(new Error("away")) : Promise.resolve(thing("1"));
    },
  });
  await assert.rejects(uidOf(), /away/);
  assert.equal(await uidOf(), "1");
});

Deno.test("`createLookup()` reads no more than its budget, and still returns known objects", async () => {
  const clock = new FakeClock();
  const budget = createReadBudget({ clock, perNamespace: { ratePerSecond: 2, burst: 5 } });
  let reads = 0;
  const read = async (): Promise<Thing | undefined> => {
    reads += 1;
    await settle(1);
    return undefined;
  };
  const cached = (key: string) => key === "team/held" ? thing("1") : undefined;
  const lookup = createLookup<Thing>({ clock, budget, cached, read });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 100 }, async (_, i) => await lookup(A, `uid-${i}`)),
  );
  const refused = outcomes.filter((it) => it.status === "rejected");
  assert.equal(reads, 5);
  assert.equal(refused.length, 95);
  assert(refused.every(({ reason }) => reason instanceof ReadBudgetError));
  assert.equal(await lookup(A, "uid-0"), undefined);
  assert.equal((await lookup({ namespace: "team", name: "held" }, "1"))?.metadata.uid, "1");
  assert.equal(reads, 5);
  await lookup({ namespace: "other", name: "a" }, "1");
  assert.equal(reads, 6);
  await clock.advance(500);
  await lookup(A, "uid-99");
  assert.equal(reads, 7);
});

Deno.test("`createReadBudget()` bounds all namespaces together", () => {
  const clock = new FakeClock();
  const budget = createReadBudget({ clock, total: { ratePerSecond: 1, burst: 3 } });
  const taken = () => {
    let count = 0;
    for (let i = 0; i < 10; i++) {
      try {
        budget.take(`team-${i}`);
        count += 1;
      } catch (error) {
        assert(error instanceof ReadBudgetError);
        assert.match(error.message, /namespace team-\d/);
      }
    }
    return count;
  };
  assert.equal(taken(), 3);
  assert.equal(taken(), 0);
});
