/** Tests of Lease-based leader election. */
import assert from "node:assert/strict";
import {
  createLeaderElector,
  type LeaderElectorOptions,
} from "../../../../platform/kube/leading/leader_election.ts";
import type { CallOptions } from "../../../../platform/kube/client.ts";
import { KubeError, TransportError } from "../../../../platform/kube/errors.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { leaseStore } from "./lease_store.ts";

function candidate(
  store: ReturnType<typeof leaseStore>,
  clock: FakeClock,
  identity: string,
  options: Partial<LeaderElectorOptions> = {},
) {
  const link = { down: false };
  const terms: string[] = [];
  const stop = new AbortController();
  const elector = createLeaderElector({
    client: store.clientOf(link),
    namespace: "ns",
    name: "lease",
    identity,
    clock,
    random: () => 0,
    onStarted: (signal) => {
      terms.push("started");
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          terms.push("ended");
          resolve();
        });
      });
    },
    ...options,
  });
  return { elector, link, terms, stop, running: elector.run(stop.signal) };
}

Deno.test("`createLeaderElector()` has one leader, and another when that one releases the Lease", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const first = candidate(store, clock, "first");
  await clock.advance(0);
  const seen: string[] = [];
  const second = candidate(store, clock, "second", { onLeader: (identity) => seen.push(identity) });
  await clock.advance(60_000);
  assert.equal(first.elector.leading, true);
  assert.equal(second.elector.leading, false);
  assert.equal(second.elector.view.leader, "first");
  first.stop.abort();
  await first.running;
  assert.deepEqual(first.terms, ["started", "ended"]);
  await clock.advance(2000);
  assert.equal(second.elector.leading, true);
  assert.deepEqual([first.elector.view.transitions, second.elector.view.transitions], [1, 2]);
  assert.deepEqual(seen, ["first", "second"]);
  second.stop.abort();
  await second.running;
  assert.equal(clock.sleeping, 0);
});

Deno.test("`createLeaderElector()` stops a leader that is cut off before another begins", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const first = candidate(store, clock, "first");
  await clock.advance(0);
  const second = candidate(store, clock, "second");
  await clock.advance(10_000);
  first.link.down = true;
  let overlap = 0;
  for (let second_ = 0; second_ < 30; second_++) {
    await clock.advance(1000);
    if (first.elector.leading && second.elector.leading) overlap++;
    if (second.elector.leading) assert.deepEqual(first.terms, ["started", "ended"]);
  }
  assert.equal(overlap, 0);
  assert.equal(second.elector.leading, true);
  first.link.down = false;
  await clock.advance(10_000);
  assert.equal(first.elector.leading, false);
  assert.equal(first.elector.view.leader, "second");
  first.stop.abort();
  second.stop.abort();
  await Promise.all([first.running, second.running]);
});

for (const random of [0, 0.99]) {
  Deno.test(`a leader that dies is replaced within the lease duration and 2 s, with jitter ${random}`, async () => {
    const [store, clock] = [leaseStore(), new FakeClock()];
    const options = { random: () => random };
    const first = candidate(store, clock, "first", options);
    await clock.advance(0);
    await clock.advance(700);
    const second = candidate(store, clock, "second", options);
    const before = JSON.stringify(store.read());
    while (JSON.stringify(store.read()) === before) await clock.advance(50);
    first.link.down = true;
    const died = clock.monotonic();
    while (!second.elector.leading) await clock.advance(50);
    assert.ok(clock.monotonic() - died <= 17_000, `${clock.monotonic() - died} ms`);
    first.stop.abort();
    second.stop.abort();
    await Promise.all([first.running, second.running]);
  });
}

Deno.test("`createLeaderElector()` does not trust the holder's clock", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const slow = new FakeClock(Date.parse("1999-01-01T00:00:00Z"));
  const first = candidate(store, slow, "first");
  await slow.advance(0);
  const second = candidate(store, clock, "second");
  clock.jump(1_000_000);
  await clock.advance(14_000);
  assert.equal(second.elector.leading, false);
  await clock.advance(4000);
  assert.equal(second.elector.leading, true);
  first.stop.abort();
  second.stop.abort();
  await Promise.all([first.running, second.running]);
});

