/** Tests of the fence: by a paused clock, no write of a leader leaves after its renew deadline, and no call outlives it. */
import assert from "node:assert/strict";
import type { KubeClient } from "../../../../platform/kube/client.ts";
import { fencedClient, FencedError } from "../../../../platform/kube/leading/fence.ts";
import { KUBERNETES_KINDS } from "../../../../platform/kube/kubernetes_kinds.ts";
import { createLeadership, type Leadership } from "../../../../platform/kube/leading/leadership.ts";
import { answeringClient, never } from "../../../support/answering_client.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { refusal, WIDGET, widget } from "../fake_api_server.ts";
import { leaseStore } from "./lease_store.ts";

const RENEW_MS = 14_000;
const KEY = { namespace: "ns", name: "a" };
const PATCH = { type: "merge", body: {} } as const;
const signal = new AbortController().signal;
const stored = () =>
  Response.json({ apiVersion: "test.example/v1", kind: "Widget", ...widget("a") });

/** Every call, and whether it writes. */
const CALLS: Record<string, [writes: boolean, call: (client: KubeClient) => Promise<unknown>]> = {
  get: [false, (client) => client.get(WIDGET, KEY)],
  list: [false, (client) => client.list(WIDGET)],
  "read by GET": [false, (client) => client.read("/version")],
  create: [true, (client) => client.create(WIDGET, widget("a"))],
  replace: [true, (client) => client.replace(WIDGET, widget("a"))],
  patch: [true, (client) => client.patch(WIDGET, KEY, PATCH)],
  delete: [true, (client) => client.delete(WIDGET, KEY)],
  createSubresource: [true, (client) => client.createSubresource(WIDGET, KEY, "x", {})],
  "read by POST": [true, (client) => client.read("/reviews", { method: "POST", body: "{}" })],
};

interface Replica {
  readonly clock: FakeClock;
  readonly leadership: Leadership;
  /** The client of its term. */
  readonly client: KubeClient;
  /** When each request left, by the clock. */
  readonly sent: number[];
  /** The machine stands still for so long: no timer runs. */
  pause(ms: number): void;
  /** Cuts it off from the Lease, not from anything else. */
  cutOff(): void;
  /** Begins to end it; what it works on goes on until `finish`. */
  stop(): void;
  finish(): Promise<void>;
}

/** A replica that competes for the Lease of `store`, whose other requests are answered by `answer`. */
function replica(
  { store = leaseStore(), clock = new FakeClock(), identity = "first", answer = stored }: {
    store?: ReturnType<typeof leaseStore>;
    clock?: FakeClock;
    identity?: string;
    answer?: (signal: AbortSignal) => Response | Promise<Response>;
  } = {},
): Replica {
  const link = { down: false };
  const paused = { ms: 0 };
  const own = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + paused.ms,
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
  };
  const leadership = createLeadership({
    client: store.clientOf(link),
    namespace: "ns",
    name: "lease",
    identity,
    addressAnnotation: "example.org/address",
    clock: own,
    random: () => 0,
    leaseMs: 15_000,
    renewMs: RENEW_MS,
    retryMs: 2_000,
  });
  const sent: number[] = [];
  const inner = answeringClient((_request, signal) => {
    sent.push(clock.monotonic());
    return answer(signal);
  }, own);
  const over = new AbortController();
  const worked = Promise.withResolvers<void>();
  const running = leadership.run({ works: () => [() => worked.promise] }, over.signal);
  return {
    clock,
    leadership,
    client: fencedClient(inner, leadership.fence),
    sent,
    pause: (ms) => void (paused.ms += ms),
    cutOff: () => link.down = true,
    stop: () => over.abort(),
    async finish() {
      worked.resolve();
      over.abort();
      await running;
    },
  };
}

/** Notes how a call ends, and when. */
function ending(clock: FakeClock, call: Promise<unknown>) {
  const seen: { at?: number; error?: unknown } = {};
  call.then(() => seen.at = clock.monotonic(), (error) => {
    seen.at = clock.monotonic();
    seen.error = error;
  });
  return seen;
}

Deno.test("a leader calls, and a replica that never led does not", async () => {
  for (const [name, [, call]] of Object.entries(CALLS)) {
    const first = replica();
    await assert.rejects(call(first.client), FencedError, name);
    await first.clock.advance(0);
    await call(first.client);
    assert.equal(first.sent.length, 1, name);
    await first.finish();
    await assert.rejects(call(first.client), `${name} after the term`);
    assert.equal(first.sent.length, 1, name);
  }
});

Deno.test("a machine that stood still writes nothing when it goes on, before any timer runs", async () => {
  for (const [name, [writes, call]] of Object.entries(CALLS)) {
    const first = replica();
    await first.clock.advance(0);
    first.pause(RENEW_MS - 1);
    await call(first.client);
    first.pause(1);
    if (writes) await assert.rejects(call(first.client), FencedError, name);
    assert.equal(first.sent.length, 1, name);
    await first.finish();
  }
});

