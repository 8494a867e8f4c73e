/** Tests of the runs of a job: where its curves break, and at which steps their points stand. */
import assert from "node:assert/strict";
import type { CurvePoint } from "../../../../crds/wire/shown_curves.ts";
import { bucketWidth, jobRuns } from "../../../../page/front/charts/job_runs.ts";

const point = (timeMs: number, step: number, max = step): CurvePoint => [timeMs, step, max, step];
const everySecond = (...steps: number[]) => steps.map((step, index) => point(index * 1000, step));

const widths: Record<string, { times: number[]; want: number }> = {
  "no points": { times: [], want: 0 },
  "buckets of a second": { times: [5_000, 9_000, 12_000], want: 1_000 },
  "buckets of an eighth of a second": { times: [1_769_904_000_125, 1_769_904_000_500], want: 125 },
  "samples of a log": { times: [1_001, 2_002, 2_500], want: 1 },
};
for (const [sentence, { times, want }] of Object.entries(widths)) {
  Deno.test(`bucketWidth() of ${sentence}`, () => {
    assert.equal(bucketWidth(times.map((it) => point(it, 1))), want);
  });
}

/** Marks as kind and time, steps of each second, and the runs of buckets of these seconds. */
const runs: Record<
  string,
  { marks?: [kind: string, timeMs: number][]; steps?: number[]; want: number[] }
> = {
  "a job that nothing happened to": { want: [0, 0, 0, 0, 0] },
  "a restart at the begin of a bucket": { marks: [["restarted", 2_000]], want: [0, 0, 1, 1, 1] },
  "a restart within a bucket": { marks: [["restarted", 2_300]], want: [0, 0, 0.5, 1, 1] },
  "a change of pod within a bucket, which ends with the new one's": {
    marks: [["pod", 2_300]],
    want: [0, 0, 1, 1, 1],
  },
  "a restart and the pod that it brings": {
    marks: [["restarted", 1_100], ["pod", 3_900]],
    want: [0, 0.5, 1, 2, 2],
  },
  "both within one bucket": {
    marks: [["restarted", 2_100], ["pod", 2_900]],
    want: [0, 0, 2, 2, 2],
  },
  "a resumption and a gap": {
    marks: [["resumed", 1_000], ["gap", 4_000]],
    want: [0, 1, 1, 1, 2],
  },
  "a suspension and a stop, which are no begin": {
    marks: [["suspended", 1_000], ["stopped", 2_000], ["of others", 3_000]],
    want: [0, 0, 0, 0, 0],
  },
  "steps that begin anew without a mark": { steps: [80, 90, 10, 20, 30], want: [0, 0, 1, 1, 1] },
  "steps of ranks that lag": { steps: [80, 90, 85, 88, 95], want: [0, 0, 0, 0, 0] },
  "steps that begin anew at a mark": {
    marks: [["restarted", 1_500]],
    steps: [80, 90, 10, 20, 30],
    want: [0, 0.5, 2, 2, 2],
  },
};
for (const [sentence, { marks = [], steps = [], want }] of Object.entries(runs)) {
  Deno.test(`jobRuns() of ${sentence}`, () => {
    const of = jobRuns(
      marks.map(([kind, timeMs]) => ({ kind, timeMs, text: "" })),
      everySecond(...steps),
    );
    assert.deepEqual([0, 1, 2, 3, 4].map((second) => of.runOf(second * 1000, 1000)), want);
  });
}

Deno.test("a count that begins anew within a bucket is a new run from that bucket on", () => {
  const { runOf } = jobRuns([], [point(0, 80), point(1000, 5, 90), point(2000, 9)]);
  assert.deepEqual([0, 1000, 2000].map((it) => runOf(it, 1000)), [0, 1, 1]);
});

Deno.test("the step of a moment is that of its bucket, or lies between those of its run", () => {
  const mark = { kind: "restarted", timeMs: 3_000, text: "" };
  const { stepAt } = jobRuns([mark], everySecond(100, 200, 300, 150, 250));
  const cases: [timeMs: number, run: number, step: number | undefined][] = [
    [1_000, 0, 200],
    [1_500, 0, 250],
    // Behind the last one of its run nothing else is known.
    [2_900, 0, 300],
    [3_000, 1, 150],
    [3_500, 1, 200],
    [9_000, 1, 250],
    [-1_000, 0, undefined],
    [2_900, 1, undefined],
  ];
  for (const [timeMs, run, want] of cases) assert.equal(stepAt(timeMs, run), want, String(timeMs));
  assert.equal(jobRuns([], []).stepAt(0, 0), undefined);
});

/** Buckets of a second with the least, the greatest and the last step, and marks with the steps at which they stand. */
const marked: Record<
  string,
  { steps: [min: number, max: number, last: number][]; marks: [string, number, number?][] }
> = {
  "restarts after which steps are done again": {
    // To 95, again from 60 to 98, again from 50.
    steps: [[0, 50, 50], [51, 90, 90], [60, 95, 62], [63, 80, 80], [50, 98, 55], [56, 70, 70]],
    marks: [
      ["restarted", 2_400, 95],
      ["pod", 2_600, 60],
      ["restarted", 4_100, 98],
      ["pod", 4_700, 50],
      ["suspended", 5_200, 70],
      ["stopped", 9_000, 70],
    ],
  },
  "a restart whose bucket has only steps that are done again": {
    steps: [[80, 90, 90], [60, 65, 65]],
    marks: [["restarted", 1_100, 90], ["pod", 1_200, 60]],
  },
  "a restart that goes on where it was": {
    steps: [[80, 90, 90], [91, 99, 99]],
    marks: [["restarted", 1_500, 99], ["gap", 700, 90]],
  },
  "a restart in a pause": {
    steps: [[80, 90, 90]],
    marks: [["restarted", 5_000, 90], ["pod", -5]],
  },
  "a stop behind a restart": {
    steps: [[80, 90, 90], [60, 95, 62]],
    marks: [["restarted", 1_300, 95], ["stopped", 1_900, 62]],
  },
};
for (const [sentence, { steps, marks }] of Object.entries(marked)) {
  Deno.test(`marks over steps: ${sentence}`, () => {
    const all = marks.map(([kind, timeMs]) => ({ kind, timeMs, text: "" }));
    const points = steps.map((it, index): CurvePoint => [index * 1_000, ...it]);
    // A bucket's width shows only in buckets of a job.
    const { stepOf } = jobRuns(all, [[-1_000, 0, 0, 0], ...points]);
    assert.deepEqual(
      all.map(stepOf),
      marks.map(([kind, , step]) => kind === "pod" ? step ?? 0 : step),
    );
  });
}
