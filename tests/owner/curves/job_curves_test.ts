/** Tests of the curves of one job: what is skipped, what gives way, and marks of pods. */
import assert from "node:assert/strict";
import {
  type CurveSample,
  CurvesOfJob,
  JOB_CURVE_LIMITS,
  PROGRESS,
  STEP,
} from "../../../owner/curves/job_curves.ts";

const NOW_MS = Date.parse("2026-03-01T12:00:00Z");
const POD = { name: "job-node-0-0-bcdfg", uid: "pod-1" };

/** A sample that many seconds ago. */
function sample(ago: number, metrics: Record<string, string>, progress?: number): CurveSample {
  return {
    timeMs: NOW_MS - ago * 1000,
    metrics: Object.entries(metrics).map(([name, value]) => ({ name, value })),
    progress,
  };
}

function curvesOf(samples: readonly CurveSample[], pod = POD): CurvesOfJob {
  const curves = new CurvesOfJob(128);
  curves.record(pod, samples, NOW_MS);
  return curves;
}

/** The last value of each curve. */
const lastOf = (curves: CurvesOfJob) =>
  Object.fromEntries(
    curves.curves({}).map(({ name, points }) => [name, points.at(-1)?.[3]]),
  );

const skipped = [
  "",
  "0x10",
  "twelve",
  "1 ",
  "1,5",
  "null",
];
for (const value of skipped) {
  Deno.test(`CurvesOfJob skips the value "${value}", and keeps the others of its sample`, () => {
    const curves = curvesOf([sample(1, { loss: value, lr: "1e-2" })]);
    assert.deepEqual(lastOf(curves), { lr: 0.01 });
    assert.equal(curves.record(POD, [sample(0, { loss: value })], NOW_MS), false);
  });
}

/** Values that are no finite numbers, and what stands for them. */
const nonFinite: Record<string, number> = {
  NaN: 0,
  nan: 0,
  Inf: 1,
  "-Infinity": -1,
  "1e400": 1,
};
for (const [value, want] of Object.entries(nonFinite)) {
  Deno.test(`CurvesOfJob keeps that and when a metric was ${value}, and no number of it`, () => {
    const curves = curvesOf([sample(2, { loss: "3", lr: "1" }), sample(1, { loss: value })]);
    const shown = curves.curves({}).map(({ name, isNonFinite, points }) => [
      name,
      isNonFinite,
      points.map(([timeMs, ...numbers]) => [NOW_MS - timeMs, ...numbers]),
    ]);
    assert.deepEqual(shown, [
      ["loss", undefined, [[2_000, 3, 3, 3]]],
      ["loss", true, [[1_000, want, want, want]]],
      ["lr", undefined, [[2_000, 1, 1, 1]]],
    ]);
    assert.ok(curves.record(POD, [sample(0, { loss: value })], NOW_MS));
  });
}

Deno.test("a metric that never was a number has a curve without points, and the times of that", () => {
  const curves = curvesOf([sample(1, { loss: "nan" })]);
  const shown = curves.curves({}).map(({ isNonFinite, points }) => [isNonFinite, points.length]);
  assert.deepEqual(shown, [[undefined, 0], [true, 1]]);
});

Deno.test("progress is a curve of its own beside a metric of the same name", () => {
  const curves = curvesOf([sample(1, { [PROGRESS]: "7", loss: "1" }, 40), sample(0, {}, NaN)]);
  const shown = curves.curves({}).map(({ name, isProgress, points }) => [
    name,
    isProgress,
    points.map((it) => it[3]),
  ]);
  assert.deepEqual(shown, [
    [PROGRESS, undefined, [7]],
    ["loss", undefined, [1]],
    [PROGRESS, true, [40]],
  ]);
  assert.equal(curves.curves({ metrics: [PROGRESS] }).length, 2);
  assert.deepEqual(curves.curves({ metrics: ["loss"] }).map(({ name }) => name), ["loss"]);
});

Deno.test("the step is a curve of its own, at the times of the others", () => {
  const at = (ago: number, step: number | undefined, loss: string) => ({
    ...sample(ago, { [STEP]: "9", loss }),
    step,
  });
  const curves = curvesOf([
    at(3, 100, "3"),
    at(2, 200, "2"),
    at(1, undefined, "1"),
    at(0, NaN, "1"),
  ]);
  const step = curves.curves({}).find(({ isStep }) => isStep);
  const loss = curves.curves({}).find(({ name }) => name === "loss");
  assert.deepEqual(step?.points.map(([time, , , last]) => [time, last]), [
    [loss?.points[0]?.[0], 100],
    [loss?.points[1]?.[0], 200],
  ]);
  const chosen = curves.curves({ metrics: [STEP] });
  assert.deepEqual(chosen.map(({ isStep }) => isStep), [undefined, true]);
  const only = new CurvesOfJob(128);
  assert.ok(only.record(POD, [{ timeMs: NOW_MS, metrics: [], step: 5 }], NOW_MS));
});

