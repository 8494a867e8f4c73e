/** Tests of what charts are drawn from: tables of curves, smoothing, sparklines. */
import assert from "node:assert/strict";
import type { CurvePoint } from "../../../../crds/wire/shown_curves.ts";
import {
  type CurveLine,
  type CurveScale,
  smoothed,
} from "../../../../page/front/charts/curve_rows.ts";
import { curveTable, nearest, valueExtent } from "../../../../page/front/charts/curve_table.ts";
import { decadeSteps } from "../../../../page/front/charts/axis_scale.ts";
import { jobRuns } from "../../../../page/front/charts/job_runs.ts";
import { sparkPath } from "../../../../page/front/charts/line_paths.ts";

const smoothCases: Record<
  string,
  { values: (number | null)[]; weight: number; want: (number | null)[] }
> = {
  "nothing": { values: [], weight: 0.5, want: [] },
  "no smoothing": { values: [1, null, 3], weight: 0, want: [1, null, 3] },
  "one value, which it leaves": { values: [4], weight: 0.9, want: [4] },
  "equal values, which it leaves": { values: [2, 2, 2], weight: 0.6, want: [2, 2, 2] },
  "a step": { values: [0, 3], weight: 0.5, want: [0, 2] },
  "a break, over which it goes on": { values: [0, null, 3], weight: 0.5, want: [0, null, 2] },
};
for (const [sentence, { values, weight, want }] of Object.entries(smoothCases)) {
  Deno.test(`smoothed() of ${sentence}`, () => {
    const got = smoothed(values, weight).map((it) => it === null ? null : Number(it.toFixed(9)));
    assert.deepEqual(got, want);
  });
}

const CLOCK = { isLog: false, weight: 0, axis: "clock" } as const;
const STEPS = { ...CLOCK, axis: "step" } as const;

/** A line; `breaks` are times at which it was restarted, `steps` where they are known. */
function line(
  points: CurvePoint[],
  { breaks = [], steps = [], nonFinite = [], startMs = 0 }: {
    breaks?: number[];
    steps?: CurvePoint[];
    nonFinite?: CurvePoint[];
    startMs?: number;
  } = {},
): CurveLine {
  const marks = breaks.map((timeMs) => ({ timeMs, kind: "restarted", text: "" }));
  return { points, nonFinite, runs: jobRuns(marks, steps), startMs };
}
const point = (timeMs: number, value: number): CurvePoint => [timeMs, value, value, value];
/** Places and last values of the curves, `text` for what was no number. */
const shown = (lines: CurveLine[], scale: CurveScale) => {
  const { places, curves } = curveTable(lines, scale);
  return curves.map(({ last, texts }) =>
    places.flatMap((place, at) => {
      const value = texts[at] ?? last[at];
      return value === undefined ? [] : [[place, value]];
    })
  );
};

Deno.test("curveTable() puts curves of different times over one axis", () => {
  const { places, curves } = curveTable([
    line([[1000, 1, 3, 2], [3000, 4, 6, 5]]),
    line([[2000, 7, 9, 8]]),
  ], CLOCK);
  assert.deepEqual(places, [1, 2, 3]);
  assert.deepEqual(curves.map(({ line, last, min, max }) => ({ line, last, min, max })), [
    { line: 0, last: [2, undefined, 5], min: [1, undefined, 4], max: [3, undefined, 6] },
    {
      line: 1,
      last: [undefined, 8, undefined],
      min: [undefined, 7, undefined],
      max: [undefined, 9, undefined],
    },
  ]);
});

/** Points and breaks of a curve, and the columns of its last values over time. */
const broken: Record<string, { points: CurvePoint[]; breaks: number[]; want: unknown[] }> = {
  "between two points": {
    points: [point(1000, 1), point(3000, 2)],
    breaks: [500, 2000, 4000],
    want: [[1, 1], [2, null], [3, 2]],
  },
  "at the time of a point": {
    points: [point(1000, 1), point(3000, 2)],
    breaks: [3000],
    want: [[1, 1], [2, null], [3, 2]],
  },
  "in a bucket, which may be of both runs": {
    points: [point(1000, 1), point(2000, 2), point(3000, 3)],
    breaks: [2500],
    want: [[1, 1], [1.5, null], [2, 2], [2.5, null], [3, 3]],
  },
};
for (const [where, { points, breaks, want }] of Object.entries(broken)) {
  Deno.test(`curveTable() breaks a curve ${where}`, () => {
    assert.deepEqual(shown([line(points, { breaks })], CLOCK), [want]);
  });
}

Deno.test("curveTable() counts time from each curve's own start", () => {
  const lines = [
    line([point(5000, 1)], { startMs: 5000 }),
    line([point(9000, 2)], { startMs: 9000 }),
  ];
  assert.deepEqual(shown(lines, { ...CLOCK, axis: "elapsed" }), [[[0, 1]], [[0, 2]]]);
});

Deno.test("curveTable() puts curves over the steps of their jobs, each run as a curve of its own", () => {
  const times = [0, 1000, 2000, 3000];
  const of = (...steps: number[]) => times.map((timeMs, index) => point(timeMs, steps[index] ?? 0));
  const loss = of(9, 8, 7, 6);
  const restarted = line(loss, { steps: of(100, 200, 120, 220), breaks: [2000] });
  const other = line(loss, { steps: of(100, 200, 300, 400) });
  const { places, curves } = curveTable([restarted, other], STEPS);
  assert.deepEqual(places, [100, 120, 200, 220, 300, 400]);
  assert.deepEqual(curves.map(({ line, isEarlier }) => [line, isEarlier]), [
    [0, true],
    [0, false],
    [1, false],
  ]);
  assert.deepEqual(shown([restarted, other], STEPS), [
    [[100, 9], [200, 8]],
    [[120, 7], [220, 6]],
    [[100, 9], [200, 8], [300, 7], [400, 6]],
  ]);
});

