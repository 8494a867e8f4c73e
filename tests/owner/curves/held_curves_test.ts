/** Tests of curves as followers hold them: they are the owner's after any news, and viewers get what they would from the owner. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { createCurveStore } from "../../../owner/curves/curve_store.ts";
import { heldAfter, type HeldCurves, shownCurves } from "../../../owner/curves/held_curves.ts";
import { Series } from "../../../owner/curves/series.ts";
import type { Curve, CurvesNews, ShownCurves } from "../../../crds/wire/shown_curves.ts";
import { FakeClock } from "../../support/fake_clock.ts";

type Points = ShownCurves["metrics"][number]["points"];
const START = Date.parse("2026-01-01T00:00:00Z");
const copied = (points: ReturnType<Series["points"]>): Points =>
  points.map(([at, min, max, last]) => [at, min, max, last]);

const samples = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 3_000_000 }), fc.double({ min: -1e6, max: 1e6, noNaN: true })),
  { minLength: 1, maxLength: 400 },
);

function held(news: Omit<CurvesNews, "uid">): HeldCurves {
  return heldAfter(undefined, { uid: "u", ...news }) ??
    assert.fail("news of all curves need none before");
}

Deno.test("a follower merges points as their owner does", () => {
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
      // As the wire has them: it knows no negative zero.
      const shown = shownCurves(held({ metrics: metricsOf(128), marks: [] }), { points }).metrics;
      assert.equal(JSON.stringify(shown), JSON.stringify(metricsOf(points)));
    },
  ));
});

/** What is done to the curves of a job, some of it between two readings of a follower and of its viewer. */
const changes = fc.array(
  fc.record({
    kind: fc.constantFrom("push", "push", "push", "push", "late", "pause", "mark", "end", "drop"),
    name: fc.constantFrom("loss", "rate", ...Array.from({ length: 40 }, (_, n) => `m${n}`)),
    value: fc.integer({ min: -1_000_000, max: 1_000_000 }),
    isNaN: fc.boolean(),
    isRead: fc.boolean(),
    isSeen: fc.boolean(),
  }),
  { minLength: 1, maxLength: 300, size: "max" },
);

/** What somebody has who keeps what was sent before, as a page does. */
function pageAfter(
  before: ShownCurves | undefined,
  { uid, sinceMs, metrics, marks }: CurvesNews,
): ShownCurves {
  assert.ok(before !== undefined || sinceMs === undefined);
  const pointsBefore = ({ name, isNonFinite, isStep }: Curve) =>
    before?.metrics.find((it) =>
      it.name === name && it.isNonFinite === isNonFinite && it.isStep === isStep
    )?.points
      .filter(([timeMs]) => timeMs < (sinceMs ?? 0)) ?? [];
  return {
    uid,
    metrics: metrics.map((it) => ({ ...it, points: [...pointsBefore(it), ...it.points] })),
    marks,
  };
}

Deno.test("news after news, a follower has its owner's curves, and its viewers what the owner would show them", () => {
  fc.assert(fc.property(changes, fc.constantFrom(8, 64, 128), (all, points) => {
    const clock = new FakeClock(START);
    const store = createCurveStore({ clock });
    let [cursor, follower]: [string | undefined, HeldCurves | undefined] = [undefined, undefined];
    let [seen, page]: [HeldCurves | undefined, ShownCurves | undefined] = [undefined, undefined];
    let nowMs = START;
    const record = (timeMs: number, name: string, value: number) =>
      store.record({ uid: "u" }, undefined, [{
        timeMs,
        metrics: [{ name, value: String(value) }],
        // Some push none, and steps are done again.
        step: value % 3 === 0 ? undefined : Math.abs(value) % 1_000,
      }]);
    for (const { kind, name, value, isNaN, isRead, isSeen } of all) {
      nowMs += kind === "pause" ? 1_000_000 : 400;
      clock.now = () => nowMs;
      if (kind === "push") record(nowMs, name, isNaN ? NaN : value);
      else if (kind === "late") record(nowMs - Math.abs(value), name, value);
      else if (kind === "mark") store.mark("u", { timeMs: nowMs, kind: "resumed", text: name });
      else if (kind === "end") store.end("u");
      else if (kind === "drop" && value > 5e5) store.forget("u");
      if (!isRead || store.cursorOf("u") === cursor) continue;
      const news: CurvesNews = structuredClone(store.newsOf("u", cursor));
      cursor = store.cursorOf("u");
      follower = heldAfter(follower, news) ?? assert.fail("news of others");
      const owned = store.curvesOf("u") ?? { metrics: [], marks: [] };
      const shown = shownCurves(follower, { points: 128 });
      assert.deepEqual(shown, { uid: "u", metrics: owned.metrics, marks: owned.marks });
      if (!isSeen) continue;
      page = pageAfter(page, shownCurves(follower, { points }, seen));
      seen = follower;
      assert.deepEqual(page.metrics, shownCurves(follower, { points }).metrics);
      assert.deepEqual(page.marks, owned.marks);
    }
  }));
});

