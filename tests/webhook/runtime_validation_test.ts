/** Tests of `webhook/runtime_validation.ts`: when a runtime is judged, and its warnings. */
import assert from "node:assert/strict";
import { type FieldProblem, forbidden, invalid } from "../../crds/field_problem.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import { validateRuntime } from "../../webhook/runtime_validation.ts";
import { replicatedJob, runtime, runtimeSpec } from "./builders.ts";

const broken = runtime(
  runtimeSpec([replicatedJob("a"), { ...replicatedJob("b", "trainer"), replicas: 2 }]),
);
const JOB = "spec.template.spec.replicatedJobs";
const REPLICAS = invalid(`${JOB}[1].replicas`, 2, "always must be 1");

interface Case {
  runtime: AnyTrainingRuntime;
  old?: AnyTrainingRuntime;
  /** Returned by the rules. */
  problems?: FieldProblem[];
  want: string[];
}
const cases: Record<string, Case> = {
  "admits a good runtime": { runtime: runtime(), want: [] },
  "refuses what nothing executes": {
    runtime: runtime(),
    problems: [forbidden("spec.podGroupPolicy", "no gangs"), forbidden("spec", "no mpi")],
    want: ["spec.podGroupPolicy: no gangs", "spec: no mpi"],
  },
  "refuses updates too, of either kind": {
    runtime: { ...broken, kind: "TrainingRuntime" },
    old: runtime(),
    problems: [REPLICAS],
    want: [`${JOB}[1].replicas: always must be 1`],
  },
  "refuses a time to live that is none, also of a runtime whose spec stays": {
    runtime: {
      ...runtime(),
      metadata: {
        name: "rt",
        annotations: { "trainer.kubeflow.org/ttl-seconds-after-finished": "1h" },
      },
    },
    old: runtime(),
    want: [
      "metadata.annotations[trainer.kubeflow.org/ttl-seconds-after-finished]: must be a whole number of seconds from 0 to 2147483647",
    ],
  },
  "refuses a policy of stalls that is none, also of a runtime whose spec stays": {
    runtime: {
      ...runtime(),
      metadata: {
        name: "rt",
        annotations: { "trainer.kubeflow.org/stall-policy": '{"action": "Reboot", "after": "5s"}' },
      },
    },
    old: runtime(),
    want: [
      "metadata.annotations[trainer.kubeflow.org/stall-policy].action: must be one of Notify, Restart, Stop, Ignore",
      'metadata.annotations[trainer.kubeflow.org/stall-policy].after: must be "auto" or a duration of at least 30s, such as 90s or 10m',
    ],
  },
  "admits new labels of a runtime that was broken before": {
    runtime: { ...broken, metadata: { name: "rt", labels: { a: "b" } } },
    old: broken,
    problems: [REPLICAS],
    want: [],
  },
};

for (const [sentence, { runtime, old, problems: found = [], want }] of Object.entries(cases)) {
  Deno.test(`\`validateRuntime()\` ${sentence}`, () => {
    const { problems, warnings } = validateRuntime(runtime, old, () => found);
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
