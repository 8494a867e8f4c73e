/** Tests of `mappingOf()` and `isPrimaryPod()`: both spellings, defaults by kind, and refusals. */
import assert from "node:assert/strict";
import { isPrimaryPod } from "../../../trials/mapping/outcome.ts";
import { mappingOf } from "../../../trials/mapping/trial_template.ts";
import type { TemplateKind, TrialMapping } from "../../../trials/mapping/trial_mapping.ts";

const trainJob: TemplateKind = { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob" };
const workflow: TemplateKind = { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow" };
const firstNode = {
  "jobset.sigs.k8s.io/replicatedjob-name": "node",
  "batch.kubernetes.io/job-completion-index": "0",
};
const isTrue = (type: string) => `status.conditions.#(type=="${type}")#|#(status=="True")#`;

function good(template: unknown, job = trainJob): TrialMapping {
  const result = mappingOf(template, job);
  assert.ok(result.ok, JSON.stringify(result));
  return result.mapping;
}

function problems(template: unknown, job = trainJob): string[] {
  const result = mappingOf(template, job);
  assert.ok(!result.ok, "it was taken");
  return result.problems.map((it) => `${it.field}: ${it.message}`);
}

/** A mapping as a table can hold it. */
function told(mapping: TrialMapping) {
  return {
    success: mapping.success.expression,
    failure: mapping.failure?.expression,
    labels: mapping.primaryPodLabels,
    container: mapping.primaryContainerName,
    retain: mapping.retain,
  };
}

const DEFAULTS: readonly { kinds: string[]; success: string; labels?: Record<string, string> }[] = [
  { kinds: ["TrainJob"], success: "Complete", labels: firstNode },
  { kinds: ["Job"], success: "Complete" },
  {
    kinds: ["TFJob", "PyTorchJob", "XGBoostJob", "MPIJob"],
    success: "Succeeded",
    labels: { "training.kubeflow.org/job-role": "master" },
  },
];

for (const { kinds, success, labels } of DEFAULTS) {
  for (const kind of kinds) {
    Deno.test(`mappingOf() has Katib's defaults for ${kind}, whatever its group`, () => {
      for (const template of [{}, { successCondition: "", primaryPodLabels: {} }]) {
        assert.deepEqual(told(good(template, { apiVersion: "any.group/v9", kind })), {
          success: isTrue(success),
          failure: isTrue("Failed"),
          labels,
          container: undefined,
          retain: false,
        });
      }
    });
  }
}

Deno.test("mappingOf() has no default for a kind that Katib does not know", () => {
  for (const kind of ["JobSet", "Workflow", "trainjob"]) {
    assert.deepEqual(problems({ primaryContainerName: "main" }, { apiVersion: "x/v1", kind }), [
      `successCondition: must be set, since there is no default for kind ${kind}`,
      `failureCondition: must be set, since there is no default for kind ${kind}`,
    ]);
  }
});

const SPELLINGS: Readonly<Record<string, { template: unknown; job?: TemplateKind; is: unknown }>> =
  {
    "today's, whole": {
      template: {
        retain: true,
        primaryPodLabels: { role: "first" },
        primaryContainerName: "main",
        successCondition: `status.[@this].#(phase=="Succeeded")#`,
        failureCondition: `status.[@this].#(phase=="Failed")#`,
        trialParameters: [{ name: "lr", reference: "lr" }],
      },
      job: workflow,
      is: {
        success: `status.[@this].#(phase=="Succeeded")#`,
        failure: `status.[@this].#(phase=="Failed")#`,
        labels: { role: "first" },
        container: "main",
        retain: true,
      },
    },
    "KEP-1214's, whole": {
      template: {
        retain: true,
        primaryPodLabel: { "training.kubeflow.org/job-role": "master" },
        primaryContainerName: "pytorch",
        succeededCondition: "Succeeded",
      },
      job: { apiVersion: "kubeflow.org/v1", kind: "PyTorchJob" },
      is: {
        success: isTrue("Succeeded"),
        failure: isTrue("Failed"),
        labels: { "training.kubeflow.org/job-role": "master" },
        container: "pytorch",
        retain: true,
      },
    },
    "KEP-1214's for a kind without defaults: it is never taken for failed": {
      template: { succeededCondition: "Completed", primaryContainerName: "main" },
      job: workflow,
      is: {
        success: isTrue("Completed"),
        failure: undefined,
        labels: undefined,
        container: "main",
        retain: false,
      },
    },
    "KEP-1214's success with today's failure": {
      template: { succeededCondition: "Done", failureCondition: "status.error" },
      job: workflow,
      is: {
        success: isTrue("Done"),
        failure: "status.error",
        labels: undefined,
        container: undefined,
        retain: false,
      },
    },
    "a Trial's spec": {
      template: {
        objective: { type: "minimize" },
        runSpec: { kind: "TrainJob" },
        retainRun: true,
        primaryPodLabels: firstNode,
        primaryContainerName: "node",
        successCondition: isTrue("Complete"),
        failureCondition: isTrue("Failed"),
      },
      is: {
        success: isTrue("Complete"),
        failure: isTrue("Failed"),
        labels: firstNode,
        container: "node",
        retain: true,
      },
    },
    "a spec by a release of Katib whose default named all nodes": {
      template: { primaryPodLabels: { "jobset.sigs.k8s.io/replicatedjob-name": "node" } },
      is: {
        success: isTrue("Complete"),
        failure: isTrue("Failed"),
        labels: firstNode,
        container: undefined,
        retain: false,
      },
    },
    "labels of a launcher": {
      template: { primaryPodLabels: { "jobset.sigs.k8s.io/replicatedjob-name": "launcher" } },
      is: {
        success: isTrue("Complete"),
        failure: isTrue("Failed"),
        labels: { "jobset.sigs.k8s.io/replicatedjob-name": "launcher" },
        container: undefined,
        retain: false,
      },
    },
  };

for (const [says, { template, job, is }] of Object.entries(SPELLINGS)) {
  Deno.test(`mappingOf() reads ${says}`, () => {
    assert.deepEqual(told(good(template, job)), is);
  });
}

const REFUSED: Readonly<Record<string, { template: unknown; problems: string[] }>> = {
  "no object": { template: "x", problems: [": must be an object"] },
  "a list": { template: [], problems: [": must be an object"] },
  "null": { template: null, problems: [": must be an object"] },
  "GJSON that does not parse, with the position": {
    template: {
      successCondition: `status.conditions.#(type=="Complete"`,
      failureCondition: `status.conditions.#(type!"x")`,
    },
    problems: [
      "successCondition: GJSON at character 19: a query whose bracket or quote is not closed",
      'failureCondition: GJSON at character 25: a "!" that belongs to no operator',
    ],
  },
  "a condition that is only space": {
    template: { successCondition: " " },
    problems: ["successCondition: GJSON at character 1: an empty path"],
  },
  "both spellings of one thing": {
    template: {
      successCondition: "a",
      succeededCondition: "b",
      primaryPodLabels: { a: "b" },
      primaryPodLabel: { a: "b" },
      retain: true,
      retainRun: true,
    },
    problems: [
      "primaryPodLabel: must not be set together with primaryPodLabels",
      "succeededCondition: must not be set together with successCondition",
      "retainRun: must not be set together with retain",
    ],
  },
  "GJSON in the place of KEP-1214's condition type": {
    template: { succeededCondition: isTrue("Complete") },
    problems: [
      "succeededCondition: must be the type of a condition; GJSON goes in successCondition",
    ],
  },
  "a list of conditions, which KEP-1214 leaves out": {
    template: { succeededCondition: ["Complete"] },
    problems: ["succeededCondition: must be a string"],
  },
  "wrong types everywhere": {
    template: {
      primaryPodLabels: { role: 1, other: "x" },
      primaryContainerName: 5,
      successCondition: {},
      failureCondition: true,
      retain: "yes",
    },
    problems: [
      "primaryPodLabels.role: must be a string",
      "primaryContainerName: must be a string",
      "failureCondition: must be a string",
      "retain: must be true or false",
    ],
  },
  "labels that are no object": {
    template: { primaryPodLabel: "role=master" },
    problems: ["primaryPodLabel: must be an object of labels with string values"],
  },
};

for (const [says, { template, problems: expected }] of Object.entries(REFUSED)) {
  Deno.test(`mappingOf() refuses ${says}`, () => {
    assert.deepEqual(problems(template), expected);
  });
}

const LABELS: readonly [string, Record<string, string> | undefined, boolean][] = [
  ["the first node", { ...firstNode, more: "x" }, true],
  ["another node", { ...firstNode, "batch.kubernetes.io/job-completion-index": "1" }, false],
  ["an initializer", {
    ...firstNode,
    "jobset.sigs.k8s.io/replicatedjob-name": "model-initializer",
  }, false],
  ["a pod with one of the labels", { "jobset.sigs.k8s.io/replicatedjob-name": "node" }, false],
  ["a pod without labels", {}, false],
  ["a pod whose labels are not known", undefined, false],
];

for (const [says, labels, counts] of LABELS) {
  Deno.test(`isPrimaryPod() counts ${says}: ${counts}`, () => {
    assert.equal(isPrimaryPod(good({}), labels), counts);
  });
}

Deno.test("isPrimaryPod() counts every pod if the template has no labels", () => {
  const mapping = good({}, { apiVersion: "batch/v1", kind: "Job" });
  for (const labels of [undefined, { a: "b" }]) assert.ok(isPrimaryPod(mapping, labels));
});

Deno.test("isPrimaryPod() wants a pod's own label", () => {
  const mapping = good({ primaryPodLabels: { constructor: "x" } });
  assert.ok(!isPrimaryPod(mapping, {}));
  assert.ok(isPrimaryPod(mapping, { constructor: "x" }));
});
