/** Tests of `experimentOf()`; Experiments of the real SDK are tested in tests/clients/. */
import assert from "node:assert/strict";
import { experimentOf } from "../../../trials/mapping/experiment.ts";

/** An Experiment with some of its spec and of its template replaced. */
function experiment(spec: object = {}, template: object = {}) {
  return {
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Experiment",
    metadata: { name: "e" },
    spec: {
      parameters: [{ name: "lr", parameterType: "double", feasibleSpace: { min: "0", max: "1" } }],
      objective: { type: "maximize", objectiveMetricName: "accuracy" },
      trialTemplate: {
        primaryContainerName: "node",
        trialParameters: [{ name: "rate", reference: "lr" }],
        trialSpec: { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob", spec: {} },
        ...template,
      },
      ...spec,
    },
  };
}

Deno.test("experimentOf() fills in what Katib fills in", () => {
  const result = experimentOf(experiment());
  assert.ok(result.ok, JSON.stringify(result));
  const { mapping, ...rest } = result.experiment;
  assert.deepEqual(rest, {
    job: { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob" },
    trialSpec: { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob", spec: {} },
    trialParameters: [{ name: "rate", reference: "lr" }],
    parameters: [{ name: "lr", type: "double", min: "0", max: "1", distribution: "uniform" }],
    objective: { name: "accuracy", type: "maximize", additional: [] },
    collector: "StdOut",
    trials: { parallel: 3 },
  });
  assert.equal(mapping.retain, false);
});

Deno.test("experimentOf() reads every part, and null as what is left out", () => {
  const result = experimentOf(experiment({
    parameters: [
      {
        name: "a",
        parameterType: "int",
        feasibleSpace: { min: "1", max: "9", step: "2", list: null, distribution: "logUniform" },
      },
      { name: "b", parameterType: "discrete", feasibleSpace: { list: ["1", "5"] } },
    ],
    objective: {
      type: "minimize",
      goal: 0,
      objectiveMetricName: "loss",
      additionalMetricNames: ["accuracy"],
    },
    metricsCollectorSpec: { collector: { kind: "Push" } },
    maxTrialCount: 0,
    parallelTrialCount: 1,
    maxFailedTrialCount: null,
  }));
  assert.ok(result.ok, JSON.stringify(result));
  const { parameters, objective, collector, trials } = result.experiment;
  assert.deepEqual({ parameters, objective, collector, trials }, {
    parameters: [
      { name: "a", type: "int", min: "1", max: "9", step: "2", distribution: "logUniform" },
      { name: "b", type: "discrete", choices: ["1", "5"], distribution: "uniform" },
    ],
    objective: { name: "loss", type: "minimize", additional: ["accuracy"], goal: 0 },
    collector: "Push",
    trials: { max: 0, parallel: 1 },
  });
});

Deno.test("experimentOf() reads KEP-1214's spelling of a template, for any kind", () => {
  const result = experimentOf(experiment({}, {
    succeededCondition: "Done",
    primaryPodLabel: { role: "first" },
    retain: true,
    trialSpec: { apiVersion: "x.y/v1", kind: "Anything" },
  }));
  assert.ok(result.ok, JSON.stringify(result));
  const { job, mapping } = result.experiment;
  assert.deepEqual(job, { apiVersion: "x.y/v1", kind: "Anything" });
  assert.deepEqual(mapping.primaryPodLabels, { role: "first" });
  assert.match(mapping.success.expression, /"Done"/);
  assert.equal(mapping.failure, undefined);
});

const REFUSED: Readonly<Record<string, { value: unknown; fields: string[] }>> = {
  "no object": { value: 5, fields: [""] },
  "another kind": { value: { ...experiment(), kind: "Trial" }, fields: ["kind"] },
  "an Experiment without a spec": {
    value: { ...experiment(), spec: undefined },
    fields: ["spec"],
  },
  "a job that is in a ConfigMap": {
    value: experiment({}, { trialSpec: undefined, configMap: {} }),
    fields: ["spec.trialTemplate.trialSpec"],
  },
  "an objective of no type, and no parameter": {
    value: experiment({ objective: { objectiveMetricName: "loss" }, parameters: [] }),
    fields: ["spec.parameters", "spec.objective.type"],
  },
  "GJSON that does not parse": {
    value: experiment({}, { successCondition: "a.#(b", failureCondition: "[" }),
    fields: ["spec.trialTemplate.successCondition", "spec.trialTemplate.failureCondition"],
  },
};

for (const [says, { value, fields }] of Object.entries(REFUSED)) {
  Deno.test(`experimentOf() reports the path of each problem of ${says}`, () => {
    const result = experimentOf(value);
    assert.ok(!result.ok, "it was taken");
    assert.deepEqual(result.problems.map((it) => it.field), fields);
    assert.ok(result.problems.every((it) => it.message !== ""));
  });
}
