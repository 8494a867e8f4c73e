/** Tests of the limits of observations over many logs: reads, deletions, and logs in memory. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import type { LogKey } from "../../../trials/recording/observation_row.ts";
import { trialPlan, unsteadySink, withObservations } from "./observations_fixture.ts";

Deno.test("many pushes after a change of owner: logs are read a few at a time", async () => {
  const plans = Array.from({ length: 200 }, (_, n) => trialPlan(`t${n}`));
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
  await withObservations({ plans, sink }, async ({ push }) => {
    const answers = await Promise.all(plans.map((plan) => push(plan, 1, "0.4")));
    assert.ok(answers.every((it) => it?.ok));
  });
  assert.ok(most <= 32, `${most} logs were read at a time`);
});

Deno.test("a read of logs that waits for its turn ends with its deadline, and the next gets it", async () => {
  const plans = Array.from({ length: 60 }, (_, n) => trialPlan(`t${n}`));
  const unsteady = unsteadySink();
  unsteady.down = "hang";
  await withObservations({ plans, sink: unsteady.sink }, async ({ push, clock, settle }) => {
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
  await withObservations({ sink }, async ({ observations, settle }) => {
    for (let n = 0; n < 300; n++) {
      observations.forget(
        { kind: TRAINJOB, namespace: "default", name: `t${n}`, uid: `job-${n}` },
        true,
      );
    }
    for (let turn = 0; turn < 20; turn++) await settle();
    assert.equal(count, 300);
  });
  assert.ok(most <= 8, `${most} logs were deleted at a time`);
});

Deno.test("logs of jobs that have finished are let go, those of running ones are not", async () => {
  const plans = Array.from({ length: 30 }, (_, n) => trialPlan(`t${n}`));
  const { sink, calls } = unsteadySink();
  const options = { plans, sink, maxFinishedLogs: 20 };
  await withObservations(options, async ({ push, answers, clock, settle }) => {
    for (const plan of plans) await push(plan, 1, "0.4");
    const reads = () => calls.filter((it) => it === "read").length;
    assert.equal(reads(), 30);
    for (const { job } of plans.slice(0, 15)) answers.delete(job.uid);
    await clock.advance(10_000);
    await settle();
    for (const plan of plans) answers.set(plan.job.uid, plan);
    for (const plan of plans) await push(plan, 2, "0.3");
    // The first ten were evicted, which left as many as are kept.
    assert.equal(reads(), 40);
  });
});
