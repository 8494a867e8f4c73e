/** Tests of points made of the rows of a log. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { LogPoints } from "../../../owner/curves/log_points.ts";

const START_MS = Date.parse("2026-01-01T00:00:00Z");
const row = (ms: number, value: string | number) => ({
  time: new Date(START_MS + ms).toISOString(),
  name: "loss",
  value: String(value),
});

function pointsOf(most: number, rows: readonly ReturnType<typeof row>[]) {
  const points = new LogPoints(most);
  for (const it of rows) points.add(it);
  return points;
}

Deno.test("few samples are points of their own, with their times and all digits of their values", () => {
  const { points, span } = pointsOf(4, [row(3, "0.123456789012"), row(250, 1), row(251, "1e300")]);
  assert.deepEqual(points.map(([ms, ...numbers]) => [ms - START_MS, ...numbers]), [
    [3, 0.123456789012, 0.123456789012, 0.123456789012],
    [250, 1, 1, 1],
    [251, 1e300, 1e300, 1e300],
  ]);
  assert.deepEqual(span, { firstMs: START_MS + 3, lastMs: START_MS + 251 });
});

Deno.test("samples of one millisecond are one point", () => {
  const { points } = pointsOf(4, [row(3, 5), row(3, 9), row(3, 7)]);
  assert.deepEqual(points, [[START_MS + 3, 5, 9, 7]]);
});

Deno.test("what is no finite number is no sample, but when it came is kept", () => {
  const worst = [`${Number.MAX_VALUE}`, `-${Number.MAX_VALUE}`];
  const texts = ["NaN", "inf", "-Infinity", "1e400", ...worst, "warming up", ""];
  const { points, span, nonFinite } = pointsOf(8, texts.map((text, index) => row(index, text)));
  assert.deepEqual([points, span], [[], undefined]);
  assert.deepEqual(nonFinite?.points.map(([ms, , , last]) => [ms - START_MS, last]), [
    [0, 0],
    [1, 1],
    [2, -1],
    [3, 1],
    [4, 0],
    [5, 0],
  ]);
  assert.equal(pointsOf(4, [row(0, 1)]).nonFinite, undefined);
});

Deno.test("buckets begin at multiples of their width, a power of two", () => {
  const { points } = pointsOf(10, Array.from({ length: 1000 }, (_, n) => row(n * 10, n)));
  assert.ok(points.length > 5 && points.length <= 10, String(points.length));
  for (const [ms] of points) assert.equal(ms % 1024, 0);
});

/** Steps between samples in milliseconds, and their values. */
const samples = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 5_000 }), fc.double({ noNaN: true, min: -1e6, max: 1e6 })),
  { minLength: 1, maxLength: 300 },
);

Deno.test("a spike of one sample stays visible in any number of points, and so does the last value", () => {
  fc.assert(fc.property(samples, fc.nat(), fc.integer({ min: 1, max: 128 }), (steps, at, most) => {
    const spikeAt = at % steps.length;
    let ms = 0;
    const rows = steps.map(([step, value], index) =>
      row(ms += step, index === spikeAt ? 1e9 : value)
    );
    const { points } = pointsOf(most, rows);
    assert.ok(points.length <= most);
    assert.equal(Math.max(...points.map(([, , max]) => max)), 1e9);
    const values = rows.map(({ value }) => Number(value));
    assert.equal(Math.min(...points.map(([, min]) => min)), Math.min(...values));
    assert.equal(points.at(-1)?.[3], values.at(-1));
    const times = points.map(([ms]) => ms);
    assert.deepEqual(times, [...new Set(times)].sort((a, b) => a - b));
  }));
});

Deno.test("a spike of one sample among many is in the bucket of its time at each zoom", () => {
  const COUNT = 20_000;
  const SPIKE = 12_345;
  const rows = Array.from({ length: COUNT }, (_, n) => row(n * 500, n === SPIKE ? 99 : n % 7));
  for (let half = COUNT; half >= 1; half = Math.floor(half / 3)) {
    const part = rows.slice(Math.max(0, SPIKE - half), SPIKE + half + 1);
    const { points } = pointsOf(128, part);
    const spike = points.findIndex(([, , max]) => max === 99);
    assert.ok(spike >= 0, `${part.length} rows`);
    const [beginMs = 0, nextMs = Infinity] = [points[spike]?.[0], points[spike + 1]?.[0]];
    const spikeMs = START_MS + SPIKE * 500;
    assert.ok(beginMs <= spikeMs && spikeMs < nextMs, `${part.length} rows`);
    if (part.length <= 128) assert.equal(beginMs, spikeMs);
  }
});

Deno.test("a point has the step of its last sample, also of a wider bucket", () => {
  const points = new LogPoints(2);
  for (const [ms, step] of [[0, 7], [1, 8], [1_000, 9]] as const) {
    points.add({ ...row(ms, step), step });
  }
  assert.deepEqual(points.points.map(([, , , last, step]) => [last, step]), [[8, 8], [9, 9]]);
});
