/** Tests of the time range of charts: steps, bounds, and finer points in place of coarser ones. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  rangeAfter,
  rangeOf,
  rangeWith,
  rangeWithin,
  type TimeRange,
  withFiner,
  type ZoomStep,
} from "../../../../page/front/charts/zoom_range.ts";
import type { CurvePoint } from "../../../../crds/wire/shown_curves.ts";

const WHOLE = { from: 0, to: 1_000 };
const range = (from: number, to: number): TimeRange => ({ from, to });

interface Case {
  readonly step: ZoomStep;
  readonly before?: TimeRange;
  readonly at?: number;
  readonly want: TimeRange | undefined;
}
const steps: Readonly<Record<string, Case>> = {
  "in from all": { step: "in", want: range(250, 750) },
  "in around a place, which stays where it is": { step: "in", at: 100, want: range(50, 550) },
  "in around a place that is not shown": {
    step: "in",
    before: range(0, 100),
    at: 900,
    want: range(25, 75),
  },
  "in to the shortest": { step: "in", before: range(500, 512), want: range(503, 513) },
  "out": { step: "out", before: range(400, 500), want: range(350, 550) },
  "out at the begin": { step: "out", before: range(0, 100), want: range(0, 200) },
  "out to all": { step: "out", before: range(200, 800), want: undefined },
  "out from all": { step: "out", want: undefined },
  "left": { step: "left", before: range(400, 800), want: range(300, 700) },
  "left at the begin": { step: "left", before: range(50, 450), want: range(0, 400) },
  "right at the end": { step: "right", before: range(500, 900), want: range(600, 1_000) },
  "right from all": { step: "right", want: undefined },
  "all": { step: "all", before: range(1, 20), want: undefined },
};
for (const [name, { step, before, at, want }] of Object.entries(steps)) {
  Deno.test(`a step ${name}`, () => assert.deepEqual(rangeAfter(step, before, WHOLE, at), want));
}

Deno.test("any steps lead to ranges within the whole, and out again to all of it", () => {
  const step = fc.constantFrom<ZoomStep>("in", "out", "left", "right");
  const walk = fc.array(fc.tuple(step, fc.integer({ min: -50, max: 1_050 })), { maxLength: 40 });
  fc.assert(fc.property(walk, (walk) => {
    let now: TimeRange | undefined;
    for (const [step, at] of walk) {
      now = rangeAfter(step, now, WHOLE, at);
      if (now === undefined) continue;
      assert.ok(now.from >= 0 && now.to <= 1_000, JSON.stringify(now));
      assert.ok(now.to - now.from >= 10 && now.to - now.from <= 1_000, JSON.stringify(now));
      assert.ok(Number.isInteger(now.from) && Number.isInteger(now.to));
    }
    for (let count = 0; count < 10; count++) now = rangeAfter("out", now, WHOLE);
    assert.equal(now, undefined);
  }));
});

Deno.test("a range moves just so far that a time is in it", () => {
  const before = range(400, 500);
  assert.equal(rangeWith(before, 450, WHOLE), before);
  assert.deepEqual(rangeWith(before, 510, WHOLE), range(410, 510));
  assert.deepEqual(rangeWith(before, 0, WHOLE), range(0, 100));
});

Deno.test("times that are none make no range", () => {
  assert.deepEqual(rangeOf(1.5, 2.5), range(1, 3));
  for (const [from, to] of [[2, 1], [1, 1], [0, 1e17], [-1e17, 0], [NaN, 1], [0, Infinity]]) {
    assert.equal(rangeOf(from ?? 0, to ?? 0), undefined, `${from} to ${to}`);
  }
  assert.equal(rangeWithin(range(0, 5), range(0, 8)), undefined);
});

Deno.test("finer points stand in place of those between them, and others stay", () => {
  const points = (...times: number[]) => times.map((it): CurvePoint => [it, 0, 1, it]);
  const times = (all: readonly CurvePoint[]) => all.map(([time]) => time);
  const coarse = points(0, 100, 200, 300, 400);
  const of = (finer: readonly CurvePoint[], fromMs: number, toMs?: number, isCut = false) =>
    times(withFiner(coarse, finer, { fromMs, ...(toMs !== undefined && { toMs }) }, isCut));
  // A coarse point begins before samples of its bucket that are beyond the range.
  assert.deepEqual(of(points(150, 160, 250), 100, 300), [0, 150, 160, 250, 400]);
  assert.deepEqual(of(points(200, 210), 150, 250), [0, 100, 200, 210, 300, 400]);
  assert.deepEqual(of(points(150, 160), 100), [0, 150, 160]);
  assert.deepEqual(of(points(150, 160, 250), 100, 300, true), [0, 100, 150, 160, 250, 300, 400]);
  assert.equal(withFiner(coarse, [], { fromMs: 0 }), coarse);
  assert.deepEqual(times(withFiner([], points(1, 2), { fromMs: 0 })), [1, 2]);
});
