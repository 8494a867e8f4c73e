/** Tests of `owner/curves/series.ts` against a naive reference. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { BASE_WIDTH_MS, Series, shownFloat } from "../../../owner/curves/series.ts";
import type { CurvePoint } from "../../../crds/wire/shown_curves.ts";

interface Sample {
  readonly timeMs: number;
  readonly value: number;
}

const START_MS = Date.parse("2026-03-01T00:00:00Z");

/** A series of one row with samples, in the order in which they came. */
function seriesOf(samples: readonly Sample[], capacity = 128): Series {
  const series = new Series(capacity);
  series.addRow();
  for (const { timeMs, value } of samples) series.add(0, timeMs, value);
  return series;
}

const shown = (value: number) => shownFloat(Math.fround(value));

/** What a series of that width says: all samples are kept and grouped, in the order of time. */
function reference(samples: readonly Sample[], widthMs: number): CurvePoint[] {
  const buckets = Map.groupBy(
    samples.toSorted((one, other) => one.timeMs - other.timeMs),
    ({ timeMs }) => Math.floor(timeMs / widthMs),
  );
  return [...buckets].map(([bucket, inside]) => {
    const values = inside.map(({ value }) => shown(value));
    return [bucket * widthMs, Math.min(...values), Math.max(...values), values.at(-1) ?? NaN];
  });
}

/** The smallest width at which the samples span at most so many buckets. */
function widthFor(samples: readonly Sample[], capacity: number): number {
  const times = samples.map(({ timeMs }) => timeMs);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  let widthMs = BASE_WIDTH_MS;
  while (Math.floor(last / widthMs) - Math.floor(first / widthMs) >= capacity) widthMs *= 2;
  return widthMs;
}

const values = fc.float({ noNaN: true, noDefaultInfinity: true }).map((it) => it + 0);
/** Samples within milliseconds, or within months. */
const samplesOver = (spanMs: number) =>
  fc.array(
    fc.record({ timeMs: fc.integer({ min: START_MS, max: START_MS + spanMs }), value: values }),
    { minLength: 1, maxLength: 200 },
  );
const anySamples = fc.constantFrom(10, 20_000, 3_600_000, 90 * 86_400_000).chain(samplesOver);
const inOrder = anySamples.map((samples) =>
  samples.toSorted((one, other) => one.timeMs - other.timeMs)
);
const capacities = fc.constantFrom(1, 2, 7, 64, 128);

Deno.test("Series keeps minimum, maximum and last of each bucket, at the width that the samples need", () => {
  fc.assert(fc.property(inOrder, capacities, (samples, capacity) => {
    const series = seriesOf(samples, capacity);
    assert.equal(series.widthMs, widthFor(samples, capacity));
    assert.deepEqual(series.points(0), reference(samples, series.widthMs));
  }));
});

Deno.test("Series keeps the same times, minima and maxima in whichever order samples come", () => {
  const withoutLast = (points: CurvePoint[]) =>
    points.map(([timeMs, min, max]) => [timeMs, min, max]);
  fc.assert(fc.property(anySamples, capacities, (samples, capacity) => {
    const series = seriesOf(samples, capacity);
    assert.equal(series.widthMs, widthFor(samples, capacity));
    assert.deepEqual(
      withoutLast(series.points(0)),
      withoutLast(reference(samples, series.widthMs)),
    );
    const newest = samples.toSorted((one, other) => one.timeMs - other.timeMs).at(-1);
    assert.equal(series.points(0).at(-1)?.[3], shown(newest?.value ?? NaN));
  }));
});

Deno.test("Series shows a spike of one sample after any number of merges, and when it is shrunk", () => {
  const spike = fc.record({ at: fc.nat({ max: 999 }), value: fc.constantFrom(-1e6, 1e6) });
  const steps = fc.integer({ min: 1, max: 1_000_000 });
  fc.assert(fc.property(spike, steps, capacities, ({ at, value }, everyMs, capacity) => {
    const samples = Array.from({ length: 1000 }, (_, index) => ({
      timeMs: START_MS + index * everyMs,
      value: index === at ? value : Math.sin(index),
    }));
    const series = seriesOf(samples, capacity);
    series.shrink(Math.ceil(capacity / 2));
    for (const points of [capacity, 3, 1]) {
      const extremes = series.points(0, { points }).flatMap(([, min, max]) => [min, max]);
      assert.ok(extremes.includes(value), `${value} is not among ${points} points`);
    }
  }));
});

Deno.test("Series that is shrunk is the one that never had more buckets", () => {
  fc.assert(fc.property(inOrder, inOrder, (before, after) => {
    const shrunk = seriesOf(before, 128);
    shrunk.shrink(64);
    const small = seriesOf(before, 64);
    const bytes = small.bytes;
    assert.equal(shrunk.bytes, bytes);
    for (const { timeMs, value } of after) {
      shrunk.add(0, timeMs, value);
      small.add(0, timeMs, value);
    }
    assert.deepEqual(shrunk.points(0), small.points(0));
    assert.equal(shrunk.widthMs, small.widthMs);
    assert.equal(small.bytes, bytes);
  }));
});

