/** Tests of pushes that come when their trial has ended: the log stays what the Trial's observation says. */
import assert from "node:assert/strict";
import type { Control } from "../../../crds/wire/push_answer.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import { createSummary } from "../../../trials/recording/summary.ts";
import { trialPlan, unsteadySink, withObservations } from "./observations_fixture.ts";

const never = new AbortController().signal;
const STOPPED: Control = { stop: true, reason: "EarlyStopped", message: "stopped early: m" };

async function values(sink: ReturnType<typeof createMemorySink>, name = "a"): Promise<string[]> {
  const rows = await sink.read(trialPlan(name).key, never);
  return rows.map(({ value }) => value);
}

for (const outcome of ["stopped", "never"] as const) {
  Deno.test(`a push after the grace is told to stop, and written nowhere, while the stop is ${outcome} written`, async () => {
    const sink = createMemorySink();
    const plan = trialPlan("a");
    const onStopCall = () => outcome === "never" ? Promise.reject(new Error("no API")) : outcome;
    await withObservations(
      { plans: [plan], sink, onStopCall },
      async ({ push, observations, settle }) => {
        assert.equal(observations.stopped(plan.job), undefined);
        await push(plan, 1, "0.9");
        await push(plan, 2, "0.8");
        await settle();
        const late = await push(plan, 3, "0.1");
        assert.ok(late?.ok && late.control);
        assert.match(late.control.message, /^stopped early: loss 0\.\d is greater/);
        assert.deepEqual(observations.stopped(plan.job), { ok: true, control: late.control });
        assert.deepEqual(await values(sink), ["0.9", "0.8"]);
      },
    );
  });
}

Deno.test("pushes in the queue behind the deciding one are in the log and in the observation", async () => {
  const sink = createMemorySink();
  const plan = trialPlan("a");
  await withObservations({ plans: [plan], sink }, async ({ push, stops, settle }) => {
    await push(plan, 1, "0.9");
    const losses = ["0.8", "0.7", "0.6", "0.55"];
    await Promise.all(losses.map((loss, index) => push(plan, index + 2, loss)));
    await settle();
    const rows = await sink.read(plan.key, never);
    assert.ok(rows.length >= 2);
    const summary = createSummary();
    for (const row of rows) summary.add(row);
    assert.equal(stops.length, 1);
    const [loss] = stops[0]?.observation ?? [];
    assert.equal(loss?.latest, rows.at(-1)?.value);
    assert.equal(loss?.min, rows.at(-1)?.value);
  });
});

Deno.test("a row whose write had an unknown outcome is in the observation if it is in the log", async () => {
  const plan = trialPlan("a");
  const { sink, inner, fail } = unsteadySink();
  await withObservations({ plans: [plan], sink }, async ({ push, stops, settle, clock }) => {
    await push(plan, 1, "0.9");
    const deciding = push(plan, 2, "0.8");
    fail("after");
    await Promise.all([deciding, push(plan, 3, "0.7")]);
    await clock.advance(10_000);
    await settle();
    const rows = await inner.read(plan.key, never);
    assert.equal(stops.at(-1)?.observation?.[0]?.latest, rows.at(-1)?.value);
  });
});

Deno.test("within the grace pushes are recorded, and the observation has them", async () => {
  const sink = createMemorySink();
  const plan = trialPlan("a", { graceMs: 30_000 });
  await withObservations(
    { plans: [plan], sink },
    async ({ push, stops, clock, settle, observations }) => {
      await push(plan, 1, "0.9");
      await push(plan, 2, "0.8");
      assert.equal(observations.stopped(plan.job), undefined);
      const inGrace = await push(plan, 3, "0.7");
      assert.ok(inGrace?.ok && inGrace.control);
      await clock.advance(31_000);
      await settle();
      await push(plan, 4, "0.1");
      assert.deepEqual(await values(sink), ["0.9", "0.8", "0.7"]);
      assert.equal(stops[0]?.observation?.[0]?.latest, "0.7");
    },
  );
});

Deno.test("a new owner writes nothing of a job whose objects say that it was stopped", async () => {
  const sink = createMemorySink();
  const plan = trialPlan("a");
  await withObservations({ plans: [plan], sink }, async ({ push, shown, observations }) => {
    shown.set(plan.job.uid, STOPPED);
    assert.deepEqual(await push(plan, 1, "0.1"), { ok: true, control: STOPPED });
    assert.deepEqual(observations.stopped(plan.job), { ok: true, control: STOPPED });
    assert.deepEqual(await values(sink), []);
  });
});

Deno.test("a push of a trial that has ended by itself is taken with a warning, and not recorded", async () => {
  const sink = createMemorySink();
  const plan = trialPlan("a");
  await withObservations({ plans: [plan], sink }, async ({ push, ended, observations }) => {
    await push(plan, 1, "0.4");
    ended.add(plan.job.uid);
    assert.deepEqual(await push(plan, 2, "0.1"), {
      ok: true,
      warnings: ["the trial has ended: nothing more is recorded"],
    });
    assert.equal(observations.stopped(plan.job), undefined, "its progress is shown");
    assert.deepEqual(await values(sink), ["0.4"]);
  });
});
