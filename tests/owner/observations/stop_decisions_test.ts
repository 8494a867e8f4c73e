/** Tests of stops that no current push decides, and of the start of the grace period. */
import assert from "node:assert/strict";
import { pushOf, trialPlan, unsteadySink, withObservations } from "./observations_fixture.ts";

const never = new AbortController().signal;

Deno.test("a job that Katib made anew for a trial whose rules were met is stopped without another push", async () => {
  const plan = trialPlan("a");
  await withObservations({ plans: [plan] }, async ({ push, stops, answers, clock, settle }) => {
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
  const plan = trialPlan("a", { rules: [{ name: "loss", value: "5", comparison: "greater" }] });
  await withObservations({ plans: [plan] }, async ({ push, stops, answers, clock, settle }) => {
    await push(plan, 1, "0.9");
    await settle();
    assert.equal(stops.length, 0);
    const rules = [{ name: "loss", value: "0.5", comparison: "greater" as const }];
    answers.set(plan.job.uid, { ...plan, rules });
    await clock.advance(10_000);
    await settle();
    assert.equal(stops.length, 1);
  });
});

Deno.test("a deciding row whose write had an unknown outcome stops the trial, also where its pod is silent", async () => {
  const plan = trialPlan("a");
  const { sink, fail } = unsteadySink();
  await withObservations({ plans: [plan], sink }, async ({ push, stops, clock, settle }) => {
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
  const plan = trialPlan("a", { graceMs: 60_000 });
  await withObservations({ plans: [plan] }, async ({ observations, clock, stops, settle }) => {
    const sample = (minutesAgo: number) => ({
      metrics: [{ name: "loss", value: "0.9" }],
      lastUpdatedTime: new Date(clock.now() - minutesAgo * 60_000).toISOString(),
    });
    const push = { ...pushOf(plan, 0, "0.9"), receivedMs: clock.now() };
    const answer = await observations.accept(
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