Deno.test("Series of a million samples has as many bytes and points as at first", () => {
  const series = seriesOf([{ timeMs: START_MS, value: 0 }]);
  const { bytes } = series;
  for (let index = 0; index < 1_000_000; index++) {
    series.add(0, START_MS + index * 700, index === 654_321 ? 99 : Math.cos(index));
  }
  assert.equal(series.bytes, bytes);
  const points = series.points(0);
  assert.ok(points.length <= 128 && points.length > 64, `${points.length} points`);
  assert.equal(points.filter(([, , max]) => max === 99).length, 1);
});

Deno.test("points() merges down to what is asked for, of the part that is asked for", () => {
  const part = fc.record({
    points: fc.integer({ min: 1, max: 200 }),
    fromMs: fc.integer({ min: -1000, max: 30_000 }).map((it) => START_MS + it),
    toMs: fc.integer({ min: -1000, max: 30_000 }).map((it) => START_MS + it),
  });
  const samples = samplesOver(20_000).map((all) => all.toSorted((a, b) => a.timeMs - b.timeMs));
  fc.assert(fc.property(samples, part, (samples, { points, fromMs, toMs }) => {
    const series = seriesOf(samples);
    const [low, high] = [fromMs, toMs].map((it) => Math.floor(it / series.widthMs));
    const wanted = samples.filter(({ timeMs }) => {
      const bucket = Math.floor(timeMs / series.widthMs);
      return bucket >= (low ?? 0) && bucket <= (high ?? 0);
    });
    const got = series.points(0, { points, fromMs, toMs });
    assert.ok(got.length <= points);
    const widths = Array.from({ length: 40 }, (_, doubled) => series.widthMs * 2 ** doubled);
    const expected = widths.map((widthMs) => JSON.stringify(reference(wanted, widthMs)));
    assert.ok(expected.includes(JSON.stringify(got)), "not the samples at a wider width");
  }));
});

Deno.test("points() of no range and of a row without samples are none", () => {
  const series = seriesOf([{ timeMs: START_MS, value: 1 }]);
  const empty = series.addRow();
  assert.deepEqual(series.points(empty), []);
  assert.deepEqual([series.isEmpty(empty), series.isEmpty(0)], [true, false]);
  assert.deepEqual(series.points(0, { fromMs: START_MS + 1000 }), []);
  assert.deepEqual(series.points(0, { toMs: START_MS - 1000 }), []);
  assert.deepEqual(series.points(0, { fromMs: NaN }), []);
  assert.equal(series.points(0, { points: 0 }).length, 1);
});

Deno.test("rows share the axis, and one that is cleared leaves the others as they were", () => {
  const series = new Series(128);
  const [one, other] = [series.addRow(2), series.addRow()];
  for (let second = 0; second < 100; second++) {
    series.add(one, START_MS + second * 1000, second);
    series.add(other, START_MS + second * 1000, -second);
  }
  const before = series.points(one);
  assert.deepEqual(
    series.points(other).map(([timeMs, min, max]) => [timeMs, -max, -min]),
    before.map(([timeMs, min, max]) => [timeMs, min, max]),
  );
  series.clearRow(other);
  assert.deepEqual(series.points(other), []);
  assert.ok(series.isEmpty(other));
  assert.deepEqual(series.points(one), before);
});

Deno.test("a late sample changes the last value of an older bucket alone", () => {
  const series = seriesOf([
    { timeMs: START_MS, value: 1 },
    { timeMs: START_MS + 1000, value: 2 },
    { timeMs: START_MS + 1100, value: 3 },
  ]);
  series.add(0, START_MS + 1050, 9);
  series.add(0, START_MS + 10, 8);
  assert.deepEqual(series.points(0).map(([, min, max, last]) => [min, max, last]), [
    [1, 8, 8],
    [2, 9, 3],
  ]);
});

Deno.test("values beyond a float32 are its largest, so that curves stay finite", () => {
  const series = seriesOf([{ timeMs: START_MS, value: 1e300 }, {
    timeMs: START_MS,
    value: -1e300,
  }]);
  const [[, min = NaN, max = NaN] = []] = series.points(0);
  assert.equal(max, 3.4028234663852886e38);
  assert.equal(min, -max);
});

const texts: Record<string, string> = {
  "0.1": "0.1",
  "-0.3333333333": "-0.3333333",
  "0.00002": "0.00002",
  "1.5e-9": "1.5e-9",
  "16777215": "16777215",
  "1234567.5": "1234568",
  "0": "0",
};
for (const [value, want] of Object.entries(texts)) {
  Deno.test(`shownFloat() of ${value} is ${want}`, () => {
    assert.equal(String(shown(Number(value))), want);
  });
}

Deno.test("shownFloat() is within seven digits, and keeps the order", () => {
  fc.assert(fc.property(values, values, (one, other) => {
    const tolerance = Math.abs(one) * 1e-6 + 1e-45;
    assert.ok(
      Math.abs(shownFloat(one) - one) <= tolerance,
      `${one} is shown as ${shownFloat(one)}`,
    );
    if (one <= other) assert.ok(shownFloat(one) <= shownFloat(other));
  }));
});

Deno.test("a row for another metric changes points of all times, and says so", () => {
  const series = seriesOf([{ timeMs: START_MS, value: 1 }]);
  const before = series.reshapes;
  series.clearRow(0);
  assert.ok(series.reshapes > before);
});
