/** Tests of plots of characters. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { curvePlot, progressBar, sparkline } from "../../terminal/plots.ts";
import type { CurvePoint } from "../../crds/wire/shown_curves.ts";

Deno.test("progressBar() is full at 100, and stays in its width", () => {
  assert.equal(progressBar(0, 4), "░░░░");
  assert.equal(progressBar(50, 4), "██░░");
  assert.equal(progressBar(250, 4), "████");
  assert.equal(progressBar(-1, 4, "ascii"), "....");
  assert.equal(progressBar(75, 4, "ascii"), "###.");
});

const falling = [[0, 8], [1, 6], [2, 4], [3, 2], [4, 1]] as const;

Deno.test("sparkline() shows the last value of each moment", () => {
  assert.equal(sparkline(falling, 8), "█▆▄▂▁");
  assert.equal(sparkline(falling, 5, "ascii"), "#+~._");
  assert.equal(sparkline([[0, 1], [1, 1]], 4), "▅▅");
  assert.equal(sparkline([], 4), "");
  assert.equal(sparkline([[0, NaN], [1, Infinity]], 4), "");
  assert.equal(sparkline([[0, -1e308], [1, 1e308]], 4), "▁█");
});

const point = (time: number, value: number): CurvePoint => [time, value, value, value];

Deno.test("curvePlot() draws no line over a break", () => {
  const points = [point(0, 0), point(9, 9)];
  const dots = (breaks: number[]) =>
    curvePlot(points, { columns: 10, rows: 10 }, "ascii", breaks).join("").replaceAll(" ", "")
      .length;
  assert.ok(dots([]) >= 10);
  assert.equal(dots([5]), 2);
  assert.equal(dots([9]), 2);
  assert.deepEqual([dots([0]), dots([10])], [dots([]), dots([])]);
});

Deno.test("curvePlot() draws a line from the first value to the last", () => {
  const up = curvePlot([point(0, 0), point(1, 1)], { columns: 2, rows: 1 });
  assert.deepEqual(up, ["⣠⠞"]);
  const ascii = curvePlot(
    [point(0, 0), point(1, 1), point(2, 2)],
    { columns: 3, rows: 3 },
    "ascii",
  );
  assert.deepEqual(ascii, ["  *", " **", "** "]);
});

/** A cell of braille: one dot beside a full column, from the bottom to the top. */
const DOTS = { left: ["⣸", "⢼", "⢺", "⢹"], right: ["⣇", "⡧", "⡗", "⡏"] } as const;

for (const [fromBelow, cell] of DOTS.left.entries()) {
  Deno.test(`curvePlot() draws the dot ${fromBelow} from below of the left column`, () => {
    const points: CurvePoint[] = [point(0, fromBelow), [1, 0, 3, fromBelow]];
    assert.deepEqual(curvePlot(points, { columns: 1, rows: 1 }), [cell]);
  });
}
for (const [fromBelow, cell] of DOTS.right.entries()) {
  Deno.test(`curvePlot() draws the dot ${fromBelow} from below of the right column`, () => {
    const points: CurvePoint[] = [[0, 0, 3, fromBelow], point(1, fromBelow)];
    assert.deepEqual(curvePlot(points, { columns: 1, rows: 1 }), [cell]);
  });
}

Deno.test("curvePlot() keeps a spike that only the most of a bucket shows", () => {
  const points: CurvePoint[] = [point(0, 0), [1, 0, 9, 0], point(2, 0)];
  const lines = curvePlot(points, { columns: 3, rows: 4 }, "ascii");
  assert.deepEqual(lines, [" * ", " * ", " * ", "***"]);
});

Deno.test("curvePlot() has no lines without values or room", () => {
  assert.deepEqual(curvePlot([], { columns: 9, rows: 3 }), []);
  assert.deepEqual(curvePlot([point(0, NaN)], { columns: 9, rows: 3 }), []);
  assert.deepEqual(curvePlot([point(0, 1)], { columns: 0, rows: 3 }), []);
});

Deno.test("curvePlot() has its size, whatever the values are", () => {
  const values = fc.tuple(fc.double(), fc.double(), fc.double(), fc.double());
  const size = fc.record({
    columns: fc.integer({ min: 1, max: 60 }),
    rows: fc.integer({ min: 1, max: 9 }),
  });
  fc.assert(fc.property(fc.array(values), size, (points, { columns, rows }) => {
    const sorted = [...points].sort(([one], [other]) => one - other);
    const lines = curvePlot(sorted, { columns, rows });
    if (lines.length === 0) return;
    assert.equal(lines.length, rows);
    for (const line of lines) assert.equal([...line].length, columns);
  }));
});