Deno.test("what is new of a long curve is a few points", () => {
  const clock = new FakeClock(START);
  const store = createCurveStore({ clock });
  const record = (second: number) =>
    store.record({ uid: "u" }, undefined, [{
      timeMs: START + second * 1_000,
      metrics: [{ name: "loss", value: String(second) }],
    }]);
  clock.now = () => START + 1e7;
  for (let second = 0; second < 100; second++) record(second);
  const cursor = store.cursorOf("u");
  const before = held(store.newsOf("u", undefined));
  record(101);
  const news = store.newsOf("u", cursor);
  assert.ok((news.metrics[0]?.points.length ?? 99) <= 10, JSON.stringify(news));
  const shown = shownCurves(heldAfter(before, news) ?? before, { points: 128 }, before);
  assert.deepEqual(shown.metrics, [{ name: "loss", points: [[START + 101_000, 101, 101, 101]] }]);
  assert.equal(shown.sinceMs, START + 101_000);
});

Deno.test("news since a time are of no use to who has nothing", () => {
  assert.equal(
    heldAfter(undefined, { uid: "u", sinceMs: START, metrics: [], marks: [] }),
    undefined,
  );
});

Deno.test("metrics are chosen by name, and progress stays marked as such", () => {
  const points: Points = [[START, 1, 2, 1]];
  const metrics = [
    { name: "loss", points },
    { name: "progress", isProgress: true, points },
    { name: "progress", points },
    { name: "step", isStep: true, points },
    { name: "step", points },
    { name: "step", isNonFinite: true, points },
  ];
  const all = held({ metrics, marks: [] });
  assert.deepEqual(shownCurves(all, { points: 8 }).metrics, metrics);
  const { metrics: chosen } = shownCurves(all, { points: 8, metrics: ["progress"] });
  assert.deepEqual(chosen, metrics.slice(1, 3));
  const none = held({ metrics: [], marks: [] });
  assert.deepEqual(shownCurves(none, { points: 8 }), { uid: "u", metrics: [], marks: [] });
});

Deno.test("a changed value, name or mark makes other curves", () => {
  const points: Points = [[START, 1, 2, 1]];
  const marks = [{ timeMs: START, kind: "pod" as const, text: "a" }];
  const curves = { metrics: [{ name: "loss", points }], marks };
  const before = held(curves);
  assert.equal(heldAfter(before, { uid: "u", ...structuredClone(curves) }), before);
  for (
    const other of [
      { ...curves, marks: [] },
      { ...curves, metrics: [] },
      { ...curves, metrics: [{ name: "rate", points }] },
      { ...curves, metrics: [{ name: "loss", isProgress: true, points }] },
      { ...curves, metrics: [{ name: "loss", isStep: true, points }] },
      { ...curves, metrics: [{ name: "loss", isNonFinite: true, points }] },
      { ...curves, metrics: [{ name: "loss", points: [[START, 1, 2, 2]] satisfies Points }] },
      { ...curves, metrics: [{ name: "loss", points: [[START, 1, 2, 1, 7]] satisfies Points }] },
    ]
  ) assert.notEqual(heldAfter(before, { uid: "u", ...other }), before, JSON.stringify(other));
});
