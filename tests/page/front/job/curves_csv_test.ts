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
