/** What an enemy of the adapter tries: clocks, late decisions, many logs at once. */
import assert from "node:assert/strict";
import type { ObservedPush } from "../../../katib/adapter/adapter.ts";
import { createMemorySink } from "../../../katib/log/memory_sink.ts";
import type { ObservationSink } from "../../../katib/log/sink.ts";
import type { LogKey } from "../../../trials/recording/observation_log.ts";
import { planOf, pushOf, unsteadySink, withAdapter } from "../adapter/adapter_scene.ts";

const long = () => AbortSignal.timeout(60_000);
const never = new AbortController().signal;

/** A push as it arrives at `receivedMs` of a pod that says `sent`, moved to its arrival where it is ahead. */
function arrival(plan: Parameters<typeof pushOf>[0], loss: string, sent: string, received: string) {
  const receivedMs = Date.parse(received);
  const isAhead = Date.parse(sent) > receivedMs;
  const push: ObservedPush = {
    ...pushOf(plan, 0, loss),
    receivedMs,
    trainerStatus: {
      metrics: [{ name: "loss", value: loss }],
      lastUpdatedTime: isAhead ? new Date(receivedMs).toISOString() : sent,
    },
    ...(isAhead && { sentTimes: [sent] }),
  };
  return push;
}

Deno.test("a pod whose clock is a little ahead: its retry is a retry, although what came of the write was not known", async () => {
  const plan = planOf("a", { rules: [] });
  const { sink, inner, fail } = unsteadySink();
  await withAdapter({ plans: [plan], sink }, async ({ adapter, settle }) => {
    await settle();
    fail("after");
    const sent = "2025-12-31T23:59:30.125Z";
    const first = await adapter.accept(
      arrival(plan, "0.4", sent, "2025-12-31T23:59:30.123Z"),
      never,
    );
    assert.equal(first?.ok, undefined);
    const again = await adapter.accept(
      arrival(plan, "0.4", sent, "2025-12-31T23:59:31.200Z"),
      never,
    );
    assert.equal(again?.ok, true);
    assert.equal((await inner.read(plan.key, long())).length, 1);
  });
});

Deno.test("a pod whose clock is far ahead: its retry is a retry, although what came of the write was not known", async () => {
  const plan = planOf("a", { rules: [] });
  const { sink, inner, fail } = unsteadySink();
  await withAdapter({ plans: [plan], sink }, async ({ adapter, settle }) => {
    await settle();
    const sent = "2025-12-31T23:59:35.000Z";
    for (const received of ["2025-12-31T23:59:30.000Z", "2025-12-31T23:59:31.500Z"]) {
      fail("after", "after");
      await adapter.accept(arrival(plan, "0.4", sent, received), never);
      const again = new Date(Date.parse(received) + 700).toISOString();
      await adapter.accept(arrival(plan, "0.4", sent, again), never);
    }
    const last = await adapter.accept(
      arrival(plan, "0.4", sent, "2025-12-31T23:59:33.000Z"),
      never,
    );
    assert.equal(last?.ok, true);
    assert.equal((await inner.read(plan.key, long())).length, 1);
    const next = arrival(plan, "0.4", "2025-12-31T23:59:36.000Z", "2025-12-31T23:59:33.100Z");
    assert.equal((await adapter.accept(next, never))?.ok, true);
    assert.equal((await inner.read(plan.key, long())).length, 2);
  });
});

Deno.test("a pod whose clock is a little ahead: its retry is a retry for a new owner", async () => {
  const plan = planOf("a", { rules: [] });
  const sink = createMemorySink();
  const sent = "2025-12-31T23:59:30.125Z";
  for (const received of ["2025-12-31T23:59:30.123Z", "2025-12-31T23:59:31.200Z"]) {
    await withAdapter({ plans: [plan], sink }, async ({ adapter }) => {
      const answer = await adapter.accept(arrival(plan, "0.4", sent, received), never);
      assert.equal(answer?.ok, true);
    });
  }
  assert.equal((await sink.read(plan.key, long())).length, 1);
});