Deno.test("`leading` is false as soon as the renew deadline has passed", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const paused = { ...clock, skip: 0 };
  const own = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + paused.skip,
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
  };
  const only = candidate(store, clock, "only", { clock: own });
  await clock.advance(0);
  assert.equal(only.elector.leading, true);
  paused.skip = 10_000;
  assert.equal(only.elector.leading, false);
  only.stop.abort();
  await only.running;
});

Deno.test("`createLeaderElector()` releases the Lease when its work fails, and competes again", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  let terms = 0;
  const only = candidate(store, clock, "only", {
    onStarted: () => {
      terms += 1;
      return Promise.reject(new Error("x"));
    },
  });
  await clock.advance(0);
  assert.equal(only.elector.leading, false);
  assert.equal(only.elector.view.leader, undefined);
  await clock.advance(2000);
  assert.equal(terms, 2);
  assert.equal(only.elector.view.transitions, 2);
  only.stop.abort();
  await only.running;
});

Deno.test("`leading` stays true while a stopped leader ends its work", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const lastWords: boolean[] = [];
  const only = candidate(store, clock, "only", {
    onStarted: (signal) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          lastWords.push(only.elector.leading);
          resolve();
        })
      ),
  });
  await clock.advance(0);
  only.stop.abort();
  await only.running;
  assert.deepEqual(lastWords, [true]);
  assert.equal(only.elector.leading, false);
});

Deno.test("`refresh()` lets a candidate take a released Lease at once", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const annotations = { where: "first" };
  const first = candidate(store, clock, "first", { annotations });
  await clock.advance(0);
  const second = candidate(store, clock, "second", { annotations: { where: "second" } });
  await clock.advance(500);
  assert.deepEqual(second.elector.view.lease?.metadata?.annotations, { where: "first" });
  first.stop.abort();
  await first.running;
  second.elector.refresh();
  await clock.advance(0);
  assert.equal(second.elector.leading, true);
  assert.deepEqual(second.elector.view.lease?.metadata?.annotations, { where: "second" });
  second.stop.abort();
  await second.running;
});

/** Ends candidates. */
async function stopAll(candidates: readonly ReturnType<typeof candidate>[]): Promise<void> {
  for (const { stop } of candidates) stop.abort();
  await Promise.all(candidates.map(({ running }) => running));
}

/** Advances the clock in steps of half a second; at no time may two lead. */
async function passSeconds(
  clock: FakeClock,
  candidates: readonly ReturnType<typeof candidate>[],
  seconds: number,
): Promise<void> {
  for (let step = 0; step < seconds * 2; step++) {
    await clock.advance(500);
    const leading = candidates.filter(({ elector }) => elector.leading).length;
    assert.ok(leading <= 1, `${leading} lead`);
  }
}

Deno.test("a leader whose Lease was deleted puts it back, and nobody else leads meanwhile", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const first = candidate(store, clock, "first", { annotations: { where: "first" } });
  await clock.advance(0);
  const second = candidate(store, clock, "second");
  const both = [first, second];
  await passSeconds(clock, both, 5);
  const before = store.read();
  store.remove();
  await passSeconds(clock, both, 30);
  assert.deepEqual(first.terms, ["started"]);
  assert.equal(second.elector.view.leader, "first");
  const after = store.read();
  assert.equal(after?.spec?.leaseTransitions, before?.spec?.leaseTransitions);
  assert.equal(after?.spec?.acquireTime, before?.spec?.acquireTime);
  assert.deepEqual(after?.metadata?.annotations, { where: "first" });
  await stopAll(both);
});

