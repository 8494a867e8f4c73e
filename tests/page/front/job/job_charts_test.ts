/** Tests of the charts of jobs: which there are, how far their axis reaches, and the time of a part of it. */
import assert from "node:assert/strict";
import type { Curve } from "../../../../page/front/feed/view_answers_read.ts";
import {
  chartsOf,
  type ShownJob,
  timesOf,
  wholeOf,
} from "../../../../page/front/job/job_charts.ts";
import { curveOf } from "./curve.ts";

const curve = (name: string, points: [ms: number, value: number][], flags: Partial<Curve> = {}) =>
  curveOf(name, points.map(([ms, value]) => [ms, value, value, value]), flags);
const job = (key: string, curves: Curve[], markMs: number[] = []): ShownJob => ({
  key,
  label: key,
  curves: {
    key,
    curves,
    marks: markMs.map((timeMs) => ({ timeMs, kind: "restarted", text: "" })),
  },
});

const first = job("one", [
  curve("loss", [[1_000, 3], [2_000, 2]]),
  curve("loss", [[3_000, 0]], { isNonFinite: true }),
  curve("progress", [[1_000, 10]]),
  curve("progress", [[1_000, 10]], { isProgress: true }),
  curve("step", [[1_000, 100], [2_000, 200], [3_000, 300]], { isStep: true }),
], [500, 4_000]);
const second = job("two", [
  curve("accuracy", [[11_000, 1]]),
  curve("loss", [[11_000, 1], [12_000, 1]]),
  curve("step", [[11_000, 50], [12_000, 900]], { isStep: true }),
], [99_000]);

Deno.test("there is a chart of each metric and of the progress, and none of steps or of the time left", () => {
  const charts = chartsOf([first, second], "clock");
  assert.deepEqual(
    charts.map(({ kind, title, lines }) => [kind, title, lines.map(({ key }) => key)]),
    [
      ["metric", "loss", ["one", "two"]],
      ["metric", "progress", ["one"]],
      ["metric", "accuracy", ["two"]],
      ["progress", "Progress, %", ["one"]],
    ],
  );
  const [loss] = charts;
  assert.deepEqual(loss?.lines.map(({ nonFinite }) => nonFinite.length), [1, 0]);
  assert.deepEqual(loss?.lines.map(({ startMs }) => startMs), [1_000, 11_000]);
  const without = job("three", [curve("loss", [[1, 1]]), curve("lr", [[1, 1]])]);
  const stepped = chartsOf([first, without], "step").map((
    { title, lines },
  ) => [title, lines.length]);
  assert.deepEqual(stepped, [["loss", 1], ["progress", 1], ["Progress, %", 1]]);
});

Deno.test("finer points stand in place of the coarse ones of the same curve", () => {
  const curves = [
    curve("loss", [[1_000, 3], [1_500, 5], [2_000, 2]], { source: "log" }),
    curve("progress", [[1_000, 9]], { source: "curve" }),
  ];
  const finer = { curves, times: { fromMs: 1_000, toMs: 2_000 } };
  const [loss, progress] = chartsOf([{ ...first, finer }], "step");
  assert.deepEqual([loss?.lines[0]?.points.length, loss?.lines[0]?.source], [3, "log"]);
  assert.equal(progress?.lines[0]?.points[0]?.[3], 10);
});

Deno.test("all charts have one axis: as far as any value reaches, and what happened to the job", () => {
  assert.deepEqual(wholeOf([first, second], "clock"), { from: 500, to: 12_000 });
  assert.deepEqual(wholeOf([first, second], "elapsed"), { from: -500, to: 3_000 });
  assert.deepEqual(wholeOf([first, second], "step"), { from: 50, to: 900 });
  assert.equal(wholeOf([job("none", [])], "clock"), undefined);
  assert.equal(wholeOf([job("none", [curve("loss", [[1, 1]])])], "step"), undefined);
});

Deno.test("a part of the axis is a time of each job, open where it reaches to the last step", () => {
  const { curves } = first;
  assert.deepEqual(timesOf(curves, { from: 5, to: 9 }, "clock"), { fromMs: 5, toMs: 9 });
  assert.deepEqual(timesOf(curves, { from: 5, to: 9 }, "elapsed"), { fromMs: 1_005, toMs: 1_009 });
  assert.deepEqual(timesOf(curves, { from: 90, to: 210 }, "step"), { fromMs: 1_000, toMs: 2_999 });
  assert.deepEqual(timesOf(curves, { from: 150, to: 999 }, "step"), { fromMs: 2_000 });
  assert.equal(timesOf(curves, { from: 400, to: 500 }, "step"), undefined);
});
