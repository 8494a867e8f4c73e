/** Tests of verdicts on silence: how long a job may be silent, by what its runs have taught. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { type JobPace, jobPaceSchema, PHASES } from "../../../crds/job_stall.ts";
import type { Sample } from "../../../crds/wire/sample.ts";
import { isNewsOfPace } from "../../../trials/stalls/pace_news.ts";
import {
  isWitness,
  limitMs,
  missedMs,
  type SetLimits,
  verdictOf,
} from "../../../trials/stalls/stall_verdict.ts";
import { stallsTogether } from "../../../trials/stalls/storm.ts";
import { beginRun, excused, reported, type Watch } from "../../../trials/stalls/silence_watch.ts";

/** A report, such as `12 s: step 3 Evaluating`; its time is of the owner's clock. */
function report(text: string): { atMs: number; sample: Sample } {
  const [time = "", rest = ""] = text.split(" s: ");
  const words = rest.split(" ");
  const valueOf = (name: string) => {
    const at = words.indexOf(name);
    return at < 0 ? undefined : words[at + 1];
  };
  const [step, progress, epoch] = ["step", "progress", "epoch"].map(valueOf);
  const phase = PHASES.find((it) => words.includes(it));
  const loss = words.includes("same") ? "1" : time;
  return {
    atMs: Number(time) * 1000,
    sample: {
      lastUpdatedTime: "2026-01-01T00:00:00Z",
      metrics: [
        { name: "loss", value: loss },
        ...(epoch === undefined ? [] : [{ name: "epoch", value: epoch }]),
      ],
      ...(step !== undefined && { step: Number(step) }),
      ...(progress !== undefined && { progressPercentage: Number(progress) }),
      ...(phase !== undefined && { phase }),
    },
  };
}

function watched(reports: readonly string[], begin: Watch = beginRun(0, undefined)): Watch {
  return reports.map(report).reduce((watch, it) => reported(watch, it.sample, it.atMs), begin);
}

/** Steps of a second each, from the one at that time on. */
const steps = (from: number, count: number, more = "") =>
  Array.from({ length: count }, (_, at) => `${from + at} s: step ${from + at} ${more}`);

const PACE = watched(steps(0, 10, "Training")).pace;

/** A run of a job that was listened to for three hours, and has no more to teach. */
const LISTENED = beginRun(0, { silences: {}, heardSeconds: 10_800 });

/** Reports, and how long the job may be silent after them, in seconds; undefined: it is not judged. */
const LIMITS: Readonly<Record<string, { reports: string[]; begin?: Watch; limit?: number }>> = {
  "a job that never reported is not judged": { reports: [] },
  "a first report is a start": { reports: ["5 s: step 0"], limit: 1800 },
  "a run of a job that reported before is judged from its start": {
    reports: [],
    begin: beginRun(0, PACE),
    limit: 1800,
  },
  "a slow start may be as slow again, twice over": {
    reports: ["0 s: step 0", "1200 s: step 1 Starting"],
    limit: 2400,
  },
  "the phase Starting has its own limit": {
    reports: [...steps(0, 3), "3 s: step 3 Starting"],
    limit: 1800,
  },
  "a phase alone is no second sign: its first step may compile": {
    reports: ["0 s: same Starting", "60 s: same Training"],
    limit: 1800,
  },
  "with the first step after it the program has started": {
    reports: ["0 s: same Starting", "60 s: same Training", "900 s: step 0 Training"],
    limit: 600,
  },
  "steps of a program that says its phase": { reports: steps(0, 10, "Training"), limit: 20 },
  "the first steps are no measure": { reports: steps(0, 5, "Training"), limit: 600 },
  "slow steps": {
    reports: Array.from({ length: 10 }, (_, at) => `${at * 30} s: step ${at} Training`),
    limit: 150,
  },
  "steps that became slow where nobody heard it": {
    reports: Array.from({ length: 10 }, (_, at) => `${at * 30} s: step ${at} Training`),
    begin: beginRun(0, PACE, true),
    limit: 150,
  },
  "reports of many steps": {
    reports: Array.from({ length: 10 }, (_, at) => `${at * 30} s: step ${at * 100} Training`),
    limit: 60,
  },
  "a first evaluation may take as long as is usual elsewhere": {
    reports: [...steps(0, 10, "Training"), "10 s: step 10 Evaluating"],
    limit: 600,
  },
  "later ones twice as long as the longest": {
    reports: [
      ...steps(0, 10, "Training"),
      "10 s: step 10 Evaluating",
      "60 s: step 10 Training",
      "61 s: step 11 Evaluating",
      "101 s: step 11 Training",
      "102 s: step 12 Evaluating",
    ],
    limit: 100,
  },
  "a program without phases, of which nothing is known": { reports: steps(0, 100), limit: 600 },
  "the same after two epochs": {
    reports: [...steps(0, 5, "epoch 0.5"), ...steps(5, 5, "epoch 1.5"), "10 s: step 10 epoch 2"],
    begin: LISTENED,
    limit: 60,
  },
  "two epochs within two hours say nothing of an evaluation": {
    reports: [...steps(0, 5, "epoch 0.5"), ...steps(5, 5, "epoch 1.5"), "10 s: step 10 epoch 2"],
    limit: 600,
  },
  "the same after two long silences": {
    reports: [...steps(0, 10), ...steps(40, 10), ...steps(80, 10)],
    begin: LISTENED,
    limit: 155,
  },
  "the first steps that a new owner hears are no measure": {
    reports: steps(0, 3, "Training"),
    begin: beginRun(0, PACE, true),
    limit: 600,
  },
  "a job that is done is not judged": { reports: [...steps(0, 10), "10 s: progress 100"] },
  "it is again when it goes on": {
    reports: [...steps(0, 10), "10 s: progress 100", "500 s: progress 40"],
    limit: 600,
  },
  "steps that go back after a restore are steps": {
    reports: [...steps(0, 10, "Training"), "10 s: step 2 Training"],
    limit: 20,
  },
};
for (const [what, { reports, begin, limit }] of Object.entries(LIMITS)) {
  Deno.test(`\`limitMs()\`: ${what}`, () => {
    const found = limitMs(watched(reports, begin));
    assert.equal(found === undefined ? undefined : Math.round(found / 1000), limit);
  });
}

