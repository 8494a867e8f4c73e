/** What TrainJobs are refused for, by field path and text (contract trainjob.md 4.1, 6 and 10). */
import assert from "node:assert/strict";
import type { JobSet } from "../../crds/jobset.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../crds/trainjob.ts";
import {
  type TrainJobRules,
  validateChangedTrainJob,
  validateNewTrainJob,
} from "../../webhook/trainjob_validation.ts";
import { jobSet, patchOf, replicatedJob, runtime, runtimeSpec, trainJob } from "./builders.ts";

const RULES: TrainJobRules = { render: () => [], unsupported: () => [] };
const initializerMount = { volumeMounts: [{ name: "initializer", mountPath: "/workspace" }] };
const withInitializers = runtimeSpec([
  replicatedJob("dataset-initializer", "dataset-initializer", initializerMount),
  replicatedJob("model-initializer", "model-initializer", initializerMount),
  replicatedJob("node", "trainer"),
]);

interface NewCase {
  job: TrainJob;
  runtime?: AnyTrainingRuntime | null;
  rules?: Partial<TrainJobRules>;
  /** `field: text`, one a problem. */
  want: string[];
}

const torchEnv = (name: string) => ({ name, value: "1" });
const newCases: Record<string, NewCase> = {
  "admits a plain job": { job: trainJob(), want: [] },
  "admits numNodes 0 and Kueue's managedBy": {
    job: trainJob({ trainer: { numNodes: 0 }, managedBy: "kueue.x-k8s.io/multikueue" }),
    want: [],
  },
  "refuses a missing ClusterTrainingRuntime": {
    job: trainJob(),
    runtime: null,
    want: [
      'spec.RuntimeRef: ClusterTrainingRuntime.trainer.kubeflow.org "rt" not found: specified clusterTrainingRuntime must be created before the TrainJob is created',
    ],
  },
  "refuses a missing TrainingRuntime": {
    job: trainJob({ runtimeRef: { name: "rt", kind: "TrainingRuntime" } }),
    runtime: null,
    want: [
      'spec.runtimeRef: TrainingRuntime.trainer.kubeflow.org "rt" not found: specified trainingRuntime must be created before the TrainJob is created',
    ],
  },
  "admits initializers that the runtime has": {
    job: trainJob({ initializer: { dataset: {}, model: {} } }),
    runtime: runtime(withInitializers),
    want: [],
  },
  "refuses initializers whose jobs are missing": {
    job: trainJob({ initializer: { dataset: {}, model: {} } }),
    want: [
      "spec.runtimeRef: must have dataset-initializer job when trainJob is configured with input datasetConfig",
      "spec.runtimeRef: must have model-initializer job when trainJob is configured with input modelConfig",
    ],
  },
  "refuses an initializer whose container is missing": {
    job: trainJob({ initializer: { dataset: {} } }),
    runtime: runtime(runtimeSpec([
      replicatedJob("dataset-initializer", "dataset-initializer", { name: "x" }),
    ])),
    want: [
      "spec.runtimeRef: must have container with name - dataset-initializer in the dataset-initializer job",
    ],
  },
  "refuses an initializer without the shared volume": {
    job: trainJob({ initializer: { model: {} } }),
    runtime: runtime(runtimeSpec([replicatedJob("model-initializer", "model-initializer")])),
    want: [
      "spec.runtimeRef: must have volumeMount with name - initializer in container model-initializer of the model-initializer job",
    ],
  },
  "admits an initializer whose volume comes by a patch": {
    job: trainJob({
      initializer: { model: {} },
      runtimePatches: [
        patchOf({ containers: [{ name: "model-initializer", ...initializerMount }] }, {
          job: "model-initializer",
        }),
      ],
    }),
    runtime: runtime(runtimeSpec([replicatedJob("model-initializer", "model-initializer")])),
    want: [],
  },
  "refuses an initializer job that rendering would not find": {
    job: trainJob({ initializer: { model: {} } }),
    runtime: runtime(runtimeSpec([
      replicatedJob("model-initializer", undefined, initializerMount),
    ])),
    want: [
      "spec.runtimeRef: must have label trainer.kubeflow.org/trainjob-ancestor-step: model-initializer on the template of job model-initializer",
    ],
  },
  "refuses torch's variables": {
    job: trainJob({ trainer: { env: ["PET_NNODES", "A", "PET_MASTER_PORT"].map(torchEnv) } }),
    want: [
      "spec.trainer.env: must not have reserved envs, invalid envs configured: [PET_MASTER_PORT PET_NNODES]",
    ],
  },
  "admits torch's variables on a plain runtime": {
    job: trainJob({ trainer: { env: [torchEnv("PET_NNODES")] } }),
    runtime: runtime(runtimeSpec(undefined, { mlPolicy: {} })),
    want: [],
  },
  "refuses the variables of the pod's identity": {
    job: trainJob({
      trainer: { env: [torchEnv("KUBEFLOW_TRAINER_SERVER_URL")] },
      initializer: { dataset: { env: [torchEnv("KUBEFLOW_TRAINER_STATUS_TOKEN")] } },
    }),
    runtime: runtime(withInitializers),
    want: [
      "spec.trainer.env: must not have reserved envs, invalid envs configured: [KUBEFLOW_TRAINER_SERVER_URL]",
      "spec.initializer.dataset.env: must not have reserved envs, invalid envs configured: [KUBEFLOW_TRAINER_STATUS_TOKEN]",
    ],
  },
  "refuses an envInjection target that is not there": {
    job: trainJob(),
    runtime: runtime(runtimeSpec(undefined, {
      mlPolicy: {
        torch: {
          envInjection: {
            targets: [
              { jobName: "node", containerNames: ["side"] },
              { jobName: "gone", containerNames: ["c"] },
            ],
          },
        },
      },
    })),
    want: [
      'spec.runtimeRef: envInjection target podSet "node" container "side" not found in runtime template',
      'spec.runtimeRef: envInjection target podSet "gone" container "c" not found in runtime template',
    ],
  },
  "refuses a name whose pods have names over 63 characters": {
    job: trainJob({}, { name: "a".repeat(49) }),
    want: [
      `metadata.name: yields an invalid child: pod name "${
        "a".repeat(49)
      }-node-0-0-xxxxx" has 64 characters, at most 63 are allowed; shorten the TrainJob's name by 1`,
    ],
  },
  "admits a name whose pods have names of 63 characters": {
    job: trainJob({}, { name: "a".repeat(48) }),
    want: [],
  },
  "counts the digits of the last pod": {
    job: trainJob({ trainer: { numNodes: 11 } }, { name: "a".repeat(48) }),
    want: [
      `metadata.name: yields an invalid child: pod name "${
        "a".repeat(48)
      }-node-0-10-xxxxx" has 64 characters, at most 63 are allowed; shorten the TrainJob's name by 1`,
    ],
  },
  "refuses an early-stopping annotation that is not valid": {
    job: trainJob({}, { annotations: { "trainer.kubeflow.org/early-stopping": "{}" } }),
    want: [
      "metadata.annotations[trainer.kubeflow.org/early-stopping].objective: must be an object with name and type",
      "metadata.annotations[trainer.kubeflow.org/early-stopping].rules: must be a list of 1 to 64 rules",
    ],
  },
  "refuses a runtime that asks for what nothing executes": {
    job: trainJob(),
    rules: { unsupported: () => [{ field: "spec.mlPolicy.mpi", message: "no mpi" }, "no gangs"] },
    want: [
      'spec.runtimeRef: ClusterTrainingRuntime "rt" cannot be used: spec.mlPolicy.mpi: no mpi',
      'spec.runtimeRef: ClusterTrainingRuntime "rt" cannot be used: no gangs',
    ],
  },
  "refuses what cannot be rendered": {
    job: trainJob(),
    rules: { render: () => ["no way", { field: "spec.trainer", message: "odd" }] },
    want: ["spec: no way", "spec.trainer: odd"],
  },
  "does not render what is refused already": {
    job: trainJob({ initializer: { dataset: {} } }),
    rules: {
      render: () => {
        throw new Error("rendered");
      },
    },
    want: [
      "spec.runtimeRef: must have dataset-initializer job when trainJob is configured with input datasetConfig",
    ],
  },
};