const replacements: Record<string, (store: ReturnType<typeof leaseStore>) => void> = {
  "is deleted": (store) => store.remove(),
  "is replaced by one without a holder": (store) => {
    store.remove();
    store.install();
  },
};
for (const [sentence, replace] of Object.entries(replacements)) {
  Deno.test(`a candidate whose leader is cut off when the Lease ${sentence} waits one lease duration`, async () => {
    const [store, clock] = [leaseStore(), new FakeClock()];
    const first = candidate(store, clock, "first");
    await clock.advance(0);
    const second = candidate(store, clock, "second");
    const both = [first, second];
    await passSeconds(clock, both, 5);
    first.link.down = true;
    replace(store);
    await passSeconds(clock, both, 14);
    assert.equal(second.elector.leading, false);
    await passSeconds(clock, both, 4);
    assert.deepEqual([second.elector.leading, second.elector.view.transitions], [true, 2]);
    assert.equal(store.read()?.spec?.leaseTransitions, 2);
    await stopAll(both);
  });
}

Deno.test("a candidate that could not read for long waits from when it finds no Lease", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const first = candidate(store, clock, "first");
  await clock.advance(0);
  const second = candidate(store, clock, "second");
  const both = [first, second];
  await passSeconds(clock, both, 1);
  second.link.down = true;
  await passSeconds(clock, both, 20);
  first.link.down = true;
  store.remove();
  second.link.down = false;
  await passSeconds(clock, both, 14);
  assert.equal(second.elector.leading, false);
  await passSeconds(clock, both, 4);
  assert.equal(second.elector.leading, true);
  await stopAll(both);
});

Deno.test("a fresh candidate without a Lease waits one lease duration, then creates it", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  store.remove();
  const only = candidate(store, clock, "only");
  await clock.advance(14_000);
  assert.equal(store.read(), undefined);
  await clock.advance(2_000);
  assert.deepEqual([only.elector.leading, only.elector.view.transitions], [true, 1]);
  await stopAll([only]);
});

Deno.test("`transitions` never falls, also if a fresh candidate created the Lease again", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const first = candidate(store, clock, "first");
  await clock.advance(0);
  await stopAll([first]);
  const second = candidate(store, clock, "second");
  await clock.advance(0);
  const third = candidate(store, clock, "third");
  await clock.advance(2_000);
  assert.equal(third.elector.view.transitions, 2);
  await stopAll([second]);
  third.link.down = true;
  store.remove();
  store.install();
  const fresh = candidate(store, clock, "fresh");
  await clock.advance(0);
  third.link.down = false;
  await clock.advance(2_000);
  assert.equal(third.elector.view.leader, "fresh");
  assert.deepEqual([fresh.elector.view.transitions, third.elector.view.transitions], [1, 2]);
  await stopAll([fresh]);
  await clock.advance(2_000);
  assert.deepEqual([third.elector.leading, third.elector.view.transitions], [true, 3]);
  await stopAll([third]);
});

/** A client of the Lease whose calls a test delays: for so long, or for ever, whatever their signals say. */
function delayed(
  store: ReturnType<typeof leaseStore>,
  clock: FakeClock,
  delayOf: (verb: "get" | "replace", options: CallOptions) => number,
) {
  const client = store.clientOf({ down: false });
  const calls: { verb: string; at: number; deadlineMs: number; newConnection: boolean }[] = [];
  async function late<R>(verb: "get" | "replace", options: CallOptions, call: () => Promise<R>) {
    const { deadlineMs = Infinity, newConnection = false, signal } = options;
    calls.push({ verb, at: clock.monotonic(), deadlineMs, newConnection });
    const delay = delayOf(verb, options);
    if (delay === Infinity) return await new Promise<never>(() => {});
    await clock.sleep(Math.min(delay, deadlineMs), signal);
    if (delay > deadlineMs) throw new TransportError("no response");
    signal?.throwIfAborted();
    return await call();
  }
  const slow: LeaderElectorOptions["client"] = {
    get: (kind, key, options = {}) => late("get", options, () => client.get(kind, key)),
    create: (kind, object) => client.create(kind, object),
    replace: (kind, object, options = {}) =>
      late("replace", options, () => client.replace(kind, object)),
  };
  return { client: slow, calls };
}

