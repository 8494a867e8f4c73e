/** Tests of decisions on stalled jobs by their policy: when they are restarted, stopped, or left. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { JobRestart, RestartBudget } from "../../../crds/job_restart.ts";
import { DEFAULT_STALL_POLICY, type StallPolicy } from "../../../crds/stall_policy.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import {
  hasTurn,
  type StallAction,
  stallActionOf,
  type StallFacts,
} from "../../../trials/stalls/stall_action.ts";

const NOW = Date.parse("2026-01-02T00:00:00Z");
const MINUTE = 60_000;
const at = (minutes: number) => rfc3339(NOW + minutes * MINUTE);

const policy = (more: Partial<StallPolicy> = {}): StallPolicy => ({
  ...DEFAULT_STALL_POLICY,
  action: "Restart",
  ...more,
});

/** A stall that is restarted. */
const FACTS: StallFacts = {
  policy: policy(),
  stall: { since: at(-1), message: "no step after 812" },
  step: 812,
  stepsPerReport: 5,
  nodes: ["node-a"],
  hasWitness: true,
  isStarting: false,
  isStorm: false,
  checkpoint: { step: 800, time: at(-70) },
  last: undefined,
  hasTurn: true,
  nowMs: NOW,
};

const restarted = (budget: Partial<RestartBudget>, more: Partial<JobRestart> = {}): JobRestart => ({
  count: 1,
  reason: "Stalled",
  message: "",
  time: at(-60),
  endTime: at(-59),
  budget: { spent: 1, checkpoint: 800, times: [at(-60)], step: 900, stalls: 1, ...budget },
  ...more,
});

const FIRST = { spent: 1, checkpoint: 800, times: [at(0)], step: 812, stalls: 1 };
const RESTART: StallAction = { kind: "restart", budget: FIRST };
const held = (why: string): StallAction => ({ kind: "held", why });
const limit = (why: string): StallAction => ({ kind: "limit", why });
const UNHEARD = held("none of its pods is heard");
const STORM = held("many jobs are stalled together");