/** Limits by policy, in seconds. */
const SET: Readonly<Record<string, { reports: string[]; set: SetLimits; limit: number }>> = {
  "`after` has the last word": {
    reports: steps(0, 10, "Training"),
    set: { afterMs: 90_000, startupMs: 1_800_000 },
    limit: 90,
  },
  "also where the job has taught a longer time, or nothing yet": {
    reports: ["0 s: step 0", "500 s: step 1"],
    set: { afterMs: 30_000, startupMs: 60_000 },
    limit: 30,
  },
  "a start has `startup`": {
    reports: ["5 s: step 0"],
    set: { afterMs: 90_000, startupMs: 300_000 },
    limit: 300,
  },
  "and no more where `after` is fixed": {
    reports: ["0 s: step 0", "1200 s: step 1 Starting"],
    set: { afterMs: 90_000, startupMs: 300_000 },
    limit: 300,
  },
  "but what the job has taught where it is not": {
    reports: ["0 s: step 0", "1200 s: step 1 Starting"],
    set: { afterMs: undefined, startupMs: 300_000 },
    limit: 2400,
  },
  "`startup` alone leaves what was learned": {
    reports: steps(0, 10, "Training"),
    set: { afterMs: undefined, startupMs: 60_000 },
    limit: 20,
  },
};
for (const [what, { reports, set, limit }] of Object.entries(SET)) {
  Deno.test(`\`limitMs()\` by policy: ${what}`, () => {
    assert.equal(Math.round((limitMs(watched(reports), set) ?? 0) / 1000), limit);
  });
}

Deno.test("`isWitness()`: a pod that is heard after half of the limit, and lately", () => {
  const watch = watched(steps(0, 10, "Training"));
  const seen = (heard: number, now: number, set?: SetLimits) =>
    isWitness(watch, heard * 1000, now * 1000, set);
  assert.equal(seen(10, 30), false, "it froze just after its step");
  assert.equal(seen(18.9, 30), false);
  assert.equal(seen(19, 30), true);
  assert.equal(seen(19, 44), false, "it has fallen silent since");
  assert.equal(seen(40, 44), true);
  const set = { afterMs: 60_000, startupMs: 60_000 };
  assert.deepEqual([seen(30, 44, set), seen(39, 44, set)], [false, true]);
});

Deno.test("`stallsTogether()`: five stalls within five minutes, and a fifth of those that are heard", () => {
  const minutes = (...them: readonly number[]) => them.map((it) => it * 60_000);
  const four = minutes(0, 1, 2, 3);
  assert.equal(stallsTogether(four, 4)(0), false, "four are too few");
  const five = minutes(0, 1, 2, 3, 4);
  assert.equal(stallsTogether(five, 25)(0), true);
  assert.equal(stallsTogether(five, 26)(0), false, "of too many");
  assert.equal(stallsTogether(minutes(0, 1, 2, 3, 9), 5)(0), false, "the last one is of its own");
  assert.equal(stallsTogether(minutes(0, 1, 2, 3, 9), 5)(minutes(4)[0] ?? 0), true);
});