Deno.test("a job that Katib made anew for a trial whose rules were met is stopped without another push", async () => {
  const plan = planOf("a");
  await withAdapter({ plans: [plan] }, async ({ push, stops, answers, clock, settle }) => {
    await push(plan, 1, "0.9");
    await push(plan, 2, "0.9");
    await settle();
    assert.equal(stops.length, 1);
    const next = { ...plan, job: { ...plan.job, uid: "job-a-anew" } };
    answers.delete(plan.job.uid);
    answers.set(next.job.uid, next);
    await clock.advance(10_000);
    await settle();
    assert.deepEqual(stops.map(({ plan }) => plan.job.uid), ["job-a", "job-a-anew"]);
  });
});

Deno.test("rules that changed are judged by what is in the log, without another push", async () => {
  const plan = planOf("a", { rules: [{ name: "loss", value: "5", comparison: "greater" }] });
  await withAdapter({ plans: [plan] }, async ({ push, stops, answers, clock, settle }) => {
    await push(plan, 1, "0.9");
    await settle();
    assert.equal(stops.length, 0);
    const rules = [{ name: "loss", value: "0.5", comparison: "greater" }];
    answers.set(plan.job.uid, { ...plan, rules });
    await clock.advance(10_000);
    await settle();
    assert.equal(stops.length, 1);
  });
});

Deno.test("a deciding row whose write had an unknown outcome stops the trial, also where its pod is silent", async () => {
  const plan = planOf("a");
  const { sink, fail } = unsteadySink();
  await withAdapter({ plans: [plan], sink }, async ({ push, stops, clock, settle }) => {
    await push(plan, 1, "0.9");
    fail("after");
    const answer = await push(plan, 2, "0.9");
    assert.equal(answer?.ok, undefined);
    await clock.advance(10_000);
    await settle();
    assert.equal(stops.length, 1);
  });
});

Deno.test("the grace begins when the rule is met here, not when a history says that its sample was taken", async () => {
  const plan = planOf("a", { graceMs: 60_000 });
  await withAdapter({ plans: [plan] }, async ({ adapter, clock, stops, settle }) => {
    const sample = (minutesAgo: number) => ({
      metrics: [{ name: "loss", value: "0.9" }],
      lastUpdatedTime: new Date(clock.now() - minutesAgo * 60_000).toISOString(),
    });
    const push = { ...pushOf(plan, 0, "0.9"), receivedMs: clock.now() };
    const answer = await adapter.accept(
      { ...push, earlier: [sample(20), sample(19)], trainerStatus: sample(18) },
      never,
    );
    assert.ok(answer?.ok && answer.control);
    await clock.advance(30_000);
    await settle();
    assert.equal(stops.length, 0, "it was stopped without its grace");
    await clock.advance(31_000);
    await settle();
    assert.equal(stops.length, 1);
  });
});

Deno.test("many pushes after a change of owner: logs are read a few at a time", async () => {
  const plans = Array.from({ length: 200 }, (_, n) => planOf(`t${n}`));
  const inner = createMemorySink();
  let atOnce = 0;
  let most = 0;
  const sink: ObservationSink = {
    ...inner,
    async read(key: LogKey, signal) {
      most = Math.max(most, ++atOnce);
      for (let turn = 0; turn < 5; turn++) await undefined;
      atOnce--;
      return await inner.read(key, signal);
    },
  };
  await withAdapter({ plans, sink }, async ({ push }) => {
    const answers = await Promise.all(plans.map((plan) => push(plan, 1, "0.4")));
    assert.ok(answers.every((it) => it?.ok));
  });
  assert.ok(most <= 32, `${most} logs were read at a time`);
});

