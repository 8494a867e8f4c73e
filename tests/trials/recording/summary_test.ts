/** Tests of Katib's formula of an observation (kubeflow/katib: pkg/controller.v1beta1/trial/trial_controller_util.go). */
import assert from "node:assert/strict";
import { createSummary } from "../../../trials/recording/summary.ts";
import type { PlanObjective } from "../../../trials/plan/observation_plan.ts";

/** Rows as `seconds name value`. */
const rowsOf = (...rows: string[]) =>
  rows.map((row) => {
    const [seconds = "", name = "", value = ""] = row.split(" ");
    return { time: `2026-01-02T03:04:${seconds}Z`, name, value };
  });

const LOSS: PlanObjective = { name: "loss", type: "minimize", additional: [] };
const NONE = "unavailable";

const cases: Record<string, { metrics?: Partial<PlanObjective>; rows: string[]; want: string[] }> =
  {
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
    "keeps NaN forever if it came first": {
      rows: ["10 loss NaN", "11 loss 1", "12 loss 0"],
      want: ["loss NaN NaN 0"],
    },
    "does not take NaN that comes later": {
      rows: ["10 loss 1", "11 loss NaN"],
      want: ["loss 1 1 NaN"],
    },
    "knows the objective and additional metrics alone": {
      metrics: { additional: ["acc"] },
      rows: ["10 acc 1", "10 speed 3", "10 loss 2"],
      want: ["loss 2 2 2", "acc 1 1 1"],
    },
    "keeps what has a strategy, read or not": {
      metrics: {
        additional: ["acc"],
        strategies: [{ name: "speed", value: "max" }, { name: "loss", value: "latest" }],
      },
      rows: ["10 acc 1", "10 speed 3", "10 loss 2"],
      want: [`speed ${NONE} ${NONE} ${NONE}`, "loss 2 2 2"],
    },
    "does not treat an invalid time as the newest": {
      rows: ["10 loss 1", "xx loss 2"],
      want: ["loss 1 2 1"],
    },
  };

for (const [sentence, { metrics, rows, want }] of Object.entries(cases)) {
  Deno.test(`\`Summary.observation()\` ${sentence}`, () => {
    const summary = createSummary();
    rowsOf(...rows).forEach((row) => summary.add(row));
    const observed = summary.observation({ ...LOSS, ...metrics });
    assert.deepEqual(
      observed.map(({ name, min, max, latest }) => `${name} ${min} ${max} ${latest}`),
      want,
    );
  });
}

Deno.test("`Summary.observation()` is empty if there is no objective", () => {
  assert.deepEqual(createSummary().observation(undefined), []);
});
