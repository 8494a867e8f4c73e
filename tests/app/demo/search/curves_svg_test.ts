/** Tests of learning curves as an SVG. */
import fc from "fast-check";
import assert from "node:assert/strict";
import { type Chart, curvesSvg, ticksTo } from "../../../../app/demo/search/curves_svg.ts";

const CHART: Chart = {
  title: "Trials",
  xLabel: "reports",
  yLabel: "loss",
  curves: [
    { name: "a (0.5)", values: [2, 1, 0.5, 0.25], stopped: false },
    { name: "b (0.05)", values: [2, 1.9], stopped: true },
  ],
};
const count = (text: string, part: string) => text.split(part).length - 1;

Deno.test("`curvesSvg()` draws a line for each trial, and a cross where one was stopped", () => {
  const svg = curvesSvg(CHART);
  assert.equal(count(svg, "<polyline"), 2);
  assert.match(svg, /<title>a \(0\.5\)<\/title>/);
  assert.match(svg, /<title>b \(0\.05\), stopped early<\/title>/);
  assert.equal(count(svg, 'class="stopped"'), 2, "one in the plot, one in the legend");
  assert.equal(count(svg, "<circle"), 2);
  // 2 is the largest value: its place is the top of the plot, at the first of four reports.
  assert.match(svg, /<polyline points="202\.5,50 335,235 467\.5,327\.5 600,373\.75"/);
});

Deno.test("`curvesSvg()` leaves out values that are not finite", () => {
  const curves = [{ name: "odd", values: [NaN, 1, Infinity, 0.5], stopped: false }];
  const svg = curvesSvg({ ...CHART, curves });
  assert.doesNotMatch(svg, /NaN|Infinity/);
  assert.match(/<polyline points="([^"]*)"/.exec(svg)?.[1] ?? "", /^\S+ \S+$/);
});

Deno.test("`curvesSvg()` draws the axes also without values", () => {
  const nothing = curvesSvg({ ...CHART, curves: [] });
  assert.match(nothing, /^<svg [^]*<\/svg>\n$/);
  const empty = curvesSvg({ ...CHART, curves: [{ name: "a", values: [], stopped: true }] });
  assert.doesNotMatch(empty, /NaN|undefined/);
});

Deno.test("`curvesSvg()` is well formed with any names of trials", () => {
  const curve = fc.record({
    name: fc.string(),
    values: fc.array(fc.double()),
    stopped: fc.boolean(),
  });
  fc.assert(fc.property(fc.array(curve, { maxLength: 9 }), fc.string(), (curves, title) => {
    const svg = curvesSvg({ ...CHART, curves, title });
    assert.doesNotMatch(svg, /="[^"]*(NaN|undefined)/);
    const names = [...svg.matchAll(/<(\/?)([a-z]+)[^<>]*?(\/?)>/g)];
    const open: string[] = [];
    for (const [, closes, name = "", alone] of names) {
      if (alone) continue;
      if (closes) assert.equal(open.pop(), name);
      else open.push(name);
    }
    assert.deepEqual(open, []);
    assert.equal(count(svg, "<"), names.length, "no other < is in it");
    assert.doesNotMatch(svg, /&(?!#\d+;)/);
  }));
});

const TICKS: Record<string, { largest: number; want: number[] }> = {
  "small numbers": { largest: 0.25, want: [0, 0.05, 0.1, 0.15, 0.2, 0.25] },
  "a number between": { largest: 2.3, want: [0, 0.5, 1, 1.5, 2, 2.5] },
  "large numbers": { largest: 1e6, want: [0, 2e5, 4e5, 6e5, 8e5, 1e6] },
  "zero": { largest: 0, want: [0, 1] },
  "the smallest number there is": { largest: 5e-324, want: [0, 1] },
};
for (const [sentence, { largest, want }] of Object.entries(TICKS)) {
  Deno.test(`\`ticksTo()\` takes round steps up to ${sentence}`, () => {
    assert.deepEqual(ticksTo(largest), want);
  });
}