const times: Record<string, { timeMs: number; want: number | undefined }> = {
  "of an hour ago": { timeMs: NOW_MS - 3_600_000, want: NOW_MS - 3_600_000 },
  "that is in the future": { timeMs: NOW_MS + 3_600_000, want: NOW_MS },
  "of 1970": { timeMs: 1000, want: undefined },
  "before 1970": { timeMs: -1, want: undefined },
  "that is no number": { timeMs: NaN, want: undefined },
  "that is infinite": { timeMs: -Infinity, want: undefined },
};
for (const [sentence, { timeMs, want }] of Object.entries(times)) {
  Deno.test(`CurvesOfJob takes a sample of a time ${sentence} for what it is`, () => {
    const curves = curvesOf([{ ...sample(0, { loss: "1" }), timeMs }]);
    assert.equal(curves.curves({})[0]?.points[0]?.[0], want);
  });
}

/** The names m0, m1, ... as one sample. */
const named = (count: number, from = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${from + index}`, "1"]));
const namesOf = (curves: CurvesOfJob) => curves.curves({}).map(({ name }) => name);

Deno.test("a job that always reports too many metrics keeps the first ones whole", () => {
  const { metrics } = JOB_CURVE_LIMITS;
  const all = Array.from({ length: 300 }, (_, index) => sample(300 - index, named(metrics + 5)));
  const curves = curvesOf(all);
  assert.deepEqual(namesOf(curves), Object.keys(named(metrics)));
  // Of 300 s at a width of 4 s.
  for (const { points } of curves.curves({})) assert.ok(points.length >= 75);
});

Deno.test("a metric that is not pushed any more gives way to a new one, the one that was pushed last at the end", () => {
  const { metrics, idleSamples } = JOB_CURVE_LIMITS;
  const first = sample(900, { ...named(metrics), m1: "NaN" });
  const curves = curvesOf([first, sample(899, { m0: "2" })]);
  const later = Array.from({ length: idleSamples }, (_, index) => sample(800 - index, { m0: "3" }));
  curves.record(POD, later.slice(0, -3), NOW_MS);
  curves.record(POD, [sample(600, { late: "4" })], NOW_MS);
  assert.ok(!namesOf(curves).includes("late"));
  const { bytes } = curves;
  curves.record(POD, [sample(500, { late: "5" })], NOW_MS);
  assert.deepEqual(namesOf(curves), [
    ...Object.keys(named(metrics)).filter((name) => name !== "m1"),
    "late",
  ]);
  const [late, ...others] = curves.curves({ metrics: ["late"] });
  assert.deepEqual(others, [], "that another metric was no number is not said of this one");
  assert.deepEqual(late?.points.map(([, min, max]) => [min, max]), [[5, 5]]);
  assert.equal(curves.bytes, bytes + "late".length - "m1".length);
});

Deno.test("names are bounded: one without characters or with too many bytes is not kept", () => {
  const { nameBytes } = JOB_CURVE_LIMITS;
  const fits = "ü".repeat(nameBytes / 2);
  const curves = curvesOf([sample(1, { "": "1", [fits]: "2", [`${fits}x`]: "3" })]);
  assert.deepEqual(lastOf(curves), { [fits]: 2 });
});

Deno.test("a pod that takes the place of another is marked once", () => {
  const curves = curvesOf([sample(9, { loss: "1" })]);
  assert.deepEqual(curves.marks, []);
  const next = { name: "job-node-0-0-xxxxx", uid: "pod-2" };
  curves.record(next, [sample(5, { loss: "1" }), sample(4, { loss: "1" })], NOW_MS);
  curves.record(next, [sample(3, { loss: "1" })], NOW_MS);
  assert.deepEqual(curves.marks, [{ timeMs: NOW_MS - 5000, kind: "pod", text: next.name }]);
});

Deno.test("ranks that push in turn leave no marks of pods", () => {
  const curves = curvesOf([sample(9, { loss: "1" })]);
  for (let turn = 0; turn < 10; turn++) {
    for (const rank of [1, 2, 0]) {
      const pod = rank === 0 ? POD : { name: `job-node-0-${rank}-bcdfg`, uid: `pod-${rank}` };
      curves.record(pod, [sample(8 - turn / 2, { loss: "1" })], NOW_MS);
    }
    assert.deepEqual(curves.marks, []);
  }
});

Deno.test("a rank that was made anew stays marked when the others push on", () => {
  const curves = curvesOf([sample(9, { loss: "1" })]);
  const pods = [{ name: "job-node-0-1-bcdfg", uid: "pod-2" }, POD, {
    name: "job-node-0-1-xxxxx",
    uid: "pod-3",
  }, POD];
  pods.forEach((pod, index) => {
    curves.record(pod, [sample(8 - index, { loss: "1" })], NOW_MS);
  });
  assert.deepEqual(curves.marks.map(({ text }) => text), ["job-node-0-1-xxxxx"]);
});

Deno.test("mark() says whether a mark is new, and takes none without a time", () => {
  const curves = new CurvesOfJob(128);
  const gap = { timeMs: NOW_MS + 1, kind: "gap", text: "another owner" } as const;
  assert.equal(curves.mark(gap, NOW_MS), true);
  assert.equal(curves.mark(gap, NOW_MS), false);
  assert.equal(curves.mark({ ...gap, timeMs: NaN }, NOW_MS), false);
  assert.deepEqual(curves.marks, [{ ...gap, timeMs: NOW_MS }]);
});

Deno.test("a job takes at most as many bytes as its bounds say", () => {
  const curves = new CurvesOfJob(128);
  for (let turn = 0; turn < 1000; turn++) {
    const pod = { name: `p${turn}`, uid: `u${turn}` };
    curves.record(pod, [sample(2000 - turn, named(50, turn % 7), 1)], NOW_MS);
    curves.mark({ timeMs: turn, kind: "stopped", text: "x".repeat(5000) }, NOW_MS);
  }
  assert.ok(curves.bytes < 160_000, `${curves.bytes} bytes`);
  assert.equal(curves.marks.length, 64);
  assert.equal(namesOf(curves).length, JOB_CURVE_LIMITS.metrics + 1);
});

/** Of each point of a metric its time, its last value and the step at which that was pushed. */
function placed(curves: CurvesOfJob, name: string, points = 128) {
  const all = curves.curves({ points });
  const steps = new Map(all.find(({ isStep }) => isStep)?.points.map((it) => [it[0], it[3]]));
  return all.find((it) => it.name === name && !it.isStep && !it.isNonFinite)
    ?.points.map(([timeMs, , , last, step = steps.get(timeMs)]) => [last, step]);
}

Deno.test("a metric that is pushed seldom has the step at which it was pushed, however wide buckets are", () => {
  const curves = new CurvesOfJob(16);
  for (let step = 1; step <= 1_000; step++) {
    const isMeasured = step % 100 === 0;
    const metrics = { loss: String(step), ...(isMeasured && { "val/loss": String(step) }) };
    const { timeMs } = sample(2_000 - step, {});
    // Each on its own, as `run.log()` of two places does.
    for (const one of Object.entries(metrics)) {
      curves.record(POD, [{ ...sample(0, Object.fromEntries([one])), timeMs, step }], NOW_MS);
    }
  }
  for (const points of [16, 5, 1]) {
    const found = placed(curves, "val/loss", points) ?? [];
    assert.ok(found.length > 0);
    for (const [last, step] of found) assert.equal(step, last);
    for (const [last, step] of placed(curves, "loss", points) ?? []) assert.equal(step, last);
  }
});

Deno.test("a metric that stops to come keeps the step of its last sample in the bucket", () => {
  const at = (ms: number, metrics: Record<string, string>, step: number) => ({
    ...sample(0, metrics),
    timeMs: NOW_MS - 10_000 + ms,
    step,
  });
  const curves = curvesOf([
    at(0, { loss: "1", lr: "1" }, 1),
    at(10, { loss: "2", lr: "2" }, 2),
    at(20, { loss: "3" }, 3),
    at(30, { loss: "NaN" }, 4),
    at(9_000, { loss: "5", lr: "5" }, 5),
  ]);
  assert.deepEqual(placed(curves, "lr"), [[2, 2], [5, 5]]);
  assert.deepEqual(placed(curves, "loss"), [[3, 3], [5, 5]]);
});
