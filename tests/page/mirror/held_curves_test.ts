/** Tests of curves as the mirror holds them: fewer points are those that the owner would have answered. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Series } from "../../../owner/curves/series.ts";
import { areSame, heldCurves, NO_CURVES, shownCurves } from "../../../page/mirror/held_curves.ts";
import type { ShownCurves } from "../../../crds/wire/shown_curves.ts";

type Points = ShownCurves["metrics"][number]["points"];
const START = Date.parse("2026-01-01T00:00:00Z");
const copied = (points: ReturnType<Series["points"]>): Points =>
  points.map(([at, min, max, last]) => [at, min, max, last]);

const samples = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 3_000_000 }), fc.double({ min: -1e6, max: 1e6, noNaN: true })),
  { minLength: 1, maxLength: 400 },
);

Deno.test("a mirror merges points as their owner does", () => {
  fc.assert(fc.property(
    samples,
    samples,
    fc.integer({ min: 1, max: 128 }),
    (ofLoss, ofRate, points) => {
      const series = new Series(128);
      [ofLoss, ofRate].forEach((all) => {
        const row = series.addRow();
        for (const [at, value] of all) series.add(row, START + at, value);
      });
      const metricsOf = (count: number) =>
        ["loss", "rate"].map((name, row) => ({
          name,
          points: copied(series.points(row, { points: count })),
        }));
      const held = heldCurves({ metrics: metricsOf(128), marks: [] });
      // As the wire has them: it knows no negative zero.
      const shown = JSON.stringify(shownCurves(held, { points }).metrics);
      assert.equal(shown, JSON.stringify(metricsOf(points)));
    },
  ));
});

Deno.test("metrics are chosen by name, and progress stays marked as such", () => {
  const points: Points = [[START, 1, 2, 1]];
  const metrics = [
    { name: "loss", points },
    { name: "progress", isProgress: true, points },
    { name: "progress", points },
  ];
  const held = heldCurves({ metrics, marks: [] });
  assert.deepEqual(shownCurves(held, { points: 8 }).metrics, metrics);
  const { metrics: chosen } = shownCurves(held, { points: 8, metrics: ["progress"] });
  assert.deepEqual(chosen, metrics.slice(1));
  assert.deepEqual(shownCurves(NO_CURVES, { points: 8 }), { metrics: [], marks: [] });
});

Deno.test("a changed value, name or mark makes other curves", () => {
  const points: Points = [[START, 1, 2, 1]];
  const marks = [{ timeMs: START, kind: "pod" as const, text: "a" }];
  const curves = { metrics: [{ name: "loss", points }], marks };
  const held = heldCurves(curves);
  assert.ok(areSame(held, heldCurves(structuredClone(curves))));
  for (
    const other of [
      { ...curves, marks: [] },
      { ...curves, metrics: [] },
      { ...curves, metrics: [{ name: "rate", points }] },
      { ...curves, metrics: [{ name: "loss", isProgress: true, points }] },
      { ...curves, metrics: [{ name: "loss", points: [[START, 1, 2, 2]] satisfies Points }] },
    ]
  ) assert.ok(!areSame(held, heldCurves(other)), JSON.stringify(other));
});