const texts = (problems: readonly { field: string; message: string }[]) =>
  problems.map((problem) => `${problem.field}: ${problem.message}`);

for (const [sentence, one] of Object.entries(newCases)) {
  Deno.test(`\`validateNewTrainJob()\` ${sentence}`, () => {
    const used = one.runtime === null ? undefined : one.runtime ?? runtime();
    const verdict = validateNewTrainJob(one.job, used, { ...RULES, ...one.rules });
    assert.deepEqual(texts(verdict.problems), one.want);
  });
}

Deno.test("`validateNewTrainJob()` warns of a deprecated runtime", () => {
  const old = runtime(undefined, { "trainer.kubeflow.org/support": "deprecated" });
  const { problems, warnings } = validateNewTrainJob(trainJob(), old, RULES);
  assert.deepEqual(problems, []);
  assert.deepEqual(warnings, [
    'Referenced ClusterTrainingRuntime "rt" is deprecated and will be removed in a future release of Kubeflow Trainer. See runtime deprecation policy: https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy',
  ]);
});

interface ChangeCase {
  old: Partial<TrainJobSpec>;
  spec: Partial<TrainJobSpec>;
  annotations?: Record<string, string>;
  runtime?: AnyTrainingRuntime | null;
  jobSet?: JobSet;
  want: string[];
}

