/** Katib's formula of an observation (contract katib.md 3), and pushes with many samples. */
import assert from "node:assert/strict";
import { observationOf, type ObservedMetrics } from "../../../katib/recording/observation.ts";
import { startRecord } from "../../../katib/recording/record.ts";
import { recordPush, WARNINGS_MAX } from "../../../katib/recording/record_push.ts";

/** Rows as `seconds name value`. */
const rowsOf = (...rows: string[]) =>
  rows.map((row) => {
    const [seconds = "", name = "", value = ""] = row.split(" ");
    return { time: `2026-01-02T03:04:${seconds}Z`, name, value };
  });

const LOSS: ObservedMetrics = { name: "loss", additional: [] };
const NONE = "unavailable";

const cases: Record<string, { metrics?: ObservedMetrics; rows: string[]; want: string[] }> = {
  "keeps the texts of least, greatest and newest": {
    rows: ["10 loss 0.50", "11 loss 5e-1", "12 loss 0.9", "13 loss 1e-3", "14 loss 0.2"],
    want: ["loss 1e-3 0.9 0.2"],
  },
  "has nothing of a metric without rows": { rows: [], want: [`loss ${NONE} ${NONE} ${NONE}`] },
  "takes one row for all three": { rows: ["10 loss 7"], want: ["loss 7 7 7"] },
  "takes the newest by its time, and of one time the later row": {
    rows: ["12 loss 1", "10 loss 3", "12.0 loss 2"],
    want: ["loss 1 3 2"],
  },
  "counts what is no number as the newest only": {
    rows: ["10 loss 1", "11 loss high"],
    want: ["loss 1 1 high"],
  },
  "counts a number out of range as the newest only": {
    rows: ["10 loss 1", "11 loss 1e400"],
    want: ["loss 1 1 1e400"],
  },
  "takes infinity for a number": {
    rows: ["10 loss 1", "11 loss -Inf", "12 loss inf"],
    want: ["loss -Inf inf inf"],
  },
  "keeps NaN for good where it came first": {
    rows: ["10 loss NaN", "11 loss 1", "12 loss 0"],
    want: ["loss NaN NaN 0"],
  },
  "does not take NaN that comes later": {
    rows: ["10 loss 1", "11 loss NaN"],
    want: ["loss 1 1 NaN"],
  },
  "knows the objective and additional metrics alone": {
    metrics: { name: "loss", additional: ["acc"] },
    rows: ["10 acc 1", "10 speed 3", "10 loss 2"],
    want: ["loss 2 2 2", "acc 1 1 1"],
  },
  "keeps what has a strategy, read or not": {
    metrics: {
      name: "loss",
      additional: ["acc"],
      strategies: [{ name: "speed" }, { name: "loss" }],
    },
    rows: ["10 acc 1", "10 speed 3", "10 loss 2"],
    want: [`speed ${NONE} ${NONE} ${NONE}`, "loss 2 2 2"],
  },
  "does not take a time that is none for the newest": {
    rows: ["10 loss 1", "xx loss 2"],
    want: ["loss 1 2 1"],
  },
};

for (const [sentence, { metrics = LOSS, rows, want }] of Object.entries(cases)) {
  Deno.test(`\`observationOf()\` ${sentence}`, () => {
    const observed = observationOf(metrics, rowsOf(...rows));
    assert.deepEqual(
      observed.map(({ name, min, max, latest }) => `${name} ${min} ${max} ${latest}`),
      want,
    );
  });
}

const sample = (seconds: string, ...metrics: string[]) => ({
  time: `2026-01-02T03:04:${seconds}Z`,
  metrics: metrics.map((name) => ({ name, value: "high" })).concat({ name: "a", value: "1" }),
});

Deno.test("`recordPush()` records the samples of a history in their order, and a whole one once", () => {
  const push = { pod: "p", samples: [sample("10"), sample("11"), sample("11", "b")] };
  const first = recordPush(startRecord({}), push);
  assert.equal(first.verdict, "new");
  assert.deepEqual(first.rows.map(({ time }) => time.slice(17)), ["10Z", "11Z", "11.000001Z"]);
  const again = recordPush(first.state, push);
  assert.equal(again.verdict, "retry");
  assert.deepEqual(again.rows, []);
  const longer = recordPush(first.state, { ...push, samples: [...push.samples, sample("12")] });
  assert.equal(longer.verdict, "new");
  assert.deepEqual(longer.rows.map(({ time }) => time.slice(17)), ["12Z"]);
});

Deno.test("`recordPush()` takes a push without samples or rows for a new one", () => {
  const state = startRecord({});
  for (const samples of [[], [{ time: "2026-01-02T03:04:05Z", metrics: [] }]]) {
    const recorded = recordPush(state, { pod: "p", samples });
    assert.equal(recorded.verdict, "new");
    assert.deepEqual(recorded.rows, []);
  }
});

Deno.test("`recordPush()` warns once of each metric, and so many times at most", () => {
  const names = Array.from({ length: 100 }, (_, index) => `m${index}`);
  const push = { pod: "p", samples: [sample("10", ...names), sample("11", ...names)] };
  const { warnings } = recordPush(startRecord({}), push);
  assert.equal(warnings.length, WARNINGS_MAX);
  assert.match(warnings[0] ?? "", /^metric m0: "high" is no number/);
  assert.equal(warnings.at(-1), "and 81 more warnings about metrics");
});
