/** Tests of Experiments and Trials as a search: states, parameters, observations, stops, and odd objects. */
import assert from "node:assert/strict";
import type { JsonObject } from "../../../platform/base/json.ts";
import {
  parameterOf,
  rowOfExperiment,
  searchOfExperiment,
} from "../../../page/trials/katib_objects.ts";
import { jobOfTrial, readTrial, trialOf } from "../../../page/trials/katib_trials.ts";
import { valueOf } from "../../../page/trials/shown_search.ts";

const T1 = "2026-01-31T12:00:00Z";
const held = (type: string, more: JsonObject = {}) => ({ type, status: "True", ...more });

const parameters: Record<string, { given: JsonObject; want: unknown }> = {
  "a double": {
    given: { name: "lr", parameterType: "double", feasibleSpace: { min: "0.01", max: "0.1" } },
    want: { name: "lr", scale: "linear", min: 0.01, max: 0.1 },
  },
  "a double on a logarithmic scale": {
    given: {
      name: "lr",
      parameterType: "double",
      feasibleSpace: { min: "1e-4", max: "0.1", distribution: "logUniform" },
    },
    want: {
      name: "lr",
      scale: "log",
      min: 1e-4,
      max: 0.1,
    },
  },
  "a logarithmic scale that begins at 0": {
    given: {
      name: "lr",
      parameterType: "double",
      feasibleSpace: { min: "0", max: "0.1", distribution: "logUniform" },
    },
    want: {
      name: "lr",
      scale: "linear",
      min: 0,
      max: 0.1,
    },
  },
  "an int with steps": {
    given: { name: "n", parameterType: "int", feasibleSpace: { min: "1", max: "9", step: "2" } },
    want: { name: "n", scale: "linear", min: 1, max: 9 },
  },
  "a categorical one": {
    given: { name: "opt", parameterType: "categorical", feasibleSpace: { list: ["sgd", "adam"] } },
    want: { name: "opt", scale: "list", list: ["sgd", "adam"] },
  },
  "one without a space": {
    given: { name: "x", parameterType: "double" },
    want: { name: "x", scale: "linear" },
  },
  "one without a name": { given: { parameterType: "int" }, want: undefined },
  "one of other shapes": {
    given: { name: "x", parameterType: 3, feasibleSpace: ["a"] },
    want: { name: "x", scale: "linear" },
  },
};
for (const [name, { given, want }] of Object.entries(parameters)) {
  Deno.test(`a parameter is read: ${name}`, () => assert.deepEqual(parameterOf(given), want));
}

const states: Record<string, { conditions: unknown; want: string }> = {
  "none": { conditions: undefined, want: "Created" },
  "odd ones": { conditions: [3, null, { type: "Running" }], want: "Created" },
  "running": { conditions: [held("Created"), held("Running")], want: "Running" },
  "succeeded": {
    conditions: [{ type: "Running", status: "False" }, held("Succeeded")],
    want: "Complete",
  },
  "stopped early, and Running still": {
    conditions: [held("Running"), held("EarlyStopped")],
    want: "EarlyStopped",
  },
  "stopped early, then without metrics": {
    conditions: [held("EarlyStopped"), held("MetricsUnavailable")],
    want: "EarlyStopped",
  },
  "without metrics": { conditions: [held("MetricsUnavailable")], want: "MetricsUnavailable" },
  "failed": { conditions: [held("Failed")], want: "Failed" },
  "killed": { conditions: [held("Killed")], want: "Killed" },
};
for (const [name, { conditions, want }] of Object.entries(states)) {
  Deno.test(`the state of a Trial with conditions: ${name}`, () =>
    assert.equal(
      trialOf(readTrial({ metadata: { name: "t" }, status: { conditions } })).state,
      want,
    ));
}