Deno.test("a term ends when its Lease was not renewed in time, also while a call of the renewal hangs", async () => {
  for (const hanging of ["get", "replace"] as const) {
    const [store, clock] = [leaseStore(), new FakeClock()];
    let hangs = 0;
    const { client } = delayed(
      store,
      clock,
      (verb) => verb === hanging && hangs-- > 0 ? Infinity : 0,
    );
    const options = { client, leaseMs: 15_000, renewMs: 14_000 };
    const { elector, terms, stop, running } = candidate(store, clock, "only", options);
    await clock.advance(0);
    hangs = 1;
    await clock.advance(13_999);
    assert.deepEqual([elector.leading, terms], [true, ["started"]]);
    await clock.advance(1);
    // Nobody else wanted the Lease.
    assert.deepEqual(terms, ["started", "ended", "started"]);
    stop.abort();
    await running;
    assert.equal(clock.sleeping, 0);
  }
});

Deno.test("a renewal has one deadline: what its first call took, the second has not", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const times = { leaseMs: 15_000, renewMs: 14_000 };
  const { client, calls } = delayed(
    store,
    clock,
    (verb) => clock.monotonic() === 0 ? 0 : verb === "get" ? 6_900 : 1e9,
  );
  const { terms, stop, running } = candidate(store, clock, "only", { client, ...times });
  await clock.advance(0);
  await clock.advance(13_999);
  for (const { at, deadlineMs } of calls.slice(2)) assert.ok(at + deadlineMs <= 14_000, `${at}`);
  assert.deepEqual(terms, ["started"]);
  await clock.advance(1);
  assert.deepEqual(terms, ["started", "ended"]);
  stop.abort();
  await clock.advance(20_000);
  await running;
});

Deno.test("an answer that is lost costs no leadership: another connection is tried at half of the renew deadline", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  let lost = 0;
  const { client, calls } = delayed(store, clock, () => lost-- > 0 ? 1e9 : 0);
  const { elector, terms, stop, running } = candidate(store, clock, "only", { client });
  await clock.advance(0);
  lost = 1;
  await clock.advance(7_000);
  assert.deepEqual(calls.slice(2), [
    { verb: "get", at: 2_000, deadlineMs: 5_000, newConnection: false },
    { verb: "get", at: 7_000, deadlineMs: 3_000, newConnection: true },
    { verb: "replace", at: 7_000, deadlineMs: 3_000, newConnection: true },
  ]);
  await clock.advance(60_000);
  assert.deepEqual([elector.leading, terms], [true, ["started"]]);
  assert.equal(calls.at(-1)?.newConnection, false);
  stop.abort();
  await running;
});

Deno.test("a candidate too tries another connection after a lost answer", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  let lost = 1;
  const { client, calls } = delayed(store, clock, () => lost-- > 0 ? 1e9 : 0);
  const { elector, stop, running } = candidate(store, clock, "only", { client });
  await clock.advance(5_000);
  assert.equal(elector.leading, true);
  assert.deepEqual(calls.map(({ verb, newConnection }) => [verb, newConnection]), [
    ["get", false],
    ["get", true],
    ["replace", true],
  ]);
  stop.abort();
  await running;
});

Deno.test("a renewal that is refused is not tried again at once", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  let tries = 0;
  const client = store.clientOf({ down: false });
  const { elector, stop, running } = candidate(store, clock, "only", {
    client: {
      ...client,
      replace: (kind, object) =>
        tries++ === 0
          ? client.replace(kind, object)
          : Promise.reject(new KubeError("no", { code: 500, reason: "InternalError" })),
    },
  });
  await clock.advance(9_999);
  assert.deepEqual([elector.leading, tries], [true, 5]);
  stop.abort();
  await running;
});

Deno.test("`createLeaderElector()` refuses inconsistent times", () => {
  const store = leaseStore();
  const times = [{ renewMs: 15_000 }, { retryMs: 9000 }];
  for (const options of times) {
    assert.throws(() => candidate(store, new FakeClock(), "a", options), RangeError);
  }
});
