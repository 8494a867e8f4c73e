/** Tests of leadership: what a replica knows of itself and of the leader while terms begin and end. */
import assert from "node:assert/strict";
import { createLeadership, type LeaderWork } from "../../../../platform/kube/leading/leadership.ts";
import { FakeClock, settlePromises } from "../../../support/fake_clock.ts";
import { leaseStore } from "./lease_store.ts";

/** Goes on until its signal aborts, then until `over` resolves. */
const until = (over: Promise<void>): LeaderWork => async (signal) => {
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }
  await over;
};

/** A replica over the Lease of `store`. */
function replica(
  store: ReturnType<typeof leaseStore>,
  clock: FakeClock,
  identity: string,
  address = `${identity}:1`,
) {
  const link = { down: false };
  const last = Promise.withResolvers<void>();
  const stop = new AbortController();
  const leadership = createLeadership({
    client: store.clientOf(link),
    namespace: "ns",
    name: "lease",
    identity,
    addressAnnotation: "example.org/address",
    clock,
    random: () => 0,
  });
  const changes: boolean[] = [];
  leadership.onChange(() => changes.push(leadership.active));
  return {
    leadership,
    link,
    changes,
    stop: () => stop.abort(),
    finish: last.resolve,
    run: () => leadership.run({ address, works: () => [until(last.promise)] }, stop.signal),
  };
}

Deno.test("`Leadership` without an election leads while it runs", async () => {
  const leadership = createLeadership(undefined);
  const changes: boolean[] = [];
  leadership.onChange(() => changes.push(leadership.active));
  const last = Promise.withResolvers<void>();
  const stop = new AbortController();
  assert.deepEqual([leadership.known, leadership.locate().kind], [false, "nowhere"]);
  const running = leadership.run({ works: () => [until(last.promise)] }, stop.signal);
  assert.deepEqual([leadership.known, leadership.leading, leadership.active], [true, true, true]);
  assert.deepEqual(leadership.locate(), { kind: "here" });
  stop.abort();
  assert.deepEqual([leadership.leading, leadership.active], [true, false]);
  assert.deepEqual(leadership.locate(), { kind: "nowhere" });
  last.resolve();
  await running;
  assert.deepEqual([leadership.leading, changes], [false, [true, false]]);
});

Deno.test("`Leadership.run()` ends all works of a term when one fails", async () => {
  const leadership = createLeadership(undefined);
  const last = Promise.withResolvers<void>();
  const fails = Promise.withResolvers<void>();
  const works = () => [until(last.promise), () => fails.promise];
  const running = leadership.run({ works }, new AbortController().signal);
  fails.reject(new Error("broken"));
  await settlePromises(10);
  assert.deepEqual([leadership.leading, leadership.active], [true, false]);
  last.resolve();
  await assert.rejects(running, /broken/);
  assert.equal(leadership.leading, false);
});

Deno.test("`Leadership.locate()` follows the Lease from one replica to the next", async () => {
  const store = leaseStore();
  const clock = new FakeClock();
  const [a, b] = [replica(store, clock, "a"), replica(store, clock, "b")];
  const running = [a.run()];
  await clock.advance(10);
  running.push(b.run());
  await clock.advance(10);
  assert.deepEqual([a.leadership.locate(), a.leadership.active], [{ kind: "here" }, true]);
  assert.deepEqual(b.leadership.locate(), { kind: "elsewhere", address: "a:1", transitions: 1 });
  // The term of the first ends: it may still write, and takes nothing new.
  a.stop();
  await clock.advance(1);
  assert.deepEqual([a.leadership.leading, a.leadership.locate()], [true, { kind: "nowhere" }]);
  a.finish();
  await clock.advance(5_000);
  assert.deepEqual([b.leadership.locate(), b.leadership.transitions], [{ kind: "here" }, 2]);
  assert.deepEqual([a.changes, b.changes], [[true, false], [true]]);
  b.finish();
  b.stop();
  await clock.advance(5_000);
  await Promise.all(running);
});

Deno.test("`Leadership.locate()` has the leader's own number, also if a higher one was seen before", async () => {
  const store = leaseStore();
  const clock = new FakeClock();
  const [a, b, c] = [
    replica(store, clock, "a"),
    replica(store, clock, "b"),
    replica(store, clock, "c"),
  ];
  const running = [a.run()];
  await clock.advance(10);
  a.stop();
  a.finish();
  await clock.advance(10);
  running.push(b.run());
  await clock.advance(10);
  running.push(c.run());
  await clock.advance(10);
  assert.deepEqual(c.leadership.locate(), { kind: "elsewhere", address: "b:1", transitions: 2 });
  // The Lease is created again while neither of them reads it.
  for (const { link } of [b, c]) link.down = true;
  store.remove();
  store.install();
  const d = replica(store, clock, "d");
  running.push(d.run());
  await clock.advance(10);
  c.link.down = false;
  await clock.advance(2_000);
  assert.deepEqual(c.leadership.locate(), { kind: "elsewhere", address: "d:1", transitions: 1 });
  assert.equal(c.leadership.transitions, 2);
  for (const { stop, finish } of [b, c, d]) {
    stop();
    finish();
  }
  await clock.advance(5_000);
  await Promise.all(running);
});

Deno.test("a restarted container waits out its predecessor, and does not take itself for the leader", async () => {
  const store = leaseStore();
  const clock = new FakeClock();
  const before = replica(store, clock, "pod_uid_1", "10.0.0.1:1");
  const running = [before.run()];
  await clock.advance(10);
  before.link.down = true;
  const after = replica(store, clock, "pod_uid_2", "10.0.0.1:1");
  running.push(after.run());
  await clock.advance(14_000);
  assert.deepEqual([after.leadership.known, after.leadership.active], [true, false]);
  assert.deepEqual(after.leadership.locate(), { kind: "nowhere" });
  await clock.advance(3_000);
  assert.deepEqual([after.leadership.active, after.leadership.transitions], [true, 2]);
  assert.equal(before.leadership.leading, false);
  for (const { stop, finish } of [before, after]) {
    stop();
    finish();
  }
  await clock.advance(5_000);
  await Promise.all(running);
});

Deno.test("`Leadership` locates no leader on a replica whose renewal is late", async () => {
  const store = leaseStore();
  const clock = new FakeClock();
  const { leadership, link, run, stop, finish } = replica(store, clock, "a");
  const running = run();
  await clock.advance(10);
  link.down = true;
  await clock.advance(9_000);
  assert.equal(leadership.active, true);
  await clock.advance(1_500);
  assert.deepEqual([leadership.leading, leadership.active], [false, false]);
  assert.deepEqual(leadership.locate(), { kind: "nowhere" });
  finish();
  stop();
  await clock.advance(5_000);
  await running;
});

const deadlines: Record<string, { times?: { leaseMs: number; renewMs: number }; want: number }> = {
  "the default lease": { times: { leaseMs: 15_000, renewMs: 10_000 }, want: 2_500 },
  "a lease that leaves little": { times: { leaseMs: 4_000, renewMs: 3_000 }, want: 800 },
  "no lease": { want: 2_500 },
};
for (const [sentence, { times, want }] of Object.entries(deadlines)) {
  Deno.test(`\`Leadership.deadlineMs()\` ends before the next leader begins, with ${sentence}`, () => {
    const election = times && {
      client: leaseStore().clientOf({ down: false }),
      namespace: "ns",
      name: "lease",
      identity: "a",
      addressAnnotation: "example.org/address",
      ...times,
    };
    assert.equal(createLeadership(election).deadlineMs(2_500), want);
  });
}