const selector = (value: string) => [patchOf({ nodeSelector: { zone: value } })];
const changeCases: Record<string, ChangeCase> = {
  "admits suspending and resuming although the runtime is gone": {
    old: { suspend: true, runtimePatches: selector("a") },
    spec: { suspend: false, runtimePatches: selector("a") },
    runtime: null,
    want: [],
  },
  "admits a change of a patch's time only": {
    old: { runtimePatches: [patchOf({}, { time: "2025-01-01T00:00:00Z" })] },
    spec: { runtimePatches: [patchOf({}, { time: "2026-01-01T00:00:00Z" })] },
    want: [],
  },
  "refuses optional fields that come": {
    old: {},
    spec: { trainer: {}, initializer: {}, activeDeadlineSeconds: 1 },
    want: [
      "spec.initializer: field is immutable",
      "spec.trainer: field is immutable",
      "spec.activeDeadlineSeconds: field is immutable",
    ],
  },
  "refuses optional fields that go": {
    old: { trainer: { numNodes: 1 }, activeDeadlineSeconds: 1 },
    spec: {},
    want: ["spec.trainer: field is immutable", "spec.activeDeadlineSeconds: field is immutable"],
  },
  "refuses other patches of a running job": {
    old: { runtimePatches: selector("a") },
    spec: { runtimePatches: selector("b") },
    want: [
      "spec.runtimePatches: RuntimePatches can only be modified when the TrainJob is suspended before or after the update",
    ],
  },
  "admits other patches of a suspended job": {
    old: { suspend: true },
    spec: { suspend: true, runtimePatches: selector("b") },
    jobSet: jobSet(0),
    want: [],
  },
  "admits patches with the resume, and with the suspension": {
    old: { suspend: true },
    spec: { suspend: false, runtimePatches: selector("b") },
    want: [],
  },
  "refuses other patches while a replicated job is active": {
    old: { suspend: false },
    spec: { suspend: true, runtimePatches: selector("b") },
    jobSet: jobSet(1),
    want: [
      "spec.runtimePatches: RuntimePatches cannot be modified when the JobSet's ReplicatedJob node is still active",
    ],
  },
  "refuses other patches where neither runtime nor snapshot is there": {
    old: { suspend: true },
    spec: { suspend: true, runtimePatches: selector("b") },
    runtime: null,
    want: [
      'spec.RuntimeRef: ClusterTrainingRuntime.trainer.kubeflow.org "rt" not found: specified clusterTrainingRuntime must be created before the TrainJob is created',
    ],
  },
  "refuses an annotation that changes under way": {
    old: {},
    spec: {},
    annotations: { "trainer.kubeflow.org/trial-template": "{}" },
    want: [
      "metadata.annotations[trainer.kubeflow.org/trial-template]: is immutable once the TrainJob has started: make a new TrainJob",
    ],
  },
};

for (const [sentence, one] of Object.entries(changeCases)) {
  Deno.test(`\`validateChangedTrainJob()\` ${sentence}`, () => {
    const verdict = validateChangedTrainJob(
      trainJob(one.spec, { annotations: one.annotations }),
      trainJob(one.old),
      { runtime: one.runtime === null ? undefined : one.runtime ?? runtime(), jobSet: one.jobSet },
      RULES,
    );
    assert.deepEqual(texts(verdict.problems), one.want);
  });
}

Deno.test("`validateChangedTrainJob()` lets a job go whose annotation is not valid", () => {
  const annotations = { "trainer.kubeflow.org/early-stopping": "{}" };
  const old = trainJob({ suspend: true }, { annotations });
  const job = trainJob({ suspend: false }, { annotations, finalizers: [] });
  assert.deepEqual(validateChangedTrainJob(job, old, {}, RULES).problems, []);
});
