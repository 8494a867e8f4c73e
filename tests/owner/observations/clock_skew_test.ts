/** Tests with pods whose clocks are ahead or behind: retries are recognized, and acknowledged rows stay. */
import assert from "node:assert/strict";
import type { Push } from "../../../crds/wire/push.ts";
import { createLogState } from "../../../owner/observations/log_state.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import type { ObservationRow } from "../../../trials/recording/observation_row.ts";
import { ONE_RUN } from "../../../trials/recording/present_run.ts";
import { pushOf, trialPlan, unsteadySink, withObservations } from "./observations_fixture.ts";

const long = () => AbortSignal.timeout(60_000);
const never = new AbortController().signal;

/** A push that was sent with the time `sent` and arrives at `received`; a later time is clamped to that. */
function arrival(plan: Parameters<typeof pushOf>[0], loss: string, sent: string, received: string) {
  const receivedMs = Date.parse(received);
  const isAhead = Date.parse(sent) > receivedMs;
  const push: Push = {
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

Deno.test("a push whose time was moved is recorded once, although its retry is moved elsewhere", async () => {
  const plan = trialPlan("a");
  const sink = createMemorySink();
  await withObservations({ plans: [plan], sink }, async ({ push }) => {
    const sentTimes = ["2026-01-01T00:00:09.5Z"];
    assert.deepEqual(await push(plan, 1, "0.4", { sentTimes }), { ok: true });
    assert.deepEqual(await push(plan, 2, "0.4", { sentTimes }), { ok: true });
    assert.deepEqual(await push(plan, 3, "0.4", { sentTimes: ["2026-01-01T00:00:10Z"] }), {
      ok: true,
    });
    const rows = await sink.read(plan.key, AbortSignal.timeout(30_000));
    assert.deepEqual(rows.map(({ time }) => time.slice(17)), ["01Z", "03Z"]);
  });
});

Deno.test("a pod whose clock is a little ahead: its retry is a retry, although what came of the write was not known", async () => {
  const plan = trialPlan("a", { rules: [] });
  const { sink, inner, fail } = unsteadySink();
  await withObservations({ plans: [plan], sink }, async ({ observations, settle }) => {
    await settle();
    fail("after");
    const sent = "2025-12-31T23:59:30.125Z";
    const first = await observations.accept(
      arrival(plan, "0.4", sent, "2025-12-31T23:59:30.123Z"),
      never,
    );
    assert.equal(first?.ok, undefined);
    const again = await observations.accept(
      arrival(plan, "0.4", sent, "2025-12-31T23:59:31.200Z"),
      never,
    );
    assert.equal(again?.ok, true);
    assert.equal((await inner.read(plan.key, long())).length, 1);
  });
});

Deno.test("a pod whose clock is far ahead: its retry is a retry, although what came of the write was not known", async () => {
  const plan = trialPlan("a", { rules: [] });
  const { sink, inner, fail } = unsteadySink();
  await withObservations({ plans: [plan], sink }, async ({ observations, settle }) => {
    await settle();
    const sent = "2025-12-31T23:59:35.000Z";
    for (const received of ["2025-12-31T23:59:30.000Z", "2025-12-31T23:59:31.500Z"]) {
      fail("after", "after");
      await observations.accept(arrival(plan, "0.4", sent, received), never);
      const again = new Date(Date.parse(received) + 700).toISOString();
      await observations.accept(arrival(plan, "0.4", sent, again), never);
    }
    const last = await observations.accept(
      arrival(plan, "0.4", sent, "2025-12-31T23:59:33.000Z"),
      never,
    );
    assert.equal(last?.ok, true);
    assert.equal((await inner.read(plan.key, long())).length, 1);
    const next = arrival(plan, "0.4", "2025-12-31T23:59:36.000Z", "2025-12-31T23:59:33.100Z");
    assert.equal((await observations.accept(next, never))?.ok, true);
    assert.equal((await inner.read(plan.key, long())).length, 2);
  });
});

Deno.test("a pod whose clock is a little ahead: its retry is a retry for a new owner", async () => {
  const plan = trialPlan("a", { rules: [] });
  const sink = createMemorySink();
  const sent = "2025-12-31T23:59:30.125Z";
  for (const received of ["2025-12-31T23:59:30.123Z", "2025-12-31T23:59:31.200Z"]) {
    await withObservations({ plans: [plan], sink }, async ({ observations }) => {
      const answer = await observations.accept(arrival(plan, "0.4", sent, received), never);
      assert.equal(answer?.ok, true);
    });
  }
  assert.equal((await sink.read(plan.key, long())).length, 1);
});

Deno.test("a new pod that is behind, with values that repeat: nothing that was acknowledged is lost to a later owner", () => {
  const plan = trialPlan("a", { rules: [] });
  let rows: ObservationRow[] = [];
  let pushed = 0;
  const term = (pushes: [string, number, string][]) => {
    const state = createLogState(plan, rows, { present: ONE_RUN, keepsRuns: true });
    for (const [pod, step, loss] of pushes) {
      const taken = state.take({ ...pushOf(plan, step, loss), pod: { name: pod, uid: pod } });
      state.commit(taken);
      rows = [...rows, ...taken.rows].sort((a, b) => a.time < b.time ? -1 : 1);
      pushed++;
    }
  };
  term([["one", 20, "0.7"], ["one", 21, "0.6"]]);
  term([["two", 10, "0.5"], ["two", 11, "0.5"], ["two", 12, "0.5"]]);
  term([["two", 13, "0.5"], ["two", 14, "0.5"], ["two", 15, "0.5"]]);
  assert.equal(rows.length, pushed);
});