Deno.test("no call outlives the renew deadline of a leader that cannot renew", async () => {
  for (const [name, [, call]] of Object.entries(CALLS)) {
    const first = replica({ answer: never });
    await first.clock.advance(0);
    first.cutOff();
    await first.clock.advance(RENEW_MS - 1_000);
    const end = ending(first.clock, call(first.client));
    await first.clock.advance(999);
    assert.deepEqual([end.at, first.sent.length], [undefined, 1], name);
    await first.clock.advance(1);
    assert.equal(end.at, RENEW_MS, name);
    await first.finish();
  }
});

Deno.test("calls end when another one is seen on the Lease, though its work goes on", async () => {
  const store = leaseStore();
  const first = replica({ store, answer: never });
  await first.clock.advance(0);
  const end = ending(first.clock, first.client.get(WIDGET, KEY));
  const thief = store.clientOf({ down: false });
  const lease = await thief.get(KUBERNETES_KINDS.lease, { namespace: "ns", name: "lease" });
  await thief.replace(KUBERNETES_KINDS.lease, {
    ...lease,
    spec: { ...lease.spec, holderIdentity: "thief" },
  });
  await first.clock.advance(1_999);
  assert.equal(end.at, undefined);
  await first.clock.advance(1);
  assert.deepEqual([end.at, first.leadership.leading], [2_000, false]);
  await first.finish();
});

Deno.test("a write that waits because the server asks for it is not sent again after the renew deadline", async () => {
  for (const [name, [, call]] of Object.entries(CALLS)) {
    const busy = () => refusal(503, "ServiceUnavailable", "busy", { "retry-after": "3" });
    const first = replica({ answer: busy });
    await first.clock.advance(0);
    first.cutOff();
    await first.clock.advance(RENEW_MS - 4_000);
    const end = ending(first.clock, call(first.client));
    await first.clock.advance(20_000);
    assert.equal(end.at, RENEW_MS, name);
    assert.ok(first.sent.length > 1 && first.sent.every((it) => it < RENEW_MS), name);
    await first.finish();
  }
});

Deno.test("a machine that stood still while a write waited to be sent again does not send it", async () => {
  for (const [name, [writes, call]] of Object.entries(CALLS)) {
    if (!writes) continue;
    const busy = () => refusal(503, "ServiceUnavailable", "busy", { "retry-after": "1" });
    const first = replica({ answer: busy });
    await first.clock.advance(0);
    const end = ending(first.clock, call(first.client));
    await first.clock.advance(0);
    first.pause(RENEW_MS);
    await first.clock.advance(1_300);
    assert.ok(end.error instanceof FencedError, `${name}: ${end.error}`);
    assert.equal(first.sent.length, 1, name);
    await first.finish();
  }
});

Deno.test("a leader that ends its work by itself still writes, until it has released the Lease", async () => {
  const first = replica();
  await first.clock.advance(0);
  first.stop();
  await first.client.patch(WIDGET, KEY, PATCH);
  await first.clock.advance(5_000);
  await first.client.patch(WIDGET, KEY, PATCH);
  // It renews no more.
  await first.clock.advance(RENEW_MS);
  await assert.rejects(first.client.patch(WIDGET, KEY, PATCH));
  assert.equal(first.sent.length, 2);
  await first.finish();
});

Deno.test("of two replicas one alone writes at a time, whatever their calls take", async () => {
  const [store, clock] = [leaseStore(), new FakeClock()];
  const answers = { first: 0, second: 0 };
  const slowly = (who: keyof typeof answers) => async (signal: AbortSignal) => {
    await clock.sleep(9_000, signal);
    signal.throwIfAborted();
    answers[who] = clock.monotonic();
    return stored();
  };
  const first = replica({ store, clock, identity: "first", answer: slowly("first") });
  await clock.advance(0);
  const second = replica({ store, clock, identity: "second", answer: slowly("second") });
  const step = async () => {
    for (const { client } of [first, second]) {
      client.patch(WIDGET, KEY, PATCH, { signal }).catch(() => {});
    }
    await clock.advance(250);
  };
  for (let at = 0; at < 20_000; at += 250) await step();
  first.cutOff();
  for (let at = 0; at < 40_000; at += 250) await step();
  assert.ok(second.sent.length > 50, `${second.sent.length}`);
  const begins = second.sent[0] ?? 0;
  assert.ok(Math.max(...first.sent) < begins, "no write of the first leaves any more");
  assert.ok(answers.first < begins, "and none of it is under way");
  await Promise.all([first.finish(), second.finish()]);
});

Deno.test("without an election a replica writes while it runs", async () => {
  const leadership = createLeadership(undefined);
  const client = fencedClient(answeringClient(stored), leadership.fence);
  await assert.rejects(client.patch(WIDGET, KEY, PATCH), FencedError);
  const over = new AbortController();
  const last = Promise.withResolvers<void>();
  const running = leadership.run({ works: () => [() => last.promise] }, over.signal);
  await client.patch(WIDGET, KEY, PATCH);
  over.abort();
  await client.patch(WIDGET, KEY, PATCH);
  last.resolve();
  await running;
  await assert.rejects(client.patch(WIDGET, KEY, PATCH), FencedError);
});
