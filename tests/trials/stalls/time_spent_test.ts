/** Tests of the account of a job's time: it grows only, and never beyond the time that went by. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { type JobTimeSpent, jobTimeSpentSchema } from "../../../crds/job_time_spent.ts";
import {
  continued,
  countedFrom,
  isLost,
  keptTimeSpent,
  nextRunOf,
  openTimeSpent,
  spentOn,
  type TimeSpent,
} from "../../../trials/stalls/time_spent.ts";

const CREATED_MS = Date.parse("2026-01-01T00:00:00Z");
const PHASES = ["productive", "starting", "stalled", "lost"] as const;

const at = (monotonicMs: number) => ({ monotonicMs, wallMs: CREATED_MS + monotonicMs });
const opened = (kept?: JobTimeSpent, nowMs = 0, hasReported = false) =>
  openTimeSpent(kept, { now: at(nowMs), createdMs: CREATED_MS, hasReported });
const sumOf = ({ seconds }: TimeSpent) => PHASES.reduce((sum, on) => sum + seconds[on], 0);

Deno.test("time is counted from the first pod that is heard of, by what it went to", () => {
  let spent = countedFrom(spentOn(opened(), "productive", 5_000), 10_000);
  spent = spentOn(spent, "starting", 40_000, 0);
  spent = spentOn(countedFrom(spent, 1), "productive", 100_000, 60);
  spent = nextRunOf(spentOn(spent, "stalled", 130_000, 60), 150_000);
  spent = spentOn(countedFrom(spent, 140_000), "starting", 160_000, 50);
  assert.deepEqual([isLost(spent, 60), isLost(spent, 61), isLost(spent, -1)], [true, false, false]);
  assert.deepEqual(keptTimeSpent(spentOn(spent, "lost", 170_000, 60), at(200_000)), {
    productiveSeconds: 60,
    startingSeconds: 40,
    stalledSeconds: 30,
    lostSeconds: 10,
    step: 60,
    time: "2026-01-01T00:02:50Z",
  });
});

Deno.test("the next owner counts on from what is kept; without that nothing that it has not heard", () => {
  const kept = keptTimeSpent(
    spentOn(countedFrom(opened(), 0), "productive", 60_000, 9),
    at(60_000),
  );
  const next = spentOn(continued(opened(kept, 90_000, true)), "productive", 100_000, 10);
  assert.deepEqual([next.seconds.productive, isLost(next, 9)], [100, false]);
  const other = opened(kept, 90_000, true);
  assert.deepEqual([countedFrom(other, 0).untilMs, isLost(other, 9)], [60_000, true]);
  assert.equal(countedFrom(opened(undefined, 90_000, true), 0).untilMs, 90_000);
});

Deno.test("a time that is kept and is none, or from before the job, counts nothing twice", () => {
  const kept = { productiveSeconds: 1, startingSeconds: 0, stalledSeconds: 0, lostSeconds: 0 };
  for (const time of ["soon", "2027-01-01T00:00:00Z"]) {
    assert.equal(opened({ ...kept, time }, 50_000).fromMs, 50_000, time);
  }
  assert.equal(opened({ ...kept, time: "1970-01-01T00:00:00Z" }, 50_000).fromMs, 0);
  assert.equal(
    jobTimeSpentSchema.safeParse({ ...kept, productiveSeconds: -1, time: "" }).success,
    false,
  );
});

const step = fc.integer({ min: -1, max: 50 });
const event = fc.oneof(
  fc.record({ kind: fc.constant("heard" as const), agoMs: fc.integer({ min: 0, max: 60_000 }) }),
  fc.record({ kind: fc.constant("spent" as const), on: fc.constantFrom(...PHASES), step }),
  fc.record({ kind: fc.constant("run" as const) }),
  fc.record({
    kind: fc.constant("owner" as const),
    isSame: fc.boolean(),
    hasReported: fc.boolean(),
  }),
);

Deno.test("whatever happens, the sums only grow, and stay below the time that went by", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 90_000 }), event)), (events) => {
      let [nowMs, spent] = [0, opened()];
      let before = keptTimeSpent(spent, at(nowMs));
      for (const [passMs, it] of events) {
        nowMs += passMs;
        if (it.kind === "heard") spent = countedFrom(spent, nowMs - it.agoMs);
        if (it.kind === "spent") spent = spentOn(spent, it.on, nowMs, it.step);
        if (it.kind === "run") spent = nextRunOf(spent, nowMs);
        if (it.kind === "owner") {
          spent = opened(before, nowMs, it.hasReported);
          if (it.isSame) spent = continued(spent);
        }
        const kept = jobTimeSpentSchema.parse(keptTimeSpent(spent, at(nowMs)));
        for (const on of PHASES) assert.ok(kept[`${on}Seconds`] >= before[`${on}Seconds`]);
        assert.ok((kept.step ?? -1) >= (before.step ?? -1));
        assert.ok(sumOf(spent) * 1000 <= nowMs + 1e-3, `${sumOf(spent)} s of ${nowMs} ms`);
        before = kept;
      }
    }),
  );
});
