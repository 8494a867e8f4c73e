/** Property test: an owner judges a log live as any other owner that replays it. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Push } from "../../../crds/wire/push.ts";
import { createLogState } from "../../../owner/observations/log_state.ts";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import type { ObservationRow } from "../../../trials/recording/observation_row.ts";
import { ONE_RUN, type PresentRun } from "../../../trials/recording/present_run.ts";
import { sortableTime } from "../../../trials/recording/row_time.ts";
import { katibsLog, trialPlan, withObservations } from "./observations_fixture.ts";

const START_MS = Date.UTC(2026, 0, 1);
const PODS = 4;
const never = new AbortController().signal;

const rule = fc.record({
  name: fc.constantFrom("loss", "acc"),
  value: fc.constantFrom("0.3", "0.6", "inf"),
  comparison: fc.constantFrom("less", "greater", "equal"),
  startStep: fc.nat({ max: 4 }),
});
/** A rule of a log that keeps steps. */
const anyRule = fc.tuple(rule, fc.constantFrom(undefined, undefined, "step"))
  .map(([one, unit]) => ({ ...one, unit }));
/** A job's own rule. */
const ownRule = fc.record({
  name: fc.constantFrom("loss", "acc"),
  value: fc.constantFrom("0.3", "0.6", "inf"),
  comparison: fc.constantFrom("less", "greater", "equal", "atLeast", "atMost", "nan"),
  startStep: fc.nat({ max: 4 }),
  unit: fc.constantFrom("report", "step"),
  compare: fc.constantFrom("newest", "newest", "best"),
  lasting: fc.boolean(),
});
const value = fc.constantFrom("0.1", "0.3", "0.5", "0.9", "NaN", "inf", "high");

/** A pod pushes; its clock goes on, or stands, or is put back. The answer may be lost, and the push come again. */
const push = fc.record({
  kind: fc.constant("push" as const),
  pod: fc.nat({ max: PODS - 1 }),
  tick: fc.constantFrom(1000, 1000, 1000, 1, 0, -1500),
  loss: value,
  acc: fc.option(value, { nil: undefined }),
  step: fc.option(fc.nat({ max: 6 }), { nil: undefined }),
  tries: fc.integer({ min: 1, max: 2 }),
});
const happening = fc.oneof(
  { weight: 12, arbitrary: push },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("owner" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pod" as const) }) },
);
const isSome = { minLength: 1, maxLength: 3 };
const history = fc.record({
  judged: fc.oneof(
    fc.record({ rules: fc.array(anyRule, isSome) }),
    fc.record({
      rules: fc.array(ownRule, isSome),
      stopsAt: fc.constantFrom("all" as const, "any" as const),
      key: fc.constant({ kind: "job" as const, namespace: "ml", name: "a", uid: "a" }),
    }),
  ),
  happenings: fc.array(happening, { maxLength: 40 }),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

const timeOf = (ms: number) => new Date(START_MS + ms).toISOString();
const byTime = (one: ObservationRow, other: ObservationRow) =>
  (sortableTime(one.time) ?? "") < (sortableTime(other.time) ?? "") ? -1 : 1;

/** Tells a history to owners of one log, and checks after each write that another owner would judge as they do. */
function tell({ judged, happenings }: History): void {
  const plan = trialPlan("a", judged);
  const clocks = Array.from({ length: PODS }, (_, pod) => 17 * pod);
  const log: ObservationRow[] = [];
  let runs = 0;
  let nowMs = 0;
  const read = () =>
    createLogState(plan, log.toSorted(byTime), { present: ONE_RUN, keepsRuns: true });
  let state = read();
  for (const one of happenings) {
    if (one.kind === "owner") state = read();
    if (one.kind === "pod") {
      // All pods are replaced.
      runs += 1;
    }
    if (one.kind !== "push") continue;
    const { pod } = one;
    clocks[pod] = (clocks[pod] ?? 0) + one.tick;
    nowMs = Math.max(nowMs, clocks[pod]);
    const metrics = [{ name: "loss", value: one.loss }];
    if (one.acc !== undefined) metrics.push({ name: "acc", value: one.acc });
    const pushed: Push = {
      job: plan.job,
      pod: { name: "p", uid: `pod-${pod}-${runs}` },
      trainerStatus: { metrics, step: one.step, lastUpdatedTime: timeOf(clocks[pod]) },
      receivedMs: START_MS + nowMs,
    };
    for (let tries = 0; tries < one.tries; tries++) {
      const taken = state.take(pushed);
      log.push(...taken.rows);
      state.commit(taken);
    }
    const replayed = read();
    assert.equal(state.verdict?.time, replayed.verdict?.time);
    assert.equal(state.verdict?.metric, replayed.verdict?.metric);
    assert.deepEqual(state.unreported(), replayed.unreported());
    // What comes after a decision is not judged any more.
    if (state.verdict !== undefined) return;
  }
}

/** Seeds of the histories. */
const SEEDS = [1, 20261122];

for (const seed of SEEDS) {
  Deno.test(`owners judge a log of ours live as on replay, with any pods and clocks: seed ${seed}`, () => {
    fc.assert(fc.property(history, tell), { numRuns: 1500, seed });
  });
}

/** One of Katib's logs: the primary pod pushes or is replaced, others write, a minute passes, the owner changes. */
const katibsHappening = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("push" as const), loss: value }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("foreign" as const), loss: value }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pod" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("minute" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("owner" as const) }) },
);
const katibsHistory = fc.record({
  rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
  owners: fc.array(fc.array(katibsHappening, { maxLength: 10 }), { minLength: 1, maxLength: 3 }),
});

