/** Tests of the table of results in the demo of trials. */
import assert from "node:assert/strict";
import { KINDS } from "../../../../crds/kinds.ts";
import type { TrainJob } from "../../../../crds/trainjob.ts";
import {
  type Seen,
  stoppedEarly,
  trialsTable,
  type TrialSummary,
  trialSummary,
} from "../../../../app/demo/trials/results.ts";

const BEGAN = Date.parse("2026-01-02T03:04:00Z");

function job(state: string, rate: string): TrainJob {
  const env = { LEARNING_RATE: rate, EPOCHS: "200", REPORT_EPOCHS: "20" };
  return KINDS.trainJob.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name: "digits-1", creationTimestamp: "2026-01-02T03:04:00Z" },
    spec: {
      runtimeRef: { name: "digits" },
      trainer: { env: Object.entries(env).map(([name, value]) => ({ name, value })) },
    },
    status: { state },
  });
}

/** So many reports of the loss, half a second apart, each with an accuracy. */
function seen(state: string, losses: number[]): Seen {
  const log = losses.flatMap((loss, index) => {
    const time = new Date(BEGAN + 500 * index).toISOString();
    return [{ time, name: "accuracy", value: "0.9" }, { time, name: "loss", value: String(loss) }];
  });
  return { state, message: "why", log };
}

Deno.test("`trialSummary()` counts steps of the objective, and what the others would have taken", () => {
  const summary = trialSummary(
    job("EarlyStopped", "0.05"),
    seen("EarlyStopped", [2, 1.5, 1.75]),
    BEGAN + 4_000,
  );
  assert.deepEqual(summary, {
    job: "digits-1",
    state: "EarlyStopped",
    seconds: 4,
    metrics: { loss: "1.5" },
    message: "why",
    parameters: { "learning rate": "0.05" },
    steps: 3,
    ofSteps: 10,
    secondsSaved: 3.5,
    curve: [2, 1.5, 1.75],
  });
});

const SAVED: Record<string, { state: string; losses: number[]; want: number }> = {
  "a trial that ran to its end": { state: "Succeeded", losses: [2, 1], want: 0 },
  "a trial that was stopped at its first report": { state: "EarlyStopped", losses: [2], want: 0 },
  "a trial that was stopped before it reported": { state: "EarlyStopped", losses: [], want: 0 },
};
for (const [sentence, { state, losses, want }] of Object.entries(SAVED)) {
  Deno.test(`\`trialSummary()\` saves no seconds by ${sentence}`, () => {
    const summary = trialSummary(job("Complete", "1"), seen(state, losses), BEGAN);
    assert.equal(summary.secondsSaved, want);
    assert.equal(summary.steps, losses.length);
  });
}

const trial = (state: string, more: Partial<TrialSummary> = {}): TrialSummary => ({
  job: "digits-1",
  state,
  seconds: 1,
  metrics: { loss: "0.5" },
  message: "",
  parameters: { "learning rate": "1" },
  steps: 3,
  ofSteps: 10,
  secondsSaved: 0,
  curve: [],
  ...more,
});
const [done, stopped, failed] = [trial("Complete"), trial("EarlyStopped"), trial("Failed")];

const OUTCOMES: Record<string, { trials: TrialSummary[]; want: boolean }> = {
  "two stopped and one done": { trials: [done, stopped, stopped], want: true },
  "one stopped": { trials: [done, done, stopped], want: false },
  "all stopped": { trials: [stopped, stopped, stopped], want: false },
  "one failed": { trials: [done, stopped, stopped, failed], want: false },
  "nothing": { trials: [], want: false },
};
for (const [sentence, { trials, want }] of Object.entries(OUTCOMES)) {
  Deno.test(`\`stoppedEarly()\` counts ${sentence} as ${want ? "a" : "no"} successful demonstration`, () => {
    assert.equal(stoppedEarly(trials), want);
  });
}

Deno.test("`trialsTable()` names parameters and metric, and adds up what was saved", () => {
  const table = trialsTable([
    done,
    trial("EarlyStopped", { secondsSaved: 3.54 }),
    trial("EarlyStopped", { secondsSaved: 1, message: "loss 2 is greater than 1" }),
  ]);
  const [header, first, second, third, , total] = table.split("\n");
  assert.equal(
    header,
    "TRIAL     LEARNING RATE  STATE         LOSS  STEPS RUN  SECONDS SAVED  MESSAGE",
  );
  assert.equal(first, "digits-1  1              Complete      0.5   3 of 10");
  assert.equal(second, "digits-1  1              EarlyStopped  0.5   3 of 10    3.5");
  assert.match(third ?? "", /1\.0 +loss 2 is greater than 1$/);
  assert.equal(total, "Early stopping saved 4.5 s of training.");
});
