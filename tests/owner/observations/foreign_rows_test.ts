/** Tests of rows that others write to Katib's log, as its `report_metrics()` does: they count, whenever they come. */
import assert from "node:assert/strict";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import { katibsLog, trialPlan, withObservations } from "./observations_fixture.ts";

const never = new AbortController().signal;
const PLAN = trialPlan("a");

/** What `report_metrics()` does at that second after the first push. */
const report = (sink: ObservationSink, second: number, value: string) =>
  sink.append(PLAN.key, [
    {
      time: new Date(Date.UTC(2026, 0, 1) - 60_000 + second * 1000).toISOString(),
      name: "loss",
      value,
    },
  ], never);

Deno.test("a row that was reported after the last read is in the observation of a requested stop", async () => {
  const sink = katibsLog();
  await withObservations({ plans: [PLAN], sink }, async ({ push, observations, stops, settle }) => {
    await push(PLAN, 1, "0.4");
    await report(sink, 2, "0.1");
    const { job } = PLAN;
    const stop = { reason: "Pruned", message: "m", graceSeconds: 0 };
    await observations.requestStop({ job, trialUid: null, user: "tuner", stop }, never);
    await settle();
    assert.deepEqual(stops[0]?.observation?.map(({ min, latest }) => [min, latest]), [[
      "0.1",
      "0.1",
    ]]);
  });
});

Deno.test("a row that was reported within the grace is in the observation", async () => {
  const sink = katibsLog();
  const plan = { ...PLAN, graceMs: 30_000 };
  await withObservations({ plans: [plan], sink }, async ({ push, clock, stops, settle }) => {
    await push(plan, 1, "0.9");
    await push(plan, 2, "0.8");
    await report(sink, 3, "0.2");
    await clock.advance(31_000);
    await settle();
    assert.deepEqual(stops[0]?.observation?.map(({ min, latest }) => [min, latest]), [[
      "0.2",
      "0.2",
    ]]);
  });
});

Deno.test("rows that were reported alone stop their trial within about a minute", async () => {
  const sink = katibsLog();
  await withObservations({ plans: [PLAN], sink }, async ({ clock, stops, settle }) => {
    await settle();
    await report(sink, 1, "0.9");
    await report(sink, 2, "0.8");
    await clock.advance(70_000);
    await settle();
    assert.equal(stops.length, 1);
  });
});

Deno.test("a stop does not wait for a log that is away: the Trial gets what was known", async () => {
  const sink = katibsLog();
  await withObservations({ plans: [PLAN], sink }, async ({ push, observations, stops, settle }) => {
    await push(PLAN, 1, "0.4");
    const { job } = PLAN;
    const stop = { reason: "Pruned", message: "m", graceSeconds: 0 };
    sink.failReads(1);
    await observations.requestStop({ job, trialUid: null, user: "tuner", stop }, never);
    await settle();
    assert.deepEqual(stops[0]?.observation?.map(({ latest }) => latest), ["0.4"]);
  });
});