async function tellKatibs(
  { rules, owners }: typeof katibsHistory extends fc.Arbitrary<infer T> ? T : never,
): Promise<void> {
  const plan = trialPlan("a", { rules });
  const sink: ObservationSink = { ...katibsLog() };
  let present: PresentRun = { run: "pod-0", since: sortableTime(timeOf(0)) ?? "" };
  let second = 0;
  let pods = 0;
  const replayed = async () => {
    const rows = await sink.read(plan.key, never);
    return createLogState(plan, rows, { present, keepsRuns: false }).verdict;
  };
  for (const happenings of owners) {
    let hasStopped = false;
    await withObservations({ plans: [plan], sink, presentRun: () => present }, async (fixture) => {
      const { observations, clock, stops, settle } = fixture;
      await settle();
      for (const one of happenings) {
        second += 1;
        if (one.kind === "pod") {
          pods += 1;
          present = { run: `pod-${pods}`, since: sortableTime(timeOf(second * 1000)) ?? "" };
        }
        if (one.kind === "foreign") {
          const row = { time: timeOf(second * 1000 - 500), name: "loss", value: one.loss };
          await sink.append(plan.key, [row], never);
        }
        if (one.kind === "push") {
          const answer = await observations.accept({
            job: plan.job,
            pod: { name: "p", uid: present.run },
            trainerStatus: {
              metrics: [{ name: "loss", value: one.loss }],
              lastUpdatedTime: timeOf(second * 1000),
            },
            receivedMs: START_MS + second * 1000,
          }, never);
          assert.equal(answer?.ok, true);
          // What is stopped stays so, and nothing more is recorded that could be judged.
          const isNews = answer.ok && answer.control !== undefined && !hasStopped;
          if (isNews) assert.ok(await replayed() !== undefined);
        }
        if (one.kind === "minute") await clock.advance(66_000);
        await settle();
        // A stop that was requested stays; without one the log requires none once it was read again.
        if (stops.length > 0) {
          if (!hasStopped) assert.ok(await replayed() !== undefined);
          hasStopped = true;
        } else if (one.kind === "minute") assert.equal(await replayed(), undefined);
      }
    });
    if (hasStopped) return;
  }
}

for (const seed of SEEDS) {
  Deno.test(`owners judge Katib's log live as on replay, whoever writes to it: seed ${seed}`, async () => {
    await fc.assert(fc.asyncProperty(katibsHistory, tellKatibs), { numRuns: 300, seed });
  });
}
