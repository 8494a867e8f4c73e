/** Tests of the results of the demo's search: reports, what was saved, and the table. */
import assert from "node:assert/strict";
import type { ShownSearch, ShownTrial } from "../../../../crds/wire/searches.ts";
import {
  stepsSaved,
  trialsTable,
  trialSummaries,
  type TrialSummary,
  wasPruned,
} from "../../../../app/demo/search/results.ts";
import { digitsSearch, stepsOf } from "../../../../app/demo/search/search_play.ts";

const trial = (name: string, state: ShownTrial["state"], more: Partial<ShownTrial> = {}) => ({
  name,
  state,
  values: ["0.5"],
  metrics: [],
  ...more,
});
const search = (trials: readonly ShownTrial[]): ShownSearch => ({
  kind: "k",
  namespace: "ns",
  name: "s",
  state: "Complete",
  notes: [],
  objective: { metric: "loss", direction: "minimize" },
  metrics: ["loss"],
  parameters: [{ name: "LEARNING_RATE", scale: "log" }],
  trials,
  counts: { total: trials.length, states: [] },
  bestSoFar: [],
  stops: [],
});
const seen = (...losses: string[]) => ({
  log: losses.flatMap((value, at) => [
    { name: "accuracy", value: "1", step: at + 1 },
    { name: "loss", value, step: at + 1 },
  ]),
});

Deno.test("`trialSummaries()` counts the steps of the training; one that is complete has made all steps", () => {
  const summaries = trialSummaries(
    search([
      trial("a", "Complete", { value: 0.25 }),
      trial("b", "EarlyStopped", { value: 9, stop: { by: "pruner", text: "Pruned: why" } }),
      trial("c", "Failed", { message: "its job is gone", values: [null] }),
    ]),
    new Map([["a", seen("1", "0.25")], ["b", seen("2")]]),
    3,
  );
  assert.deepEqual(summaries, [
    {
      trial: "a",
      state: "Complete",
      parameters: { LEARNING_RATE: "0.5" },
      value: 0.25,
      message: "",
      steps: 3,
      ofSteps: 3,
      curve: [1, 0.25],
    },
    {
      trial: "b",
      state: "EarlyStopped",
      parameters: { LEARNING_RATE: "0.5" },
      message: "Pruned: why",
      steps: 1,
      ofSteps: 3,
      curve: [2],
    },
    {
      trial: "c",
      state: "Failed",
      parameters: { LEARNING_RATE: "" },
      message: "its job is gone",
      steps: 0,
      ofSteps: 3,
      curve: [],
    },
  ]);
  assert.deepEqual(stepsSaved(summaries), { saved: 2, of: 9 });
});

const summary = (state: TrialSummary["state"], more: Partial<TrialSummary> = {}): TrialSummary => ({
  trial: "t",
  state,
  parameters: { LEARNING_RATE: "0.5" },
  message: "",
  steps: 3,
  ofSteps: 10,
  curve: [],
  ...more,
});
const [done, stopped, failed] = [summary("Complete"), summary("EarlyStopped"), summary("Failed")];

const OUTCOMES: Record<string, { trials: TrialSummary[]; want: boolean }> = {
  "two pruned and one done": { trials: [done, stopped, stopped], want: true },
  "one pruned": { trials: [done, done, stopped], want: false },
  "all pruned": { trials: [stopped, stopped, stopped], want: false },
  "one failed": { trials: [done, stopped, stopped, failed], want: false },
  "nothing": { trials: [], want: false },
};
for (const [sentence, { trials, want }] of Object.entries(OUTCOMES)) {
  Deno.test(`\`wasPruned()\` counts ${sentence} as ${want ? "a" : "no"} successful demonstration`, () =>
    assert.equal(wasPruned(trials), want));
}

Deno.test("`trialsTable()` has the best first, and adds up what was saved", () => {
  const table = trialsTable([
    summary("EarlyStopped", { value: 0.1, message: "Pruned: why" }),
    summary("Complete", { value: 0.5, steps: 10 }),
    summary("Complete", { value: 0.25, steps: 10 }),
  ]);
  assert.deepEqual(table.split("\n"), [
    "TRIAL  LEARNING_RATE  STATE         VALUE  STEPS     MESSAGE",
    "t      0.5            Complete      0.25   10 of 10",
    "t      0.5            Complete      0.5    10 of 10",
    "t      0.5            EarlyStopped  0.1    3 of 10   Pruned: why",
    "",
    "Pruning saved 7 of 30 steps (23 %).",
  ]);
});

Deno.test("the demo's search tells its trials how long they train, and how many steps they make", () => {
  const demo = digitsSearch(40);
  const { env = [] } = demo.spec.trainJobTemplate.spec.trainer ?? {};
  assert.deepEqual(env.at(-1), { name: "TRAIN_SECONDS", value: "10" });
  assert.equal(stepsOf(demo), 270);
});