const CASES: Record<string, { facts: Partial<StallFacts>; want: StallAction }> = {
  "a job whose pod is heard and makes no step is restarted": { facts: {}, want: RESTART },
  "Notify does nothing": {
    facts: { policy: policy({ action: "Notify" }) },
    want: { kind: "notify" },
  },
  "Ignore does nothing": {
    facts: { policy: policy({ action: "Ignore" }) },
    want: { kind: "notify" },
  },
  "Stop stops": { facts: { policy: policy({ action: "Stop" }) }, want: { kind: "stop" } },
  "Stop needs no checkpoint and no budget": {
    facts: {
      policy: policy({ action: "Stop", maxRestarts: 0 }),
      checkpoint: undefined,
      hasTurn: false,
    },
    want: { kind: "stop" },
  },
  "a job of which nobody is heard is not restarted": {
    facts: { hasWitness: false },
    want: UNHEARD,
  },
  "nor stopped": {
    facts: { policy: policy({ action: "Stop" }), hasWitness: false },
    want: UNHEARD,
  },
  "nor by a time below ten minutes": {
    facts: { policy: policy({ afterMs: 599_999 }), hasWitness: false },
    want: UNHEARD,
  },
  "but by one of ten minutes": {
    facts: { policy: policy({ afterMs: 600_000 }), hasWitness: false },
    want: RESTART,
  },
  "a storm holds restarts": { facts: { isStorm: true }, want: STORM },
  "a storm holds stops, also by a time": {
    facts: { policy: policy({ action: "Stop", afterMs: 600_000 }), isStorm: true },
    want: STORM,
  },
  "a job without a checkpoint is not restarted": {
    facts: { checkpoint: undefined },
    want: held("it has reported no checkpoint"),
  },
  "unless its policy says so": {
    facts: { policy: policy({ needsCheckpoint: false }), checkpoint: undefined },
    want: { kind: "restart", budget: { spent: 1, times: [at(0)], step: 812, stalls: 1 } },
  },
  "a restart counts those since the checkpoint": {
    facts: { last: restarted({ spent: 2 }) },
    want: {
      kind: "restart",
      budget: { spent: 3, checkpoint: 800, times: [at(-60), at(0)], step: 812, stalls: 1 },
    },
  },
  "no more than maxRestarts": {
    facts: { last: restarted({ spent: 3 }) },
    want: limit("it was restarted 3 times since its checkpoint of step 800"),
  },
  "one of one, without a checkpoint": {
    facts: {
      policy: policy({ needsCheckpoint: false, maxRestarts: 1 }),
      checkpoint: undefined,
      last: restarted({ spent: 1, checkpoint: undefined }),
    },
    want: limit("it was restarted once"),
  },
  "none of none": {
    facts: { policy: policy({ maxRestarts: 0 }) },
    want: limit("maxRestarts is 0"),
  },
  "a checkpoint of a later step begins anew": {
    facts: { last: restarted({ spent: 3 }), checkpoint: { step: 850, time: at(-70) }, step: 870 },
    want: {
      kind: "restart",
      budget: { spent: 1, checkpoint: 850, times: [at(-60), at(0)], step: 870, stalls: 1 },
    },
  },
  "one of the same step, or a lower one, does not, whenever it was saved": {
    facts: { last: restarted({ spent: 2 }), checkpoint: { step: 790, time: at(-30) } },
    want: {
      kind: "restart",
      budget: { spent: 3, checkpoint: 800, times: [at(-60), at(0)], step: 812, stalls: 1 },
    },
  },
  "and the limit counts from the highest": {
    facts: { last: restarted({ spent: 3 }), checkpoint: { step: 800, time: at(-30) } },
    want: limit("it was restarted 3 times since its checkpoint of step 800"),
  },
  "but one that was saved since a person's restart begins anew, at whatever step": {
    facts: {
      last: restarted({ spent: 3 }, { user: "alice" }),
      checkpoint: { step: 700, time: at(-30) },
    },
    want: {
      kind: "restart",
      budget: { spent: 1, checkpoint: 700, times: [at(-60), at(0)], step: 812, stalls: 1 },
    },
  },
  "a restart by a person counts nothing": {
    facts: {
      last: restarted({ spent: 2 }, { count: 9, user: "alice", reason: "Asked", time: at(-5) }),
    },
    want: {
      kind: "restart",
      budget: { spent: 3, checkpoint: 800, times: [at(-60), at(0)], step: 812, stalls: 1 },
    },
  },
  "after a person's first restart nothing is spent": {
    facts: { last: { ...restarted({}, { user: "alice" }), budget: undefined } },
    want: RESTART,
  },
  "ten within a day are enough, whatever was saved": {
    facts: {
      last: restarted({ times: Array.from({ length: 10 }, (_, it) => at(it - 1439)) }),
      checkpoint: { step: 5000, time: at(-1) },
    },
    want: limit("it was restarted 10 times within a day"),
  },
  "nine within a day and one before are not": {
    facts: {
      last: restarted({ times: [-1441, -9, -8, -7, -6, -5, -4, -3, -2, -1].map(at) }),
      checkpoint: { step: 900, time: at(-1) },
      step: 1000,
    },
    want: {
      kind: "restart",
      budget: {
        spent: 1,
        checkpoint: 900,
        times: [-9, -8, -7, -6, -5, -4, -3, -2, -1, 0].map(at),
        step: 1000,
        stalls: 1,
      },
    },
  },
  "a second stall within a report of the same step is restarted": {
    facts: { last: restarted({ step: 815 }) },
    want: {
      kind: "restart",
      budget: { spent: 2, checkpoint: 800, times: [at(-60), at(0)], step: 815, stalls: 2 },
    },
  },
  "a third one is not": {
    facts: { last: restarted({ step: 817, stalls: 2 }), nodes: ["node-a", "node-b"] },
    want: limit("it has stalled 3 times at step 812, now on node-a, node-b"),
  },
  "one a step further is": {
    facts: { last: restarted({ step: 818, stalls: 2 }) },
    want: {
      kind: "restart",
      budget: { spent: 2, checkpoint: 800, times: [at(-60), at(0)], step: 812, stalls: 1 },
    },
  },
  "a program without steps is not told to stall at one": {
    facts: { step: undefined, last: restarted({ step: undefined, stalls: 5 }) },
    want: {
      kind: "restart",
      budget: { spent: 2, checkpoint: 800, times: [at(-60), at(0)], stalls: 5 },
    },
  },
  "a restart that is under way is the only one": {
    facts: { last: restarted({}, { endTime: undefined }) },
    want: { kind: "wait" },
  },
  "a run that has made no step yet has the time of a start": {
    facts: { last: restarted({}, { endTime: at(-29) }), isStarting: true },
    want: { kind: "wait" },
  },
  "and no more": {
    facts: { last: restarted({}, { endTime: at(-31) }), isStarting: true },
    want: {
      kind: "restart",
      budget: { spent: 2, checkpoint: 800, times: [at(-60), at(0)], step: 812, stalls: 1 },
    },
  },
  "who has no turn waits": { facts: { hasTurn: false }, want: { kind: "wait" } },
  "who may not is told so, turn or not": {
    facts: { hasTurn: false, last: restarted({ spent: 3 }) },
    want: limit("it was restarted 3 times since its checkpoint of step 800"),
  },
};