Deno.test("a read of logs that waits for its turn ends with its deadline, and the next gets it", async () => {
  const plans = Array.from({ length: 60 }, (_, n) => planOf(`t${n}`));
  const unsteady = unsteadySink();
  unsteady.down = "hang";
  await withAdapter({ plans, sink: unsteady.sink }, async ({ push, clock, settle }) => {
    const first = Promise.all(plans.map((plan) => push(plan, 1, "0.4")));
    await settle();
    await clock.advance(2_500);
    assert.ok((await first).every((it) => it?.ok === undefined));
    unsteady.down = undefined;
    const second = Promise.all(plans.map((plan) => push(plan, 1, "0.4")));
    await clock.advance(3_000);
    assert.ok((await second).every((it) => it?.ok));
  });
});

Deno.test("the log of a job that asked for one goes with it, also where a new owner never had it in hand", async () => {
  const job = { namespace: "default", name: "a", uid: "job-a" };
  const plan = planOf("a", { key: { kind: "job", ...job }, job, rules: [] });
  const inner = createMemorySink();
  const sink: ObservationSink = { ...inner, name: "katib", keepsPlainJobs: false };
  await withAdapter({ plans: [plan], sink }, async ({ push }) => {
    await push(plan, 1, "0.4");
  });
  await withAdapter({ sink }, async ({ adapter, settle }) => {
    adapter.forget(job, true);
    await settle();
    assert.deepEqual(await inner.read(plan.key, long()), []);
  });
});

Deno.test("thousands of jobs that go at once: logs are deleted a few at a time", async () => {
  const inner = createMemorySink();
  let atOnce = 0;
  let most = 0;
  let count = 0;
  const sink: ObservationSink = {
    ...inner,
    async delete(key, signal) {
      most = Math.max(most, ++atOnce);
      for (let turn = 0; turn < 3; turn++) await undefined;
      atOnce--;
      count++;
      await inner.delete(key, signal);
    },
  };
  await withAdapter({ sink }, async ({ adapter, settle }) => {
    for (let n = 0; n < 300; n++) {
      adapter.forget({ namespace: "default", name: `t${n}`, uid: `job-${n}` }, true);
    }
    for (let turn = 0; turn < 20; turn++) await settle();
    assert.equal(count, 300);
  });
  assert.ok(most <= 8, `${most} logs were deleted at a time`);
});

Deno.test("logs of jobs that have finished are let go, those of running ones are not", async () => {
  const plans = Array.from({ length: 30 }, (_, n) => planOf(`t${n}`));
  const { sink, calls } = unsteadySink();
  const options = { plans, sink, maxFinishedLogs: 20 };
  await withAdapter(options, async ({ push, answers, clock, settle }) => {
    for (const plan of plans) await push(plan, 1, "0.4");
    const reads = () => calls.filter((it) => it === "read").length;
    assert.equal(reads(), 30);
    for (const { job } of plans.slice(0, 15)) answers.delete(job.uid);
    await clock.advance(10_000);
    await settle();
    for (const plan of plans) answers.set(plan.job.uid, plan);
    for (const plan of plans) await push(plan, 2, "0.3");
    // The first ten were let go: then there were no more than were to be kept.
    assert.equal(reads(), 40);
  });
});

Deno.test("the end of a job that asks for nothing waits for no log", async () => {
  const job = { namespace: "default", name: "a", uid: "job-a" };
  const plan = planOf("a", { key: { kind: "job", ...job }, job, rules: [], isPlain: true });
  const unsteady = unsteadySink();
  const sink: ObservationSink = { ...unsteady.sink, name: "sqlite" };
  await withAdapter({ plans: [plan], sink }, async ({ push, adapter, clock, settle }) => {
    await settle();
    unsteady.down = "hang";
    const pushed = push(plan, 1, "0.4");
    await settle();
    const waited = adapter.settle(job, never);
    unsteady.down = undefined;
    await clock.advance(5_000);
    assert.equal((await pushed)?.ok, true);
    assert.equal(waited, undefined);
  });
});
