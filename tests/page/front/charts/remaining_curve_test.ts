/** Tests of the time that was left, estimated from the progress. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { remainingCurve } from "../../../../page/front/charts/remaining_curve.ts";
import type { CurvePoint } from "../../../../crds/wire/shown_curves.ts";

const point = (second: number, percent: number): CurvePoint => [
  second * 1000,
  percent,
  percent,
  percent,
];

const cases: Record<string, { progress: CurvePoint[]; want: (readonly [number, number])[] }> = {
  "nothing": { progress: [], want: [] },
  "one point says nothing of a rate": { progress: [point(0, 10)], want: [] },
  "an even rate": {
    progress: [point(0, 0), point(10, 10), point(20, 20), point(100, 100)],
    want: [[10, 90], [20, 80], [100, 0]],
  },
  "no progress for a while": {
    progress: [point(0, 50), point(10, 50), point(20, 60)],
    want: [[20, 80]],
  },
  "a restart begins anew": {
    progress: [point(0, 0), point(10, 50), point(20, 10), point(30, 20)],
    want: [[10, 10], [30, 80]],
  },
  "two at one time": { progress: [point(0, 0), point(0, 10)], want: [] },
};
for (const [sentence, { progress, want }] of Object.entries(cases)) {
  Deno.test(`remainingCurve(): ${sentence}`, () => {
    const got = remainingCurve(progress).map(([ms, , , left]) => [ms / 1000, Math.round(left)]);
    assert.deepEqual(got, want);
  });
}

Deno.test("remainingCurve() gives finite times that are not below 0, whatever the progress is", () => {
  const value = fc.oneof(fc.double(), fc.constantFrom(-1, 0, 100, 1e308, 3.4e38));
  fc.assert(fc.property(fc.array(fc.tuple(fc.nat(1e9), value)), (points) => {
    const progress = points.map(([ms, it]): CurvePoint => [ms, it, it, it]);
    for (const [, , , left] of remainingCurve(progress)) {
      assert.ok(Number.isFinite(left) && left >= 0);
    }
  }));
});
