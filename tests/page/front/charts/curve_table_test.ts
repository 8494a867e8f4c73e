/** Tests of what charts are drawn from: tables of curves, smoothing, sparklines. */
import assert from "node:assert/strict";
import {
  curveTable,
  decadeSteps,
  gapsOf,
  smoothed,
  valueExtent,
} from "../../../../page/front/charts/curve_table.ts";
import { sparkPath } from "../../../../page/front/charts/spark_path.ts";

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

const PLAIN = { isLog: false, weight: 0 };
const line = (points: [number, number, number, number][], gaps: number[] = [], startMs = 0) => ({
  points,
  gaps,
  startMs,
});

Deno.test("curveTable() puts curves of different times over one axis", () => {
  const table = curveTable([
    line([[1000, 1, 3, 2], [3000, 4, 6, 5]]),
    line([[2000, 7, 9, 8]]),
  ], PLAIN);
  assert.deepEqual(table, {
    seconds: [1, 2, 3],
    curves: [
      { last: [2, undefined, 5], min: [1, undefined, 4], max: [3, undefined, 6] },
      {
        last: [undefined, 8, undefined],
        min: [undefined, 7, undefined],
        max: [undefined, 9, undefined],
      },
    ],
    left: 0,
  });
});

Deno.test("curveTable() breaks a curve at a gap between its points, and nowhere else", () => {
  const table = curveTable([line([[1000, 1, 1, 1], [3000, 2, 2, 2]], [500, 2000, 4000])], PLAIN);
  assert.deepEqual(table.seconds, [1, 2, 3]);
  assert.deepEqual(table.curves[0]?.last, [1, null, 2]);
});

Deno.test("curveTable() counts time from each curve's own start", () => {
  const table = curveTable([
    line([[5000, 1, 1, 1]], [], 5000),
    line([[9000, 2, 2, 2]], [], 9000),
  ], PLAIN);
  assert.deepEqual(table.seconds, [0]);
  assert.deepEqual(table.curves.map(({ last }) => last), [[1], [2]]);
});

Deno.test("curveTable() of a logarithmic axis says how many values have no place", () => {
  const table = curveTable([line([[1000, -1, 2, 1], [2000, 0, 0, 0]])], { isLog: true, weight: 0 });
  assert.deepEqual(table.curves[0], { last: [1, null], min: [null, null], max: [2, null] });
  assert.equal(table.left, 1);
});

Deno.test("gapsOf() takes the gaps alone", () => {
  const marks = [{ timeMs: 1, kind: "gap", text: "" }, { timeMs: 2, kind: "restarted", text: "" }];
  assert.deepEqual(gapsOf(marks), [1]);
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
