/** Tests of `webhook/trainjob_validation.ts`: which TrainJobs are refused, by field and message. */
import assert from "node:assert/strict";
import { forbidden, invalid } from "../../crds/field_problem.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../crds/trainjob.ts";
import {
  needsRuntime,
  type TrainJobRules,
  validateChangedTrainJob,
  validateNewTrainJob,
} from "../../webhook/trainjob_validation.ts";
import { jobSet, patchOf, runtime, trainJob } from "./builders.ts";

const RULES: TrainJobRules = () => [];
interface NewCase {
  job: TrainJob;
  runtime?: AnyTrainingRuntime | null;
  rules?: TrainJobRules;
  /** `field: text`, one a problem. */
  want: string[];
}

const newCases: Record<string, NewCase> = {
  "admits a plain job": { job: trainJob(), want: [] },
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
  "refuses an early-stopping annotation that is not valid": {
    job: trainJob({}, { annotations: { "trainer.kubeflow.org/early-stopping": "{}" } }),
    want: [
      "metadata.annotations[trainer.kubeflow.org/early-stopping].objective: must be an object with name and type",
      "metadata.annotations[trainer.kubeflow.org/early-stopping].rules: must be a list of 1 to 64 rules",
    ],
  },
  "refuses what the rules of rendering refuse, after the annotations": {
    job: trainJob({}, { annotations: { "trainer.kubeflow.org/early-stopping-grace": "2h" } }),
    rules: () => [invalid("spec.trainer", {}, "odd"), forbidden("spec.runtimeRef", "no way")],
    want: [
      "metadata.annotations[trainer.kubeflow.org/early-stopping-grace]: must be a duration from 0s to 1h, such as 30s or 1m30s",
      "spec.trainer: odd",
      "spec.runtimeRef: no way",
    ],
  },
};

const texts = (problems: readonly { field: string; message: string }[]) =>
  problems.map((problem) => `${problem.field}: ${problem.message}`);

for (const [sentence, one] of Object.entries(newCases)) {
  Deno.test(`\`validateNewTrainJob()\` ${sentence}`, () => {
    const used = one.runtime === null ? undefined : one.runtime ?? runtime();
    const verdict = validateNewTrainJob(one.job, used, one.rules ?? RULES);
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
  "refuses other patches if neither runtime nor snapshot exists": {
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
    const job = trainJob(one.spec, { annotations: one.annotations });
    const old = trainJob(one.old);
    const found = one.runtime === null ? undefined : one.runtime ?? runtime();
    const context = { runtime: found, jobSet: one.jobSet, rules: RULES };
    const verdict = validateChangedTrainJob(job, old, needsRuntime(job, old) ? context : undefined);
    assert.deepEqual(texts(verdict.problems), one.want);
  });
}

Deno.test("`validateChangedTrainJob()` lets a job with an invalid annotation be deleted", () => {
  const annotations = { "trainer.kubeflow.org/early-stopping": "{}" };
  const old = trainJob({ suspend: true }, { annotations });
  const job = trainJob({ suspend: false }, { annotations, finalizers: [] });
  assert.deepEqual(validateChangedTrainJob(job, old).problems, []);
});
