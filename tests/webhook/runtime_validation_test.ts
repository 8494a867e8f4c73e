/** What runtimes are refused for. */
import assert from "node:assert/strict";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import { type ReportedProblem, validateRuntime } from "../../webhook/runtime_validation.ts";
import { replicatedJob, runtime, runtimeSpec } from "./builders.ts";

const broken = runtime(
  runtimeSpec([replicatedJob("a"), { ...replicatedJob("b", "trainer"), replicas: 2 }]),
);
const JOB = "spec.template.spec.replicatedJobs";

interface Case {
  runtime: AnyTrainingRuntime;
  old?: AnyTrainingRuntime;
  unsupported?: ReportedProblem[];
  want: string[];
}
const cases: Record<string, Case> = {
  "admits a good runtime": { runtime: runtime(), want: [] },
  "refuses several replicas of a step": {
    runtime: broken,
    want: [`${JOB}[1].replicas: always must be 1`],
  },
  "refuses a step without its container": {
    runtime: runtime(runtimeSpec([
      replicatedJob("m", "model-initializer", { name: "x" }),
      replicatedJob("n", "trainer", { name: "y" }),
    ])),
    want: [
      `${JOB}[0].template.spec.template.spec.containers: must contain the required container for the ancestor: model-initializer`,
      `${JOB}[1].template.spec.template.spec.containers: must contain the required container for the ancestor: trainer`,
    ],
  },
  "leaves unknown steps alone": {
    runtime: runtime(runtimeSpec([replicatedJob("x", "constructor")])),
    want: [],
  },
  "refuses what nothing executes": {
    runtime: runtime(),
    unsupported: [{ field: "spec.podGroupPolicy", message: "no gangs" }, "no mpi"],
    want: ["spec.podGroupPolicy: no gangs", "spec: no mpi"],
  },
  "refuses updates too, of either kind": {
    runtime: { ...broken, kind: "TrainingRuntime" },
    old: runtime(),
    want: [`${JOB}[1].replicas: always must be 1`],
  },
  "admits new labels of a runtime that was broken before": {
    runtime: { ...broken, metadata: { name: "rt", labels: { a: "b" } } },
    old: broken,
    unsupported: ["no mpi"],
    want: [],
  },
};

for (const [sentence, { runtime, old, unsupported = [], want }] of Object.entries(cases)) {
  Deno.test(`\`validateRuntime()\` ${sentence}`, () => {
    const { problems, warnings } = validateRuntime(runtime, old, () => unsupported);
    assert.deepEqual(problems.map((problem) => `${problem.field}: ${problem.message}`), want);
    assert.deepEqual(warnings, []);
  });
}

Deno.test("`validateRuntime()` warns when a deprecated runtime is created, not when it changes", () => {
  const deprecated = runtime(undefined, { "trainer.kubeflow.org/support": "deprecated" });
  const created = validateRuntime(deprecated, undefined, () => []);
  assert.match(created.warnings.join(), /^ClusterTrainingRuntime "rt" is deprecated and will be/);
  assert.deepEqual(validateRuntime(deprecated, runtime(), () => []).warnings, []);
});