const TRIAL: JsonObject = {
  metadata: { name: "digits-abc", namespace: "ns", creationTimestamp: T1 },
  spec: {
    parameterAssignments: [{ name: "lr", value: "0.1" }, { name: "n", value: 3 }, "odd"],
    earlyStoppingRules: [{ name: "loss", value: "2.5", comparison: "greater", startStep: 4 }],
    runSpec: { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob" },
  },
  status: {
    startTime: T1,
    completionTime: "0001-01-01T00:00:00Z",
    conditions: [held("EarlyStopped", { lastTransitionTime: T1 })],
    observation: {
      metrics: [{ name: "loss", min: "2.6", max: "9", latest: "3" }, {
        name: "acc",
        min: "unavailable",
        latest: "0.5",
      }],
    },
  },
};

Deno.test("a stopped Trial has its values, its rules in words, and the time of its condition as its end", () =>
  assert.deepEqual(trialOf(readTrial(TRIAL)), {
    name: "digits-abc",
    state: "EarlyStopped",
    assignments: [{ name: "lr", value: "0.1" }, { name: "n", value: "3" }],
    metrics: [{ name: "loss", min: "2.6", max: "9", latest: "3" }, { name: "acc", latest: "0.5" }],
    created: T1,
    started: T1,
    ended: T1,
    stop: { by: "rules", rules: ["loss above 2.5 at report 4"] },
  }));

Deno.test("what its job says of the stop stands beside the rules", () => {
  const { stop } = trialOf(readTrial(TRIAL), {
    stop: { by: "rules", text: "loss 3 is greater than 2.5" },
  });
  assert.deepEqual(stop, {
    by: "rules",
    text: "loss 3 is greater than 2.5",
    rules: ["loss above 2.5 at report 4"],
  });
});

Deno.test("somebody who stopped a Trial is named, and its rules are not blamed", () => {
  const { stop } = trialOf(readTrial(TRIAL), {
    stop: { by: "request", text: "Pruned", user: "ada" },
  });
  assert.deepEqual(stop, { by: "request", text: "Pruned", user: "ada" });
});

Deno.test("the job of a Trial has its name unless the template says another", () => {
  const kind = { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob", namespace: "ns" };
  assert.deepEqual(jobOfTrial(TRIAL), { ...kind, name: "digits-abc" });
  const runSpec = { ...kind, metadata: { name: "other" } };
  assert.deepEqual(jobOfTrial({ ...TRIAL, spec: { runSpec } }), { ...kind, name: "other" });
  assert.equal(jobOfTrial({ metadata: { name: "t" } }), undefined);
  for (const name of ["..", "", "a/b", "%2e%2e", "A"]) {
    const runSpec = { ...kind, metadata: { name } };
    assert.equal(jobOfTrial({ ...TRIAL, spec: { runSpec } }), undefined, name);
  }
});

Deno.test("a value of a strategy that is unavailable is the newest", () => {
  const metrics = [{ name: "acc", latest: "0.5" }, { name: "nan", max: "NaN", latest: "NaN" }];
  assert.equal(valueOf(metrics, "acc", "max"), 0.5);
  assert.equal(valueOf(metrics, "nan", "max"), undefined);
  assert.equal(valueOf(metrics, "gone", "max"), undefined);
});

const EXPERIMENT: JsonObject = {
  metadata: { name: "digits", namespace: "ns", creationTimestamp: T1 },
  spec: {
    objective: {
      type: "minimize",
      objectiveMetricName: "loss",
      goal: 0.1,
      metricStrategies: [{ name: "loss", value: "latest" }, { name: "acc", value: "first" }],
    },
    algorithm: {
      algorithmName: "random",
      algorithmSettings: [{ name: "random_state", value: "7" }],
    },
    earlyStopping: { algorithmName: "medianstop" },
    parallelTrialCount: 3,
    maxTrialCount: 12,
    parameters: [{ name: "lr", parameterType: "double" }, "odd", { parameterType: "int" }],
  },
  status: {
    conditions: [
      held("Running"),
      held("Succeeded", { message: "because max trial count has reached" }),
    ],
    completionTime: T1,
    trials: 12,
    trialsSucceeded: 9,
    trialsEarlyStopped: 3,
    currentOptimalTrial: {
      bestTrialName: "digits-abc",
      observation: { metrics: [{ name: "loss", min: "0.1", latest: "0.2" }] },
    },
  },
};

Deno.test("an Experiment says its objective, its space and its bounds", () => {
  const { strategies, parameters, ...search } = searchOfExperiment(EXPERIMENT);
  assert.deepEqual(search, {
    state: "Complete",
    message: "because max trial count has reached",
    created: T1,
    ended: T1,
    objective: { metric: "loss", direction: "minimize", goal: 0.1 },
    notes: [
      { name: "Algorithm", text: "random (random_state 7)" },
      { name: "Early stopping", text: "medianstop" },
      { name: "Bounds", text: "3 at once, 12 in all" },
    ],
  });
  assert.deepEqual([...strategies], [["loss", "latest"]]);
  assert.deepEqual(parameters.map(({ name }) => name), ["lr"]);
});

Deno.test("the row of an Experiment has Katib's counts and its best trial by the strategy", () => {
  const { counts, best } = rowOfExperiment(EXPERIMENT);
  assert.deepEqual(counts, { total: 12, states: [["Complete", 9], ["EarlyStopped", 3]] });
  assert.deepEqual(best, { trial: "digits-abc", value: "0.2" });
});

for (const odd of [{}, { spec: 3, status: [] }, { spec: { objective: "x", parameters: {} } }]) {
  Deno.test(`an odd Experiment is one without what cannot be read: ${JSON.stringify(odd)}`, () => {
    assert.equal(searchOfExperiment(odd).state, "Created");
    assert.deepEqual(searchOfExperiment(odd).parameters, []);
    assert.deepEqual(rowOfExperiment(odd).counts, { total: 0, states: [] });
  });
}
