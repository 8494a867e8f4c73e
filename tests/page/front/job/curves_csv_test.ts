/** Tests of charts as CSV. */
import assert from "node:assert/strict";
import { csvOf } from "../../../../page/front/job/curves_csv.ts";
import { chartsOf } from "../../../../page/front/job/job_charts.ts";
import type { TimeRange } from "../../../../page/front/charts/zoom_range.ts";
import type { AxisKind } from "../../../../page/front/url_state.ts";
import { curveOf } from "./curve.ts";

const JOBS = [{
  key: "a",
  label: 'team/a"b',
  curves: {
    key: "a",
    marks: [],
    curves: [
      curveOf("=loss", [[1000, 1, 3, 2], [3000, 4, 4, 4]]),
      curveOf("=loss", [[2000, 0, 0, 0]], { isNonFinite: true }),
      curveOf("step", [[1000, 0, 10, 10], [2000, 20, 20, 20], [3000, 30, 30, 30]], {
        isStep: true,
      }),
    ],
  },
}];
const HEADER = "job,metric,time,step,last,min,max";
const LINES = [
  `"team/a""b",'=loss,1970-01-01T00:00:01.000Z,10,2,1,3`,
  `"team/a""b",'=loss,1970-01-01T00:00:02.000Z,20,NaN,,`,
  `"team/a""b",'=loss,1970-01-01T00:00:03.000Z,30,4,4,4`,
];

const CASES: Readonly<Record<string, readonly [AxisKind, TimeRange | undefined, string[]]>> = {
  "all of it": ["step", undefined, LINES],
  "a range of steps": ["step", { from: 15, to: 30 }, LINES.slice(1)],
  "a range of time since the start": ["elapsed", { from: 0, to: 1000 }, LINES.slice(0, 2)],
  "a range of the day": ["clock", { from: 3000, to: 9000 }, LINES.slice(2)],
  "nothing": ["clock", { from: 9000, to: 9001 }, []],
};

for (const [name, [axis, range, lines]] of Object.entries(CASES)) {
  Deno.test(`charts as CSV: ${name}`, () => {
    const text = csvOf(chartsOf(JOBS, axis), axis, range);
    assert.equal(text, [HEADER, ...lines, ""].join("\r\n"));
  });
}

Deno.test("charts as CSV: a metric that is pushed seldom has its own step, and no row of a range but those of its samples", () => {
  const curves = [
    curveOf("val/loss", [[1_000, 7, 7, 7, 100], [2_000, 6, 6, 6, 200], [3_000, 5, 5, 5, 300]]),
    curveOf("step", [[1_000, 1, 190, 190], [2_000, 191, 290, 290], [3_000, 291, 390, 390]], {
      isStep: true,
    }),
  ];
  const job = { key: "a", label: "a", curves: { key: "a", marks: [], curves } };
  const linesOf = (jobs: Parameters<typeof chartsOf>[0], range?: TimeRange) =>
    csvOf(chartsOf(jobs, "clock"), "clock", range).split("\r\n").slice(1, -1)
      .map((line) => line.split(",").slice(2, 5).join());
  assert.deepEqual(linesOf([job]), [
    "1970-01-01T00:00:01.000Z,100,7",
    "1970-01-01T00:00:02.000Z,200,6",
    "1970-01-01T00:00:03.000Z,300,5",
  ]);
  // The bucket that begins at 3 s has its sample behind the range, that which begins at 2 s at 2.4 s.
  const finer = {
    curves: [curveOf("val/loss", [[2_400, 6, 6, 6, 200]], { source: "log" })],
    times: { fromMs: 2_000, toMs: 3_100 },
  };
  assert.deepEqual(linesOf([{ ...job, finer }], { from: 2_000, to: 3_100 }), [
    "1970-01-01T00:00:02.400Z,200,6",
  ]);
});