for (const [sentence, { facts, want }] of Object.entries(CASES)) {
  Deno.test(`\`stallActionOf()\`: ${sentence}`, () => {
    assert.deepEqual(stallActionOf({ ...FACTS, ...facts }), want);
  });
}

Deno.test("`hasTurn()` allows six restarts a minute, two of a namespace", () => {
  const begun = (text: string) =>
    text.split(" ").map((it, index) => ({ namespace: it, atMs: index }));
  assert.equal(hasTurn([], "a", 0), true);
  assert.equal(hasTurn(begun("a"), "a", 10), true);
  assert.equal(hasTurn(begun("a a"), "a", 10), false);
  assert.equal(hasTurn(begun("a a"), "b", 10), true);
  assert.equal(hasTurn(begun("a a b b c c"), "d", 10), false);
  assert.equal(hasTurn(begun("a a b b c c"), "d", 60_000), true);
  assert.equal(hasTurn(begun("a a b b c c"), "a", 60_000), true);
});

Deno.test("however often a job stalls, and whatever is saved, no more restarts than its policy allows", () => {
  const turn = fc.record({
    minutes: fc.integer({ min: 1, max: 400 }),
    saves: fc.boolean(),
    steps: fc.integer({ min: -20, max: 20 }),
    byPerson: fc.boolean(),
  });
  fc.assert(fc.property(
    fc.array(turn, { maxLength: 60 }),
    fc.integer({ min: 0, max: 20 }),
    (turns, maxRestarts) => {
      let [nowMs, step, count] = [NOW, 812, 0];
      const state: { last?: JobRestart } = {};
      let checkpoint = { step: 800, time: rfc3339(NOW) };
      const own: number[] = [];
      // Those since a checkpoint of a higher step, or since the first one after a person's restart.
      let [sinceSaved, top, isAfterPerson, isSaved] = [0, -1, false, false];
      for (const { minutes, saves, steps, byPerson } of turns) {
        nowMs += minutes * MINUTE;
        step = Math.max(0, step + steps);
        if (saves) {
          checkpoint = { step, time: rfc3339(nowMs - 1000) };
          isSaved = true;
        }
        const { last } = state;
        const base = { count: ++count, reason: "Stalled", message: "", time: rfc3339(nowMs) };
        const endTime = rfc3339(nowMs);
        if (byPerson) {
          [isAfterPerson, isSaved] = [true, false];
          state.last = { ...base, endTime, user: "alice", budget: last?.budget };
          continue;
        }
        const action = stallActionOf({
          ...FACTS,
          policy: policy({ maxRestarts }),
          ...{ step, checkpoint, last, nowMs },
        });
        if (action.kind !== "restart") continue;
        state.last = { ...base, endTime, budget: action.budget };
        own.push(nowMs);
        const isAnew = checkpoint.step > top || (isAfterPerson && isSaved);
        if (isAnew) [sinceSaved, top] = [0, checkpoint.step];
        sinceSaved += 1;
        isAfterPerson = false;
        assert.ok(sinceSaved <= maxRestarts);
        assert.ok(own.filter((it) => it > nowMs - 24 * 60 * MINUTE).length <= 10);
      }
    },
  ));
});