Deno.test("what could not be heard teaches nothing, and may have been another phase", () => {
  const before = watched(steps(0, 10, "Training"));
  const after = excused(before, 500_000);
  assert.equal(limitMs(after), 600_000);
  const heard = watched(["900 s: step 10 Training"], after);
  assert.deepEqual([limitMs(heard), heard.pace], [600_000, before.pace], "it may be slower now");
  assert.equal(limitMs(watched(steps(901, 5, "Training"), heard)), 20_000);
});

Deno.test("`isNewsOfPace()`: what would change a verdict", () => {
  const pace = watched(steps(0, 10, "Training")).pace ?? { silences: {} };
  const { silences } = pace;
  const others: Readonly<Record<string, [boolean, JobPace]>> = {
    "another pod": [true, { ...pace, run: "01234567" }],
    "a longer evaluation": [true, { ...pace, silences: { ...silences, Evaluating: [900, 1] } }],
    "a slower step": [true, { ...pace, stepSeconds: 9 }],
    "more of the same": [false, { ...pace, heardSeconds: 1e6, stepSeconds: 1.5, epochs: 1 }],
    "a longer silence below the least limit": [
      false,
      { ...pace, silences: { ...silences, Training: [9, 99] } },
    ],
  };
  for (const [what, [isNews, next]] of Object.entries(others)) {
    assert.equal(isNewsOfPace(pace, next), isNews, what);
  }
  assert.equal(isNewsOfPace(undefined, pace), true);
});

Deno.test("`verdictOf()` says quiet from half of the limit on, and then stalled", () => {
  const watch = watched(steps(0, 10, "Training"));
  const after = (seconds: number) => verdictOf(watch, (9 + seconds) * 1000);
  assert.deepEqual([0, 9, 10, 19, 20].map(after), ["going", "going", "quiet", "quiet", "stalled"]);
  assert.equal(verdictOf(beginRun(0, undefined), 1e9), "unjudged");
});

Deno.test("`reported()`: a report that says nothing new is heard, and is no progress", () => {
  const watch = watched([...steps(0, 10), "10 s: step 10 same", "50 s: step 10 same"]);
  assert.deepEqual([watch.sinceMs, watch.heardMs], [10_000, 50_000]);
  const other = watched([...steps(0, 10), "10 s: step 10", "50 s: step 10"]);
  assert.equal(other.sinceMs, 50_000, "another value at the same step, as of an evaluation");
  const bare = watched(["0 s: progress 40 same", "50 s: progress 40 same"]);
  assert.equal(bare.sinceMs, 50_000, "a program may have no more to say");
});

const phases = fc.option(fc.constantFrom(...PHASES), { nil: undefined });
const histories = fc.array(
  fc.record({
    afterS: fc.double({ min: 0, max: 1e6, noNaN: true }),
    step: fc.option(fc.nat(), { nil: undefined }),
    phase: phases,
    progress: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
    epoch: fc.constantFrom("0.1", "1", "NaN", "-Inf", "1e308", "x"),
    isExcused: fc.boolean(),
  }),
  { maxLength: 40 },
);

Deno.test("whatever a program reports, its pace fits its schema and 256 bytes, and its limits are numbers", () => {
  fc.assert(fc.property(histories, (reports) => {
    let [watch, nowMs] = [beginRun(0, undefined), 0];
    for (const { afterS, step, phase, progress, epoch, isExcused } of reports) {
      nowMs += afterS * 1000;
      if (isExcused) watch = excused(watch, nowMs);
      watch = reported(watch, {
        lastUpdatedTime: "2026-01-01T00:00:00Z",
        metrics: [{ name: "epoch", value: epoch }],
        ...(step !== undefined && { step }),
        ...(phase !== undefined && { phase }),
        ...(progress !== undefined && { progressPercentage: progress }),
      }, nowMs);
    }
    if (watch.pace === undefined) return;
    const pace = { ...watch.pace, run: "01234567" };
    assert.deepEqual(jobPaceSchema.parse(JSON.parse(JSON.stringify(pace))), pace);
    assert.ok(JSON.stringify(pace).length <= 256, JSON.stringify(pace));
    const [most = 20_000, missed = 20_000] = [limitMs(watch), missedMs(watch)];
    assert.ok(most >= 20_000 && Number.isFinite(most) && missed <= most);
  }));
});