Deno.test("curveTable() has no place on an axis of steps for a job that pushes none", () => {
  assert.deepEqual(shown([line([point(0, 1)])], STEPS), []);
});

Deno.test("points of the same step are one, with the least, the greatest and the last value", () => {
  const { places, curves } = curveTable([
    line([[0, 1, 5, 2], [1000, 0, 3, 3]], { steps: [point(0, 7), point(1000, 7)] }),
  ], STEPS);
  assert.deepEqual([places, curves[0]?.min, curves[0]?.last, curves[0]?.max], [[7], [0], [3], [5]]);
});

Deno.test("of a job that restarts again and again the newest runs are drawn", () => {
  const points = Array.from({ length: 20 }, (_, index) => point(index * 1000, index));
  const steps = points.map(([timeMs]) => point(timeMs, 5));
  const breaks = points.slice(1).map(([timeMs]) => timeMs);
  const { curves } = curveTable([line(points, { steps, breaks })], STEPS);
  assert.equal(curves.length, 16);
  assert.deepEqual(curves.at(-1)?.last, [19]);
});

/** What is drawn where a metric was no number: a break with its text, or a text beside a number of its bucket. */
Deno.test("curveTable() breaks a curve where it was no number, and says what it was", () => {
  const nonFinite = [point(2000, 0), point(3000, 1), point(4000, -1)];
  const points = [point(1000, 1), point(3000, 2), point(5000, 3)];
  for (
    const [scale, steps] of [[CLOCK, []], [
      STEPS,
      [1, 2, 3, 4, 5].map((it) => point(it * 1000, it)),
    ]] as const
  ) {
    const broken = line(points, { nonFinite, steps: [...steps] });
    const { places, curves: [curve] } = curveTable([broken], scale);
    assert.deepEqual(places, [1, 2, 3, 4, 5]);
    assert.deepEqual(curve?.last, [1, null, 2, null, 3]);
    assert.deepEqual(curve?.texts, [undefined, "NaN", "∞", "−∞", undefined]);
  }
  const never = curveTable([line([], { nonFinite })], CLOCK);
  assert.deepEqual(never.curves[0]?.texts, ["NaN", "∞", "−∞"]);
});

Deno.test("nearest() is the nearest value within a curve, and what was none counts", () => {
  const { curves: [one, other] } = curveTable([
    line([point(1000, 1), point(9000, 2)], { nonFinite: [point(4000, 0)] }),
    line([2000, 3000, 5000, 6000].map((it) => point(it, 1))),
  ], CLOCK);
  assert.ok(one && other);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map((at) => nearest(one, at)), [0, 0, 3, 3, 3, 6, 6]);
  assert.deepEqual([0, 1, 5, 6].map((at) => nearest(other, at)), [undefined, 1, 5, undefined]);
});

Deno.test("curveTable() of a logarithmic axis says how many values have no place", () => {
  const table = curveTable([line([[1000, -1, 2, 1], [2000, 0, 0, 0]])], { ...CLOCK, isLog: true });
  const [{ last, min, max } = {}] = table.curves;
  assert.deepEqual({ last, min, max }, { last: [1, null], min: [null, null], max: [2, null] });
  assert.equal(table.left, 1);
});

const BOX = { width: 10, height: 6 };
const sparkCases: Record<string, { points: [number, number][]; want: string | undefined }> = {
  "nothing": { points: [], want: undefined },
  "one point": { points: [[1, 1]], want: undefined },
  "a fall": { points: [[0, 4], [5, 2], [10, 0]], want: "M0 1L5 3L10 5" },
  "equal values": { points: [[0, 7], [10, 7]], want: "M0 3L10 3" },
  "equal times": { points: [[3, 0], [3, 1]], want: "M5 5L5 1" },
  "values that are no numbers": { points: [[0, 0], [5, NaN], [10, Infinity]], want: undefined },
};
for (const [sentence, { points, want }] of Object.entries(sparkCases)) {
  Deno.test(`sparkPath() of ${sentence}`, () => assert.equal(sparkPath(points, BOX), want));
}

const columns = (values: readonly (number | null)[]) => [{
  last: [...values],
  min: [...values],
  max: [...values],
}];
const extents: Record<string, { values: (number | null)[]; exponent: number; decades: number }> = {
  "nothing": { values: [], exponent: 0, decades: 0 },
  "zeros and holes": { values: [0, null], exponent: 0, decades: 0 },
  "usual values": { values: [0.01, -100, 10], exponent: 0, decades: 4 },
  "huge values": { values: [-1e308, 1e300], exponent: 308, decades: 8 },
  "tiny values": { values: [1e-45, 1e-40], exponent: -40, decades: 5 },
  "none above 0": { values: [-1, -2], exponent: 0, decades: 0 },
};
for (const [sentence, { values, exponent, decades }] of Object.entries(extents)) {
  Deno.test(`valueExtent(): ${sentence}`, () => {
    const extent = valueExtent(columns(values));
    assert.deepEqual([extent.exponent, Math.round(extent.decades)], [exponent, decades]);
  });
}

Deno.test("decadeSteps() has few steps, however far apart the ends are", () => {
  assert.deepEqual(decadeSteps(0.1, 100), [0.1, 1, 10, 100]);
  for (const [low, high] of [[1e-45, 1e38], [1e-323, 1.7e308], [1, 1]] as const) {
    const steps = decadeSteps(low, high);
    assert.ok(steps.length >= 1 && steps.length <= 10, `${steps}`);
  }
});
