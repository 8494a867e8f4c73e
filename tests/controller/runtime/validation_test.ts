/** Tests of `controller/runtime/validation.ts`: problems of TrainJobs and runtimes, by field and message. */
import { deepEqual } from "node:assert/strict";
import {
  changedTrainJobProblems,
  runtimeProblems,
  trainJobProblems,
} from "../../../controller/runtime/validation.ts";
import type { AnyTrainingRuntime } from "../../../crds/training_runtime.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { patchOf, replicatedJob, runtime, runtimeSpec, trainJob } from "../../webhook/builders.ts";
import { deepFreeze } from "../memory_view.ts";

const initializerMount = { volumeMounts: [{ name: "initializer", mountPath: "/workspace" }] };
const withInitializers = runtimeSpec([
  replicatedJob("dataset-initializer", "dataset-initializer", initializerMount),
  replicatedJob("model-initializer", "model-initializer", initializerMount),
  replicatedJob("node", "trainer"),
]);

interface JobCase {
  job: TrainJob;
  runtime?: AnyTrainingRuntime;
  /** `field: message`, one a problem. */
  want: string[];
}

const torchEnv = (name: string) => ({ name, value: "1" });
const jobCases: Record<string, JobCase> = {
  "admits numNodes 0 and Kueue's managedBy": {
    job: trainJob({ trainer: { numNodes: 0 }, managedBy: "kueue.x-k8s.io/multikueue" }),
    want: [],
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
  "admits numNodes of a trainer whose container is missing": {
    job: trainJob({ trainer: { numNodes: 1 } }),
    runtime: runtime(
      runtimeSpec([replicatedJob("node", "trainer", { name: "main" })], { mlPolicy: {} }),
    ),
    want: [],
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
  "refuses a runtime that asks for what nothing executes": {
    job: trainJob(),
    runtime: runtime(runtimeSpec(undefined, {
      mlPolicy: { rings: {} },
      podGroupPolicy: { troupe: {} },
    })),
    want: [
      'spec.runtimeRef: ClusterTrainingRuntime "rt" cannot be used: spec.mlPolicy.rings: ML policy rings is not supported yet',
      'spec.runtimeRef: ClusterTrainingRuntime "rt" cannot be used: spec.podGroupPolicy.troupe: gang scheduling by troupe is not supported yet',
    ],
  },
  "refuses a runtime without jobs": {
    job: trainJob(),
    runtime: runtime(runtimeSpec([])),
    want: ["spec.runtimeRef: must have at least one replicated job in the runtime's template"],
  },
  "refuses what the JobSet's executor would refuse": {
    job: trainJob(),
    runtime: runtime({
      template: {
        spec: {
          replicatedJobs: [replicatedJob("node", "trainer")],
          successPolicy: { operator: "All", targetReplicatedJobs: ["gone"] },
        },
      },
    }),
    want: [
      'spec.runtimeRef: the JobSet of this TrainJob is not valid: spec.successPolicy.targetReplicatedJobs[0]: "gone" is not a replicated job of this JobSet',
    ],
  },
  "gives pods of a NonIndexed job no limit": {
    job: trainJob({}, { name: "a".repeat(49) }),
    runtime: runtime(runtimeSpec([{
      ...replicatedJob("node", "trainer"),
      template: {
        ...replicatedJob("node", "trainer").template,
        spec: {
          completionMode: "NonIndexed",
          template: { spec: { containers: [{ name: "node" }] } },
        },
      },
    }])),
    want: [],
  },
  "reports every problem of every part at once": {
    job: trainJob({
      initializer: { dataset: {} },
      trainer: {
        numNodes: 2,
        command: ["tune", "run"],
        args: ["output_dir=/a", "tokenizer.path=/b"],
        env: [torchEnv("PET_NNODES"), torchEnv("KUBEFLOW_TRAINER_SERVER_URL")],
      },
      runtimePatches: [
        patchOf({ containers: [{ name: "gone" }] }, { manager: "me" }),
        patchOf({}, { job: "nobody" }),
      ],
    }, { name: "a".repeat(60) }),
    want: [
      "spec.runtimeRef: must have dataset-initializer job when trainJob is configured with input datasetConfig",
      'spec.runtimePatches.manager: must be a domain-prefixed path (such as "acme.io/foo")',
      "spec.runtimePatches: must not have container that doesn't exist in the runtime job node",
      "spec.runtimePatches: must not have replicated job that doesn't exist in the runtime job template",
      "spec.trainer.env: must not have reserved envs, invalid envs configured: [KUBEFLOW_TRAINER_SERVER_URL]",
      "spec.trainer.env: must not have reserved envs, invalid envs configured: [PET_NNODES]",
      "spec.runtimeRef.name: must have a supported pretrained model, invalid model configured: ",
      "spec.trainer.numNodes: must be 1 for  model",
      'spec.trainer.args[0]: must not set immutable config "output_dir" in trainer args; it is managed by the runtime',
      'spec.trainer.args[1]: must not set immutable config "tokenizer.path" in trainer args; it is managed by the runtime',
      `metadata.name: yields an invalid child: pod name "${
        "a".repeat(60)
      }-node-0-1-xxxxx" has 75 characters, at most 63 are allowed; shorten the TrainJob's name by 12`,
    ],
  },
};

Deno.test("trainJobProblems() names a rule about all patches once, with all that breaks it", () => {
  const env = [{ name: "A", value: "1" }];
  const patches = ["acme.io/one", "acme.io/two", "three"]
    .map((manager) => patchOf({ containers: [{ name: "node", env }] }, { manager }));
  const input = { trainJob: trainJob({ runtimePatches: patches }), runtime: runtime() };
  const problems = trainJobProblems(deepFreeze({ ...input, executor: "builtin" as const }));
  deepEqual(problems.map(({ field, value }) => [field, value]), [
    ["spec.runtimePatches", ["node"]],
    ["spec.runtimePatches.manager", "three"],
  ]);
});

const texts = (problems: readonly { field: string; message: string }[]) =>
  problems.map((problem) => `${problem.field}: ${problem.message}`);

for (const [sentence, { job, runtime: used = runtime(), want }] of Object.entries(jobCases)) {
  Deno.test(`trainJobProblems() ${sentence}`, () => {
    const input = deepFreeze({ trainJob: job, runtime: used, executor: "builtin" } as const);
    deepEqual(texts(trainJobProblems(input)), want);
  });
}

const trainers: Record<string, NonNullable<TrainJob["spec"]["trainer"]>> = {
  image: { image: "i" },
  command: { command: ["c"] },
  args: { args: ["a"] },
  env: { env: [{ name: "A", value: "1" }] },
  resourcesPerNode: { resourcesPerNode: { limits: { cpu: "1" } } },
};

for (const [field, trainer] of Object.entries(trainers)) {
  Deno.test(`trainJobProblems() refuses ${field} of a trainer whose container is missing`, () => {
    const runtimeOf = (container: string) =>
      runtime(
        runtimeSpec([replicatedJob("node", "trainer", { name: container })], { mlPolicy: {} }),
      );
    const problems = (container: string) =>
      texts(trainJobProblems({
        trainJob: trainJob({ trainer }),
        runtime: runtimeOf(container),
        executor: "builtin",
      }));
    deepEqual(problems("main"), [
      "spec.runtimeRef: must have container with name - node in the trainer job",
    ]);
    deepEqual(problems("node"), []);
  });
}

Deno.test("changedTrainJobProblems() reports only what the change brings", () => {
  const unknown = patchOf({}, { job: "gone" });
  const old = trainJob({ suspend: true, runtimePatches: [unknown] }, { name: "a".repeat(60) });
  const input = { trainJob: old, runtime: runtime(), executor: "builtin" } as const;
  deepEqual(trainJobProblems(input).length, 2);
  const kept = { ...old.spec, runtimePatches: [unknown, patchOf({ nodeSelector: { a: "b" } })] };
  deepEqual(changedTrainJobProblems({ ...input, trainJob: { ...old, spec: kept } }, old), []);
  const runtimePatches = [unknown, patchOf({ containers: [{ name: "side" }] })];
  const changed = { ...old, spec: { ...old.spec, runtimePatches } };
  deepEqual(texts(changedTrainJobProblems({ ...input, trainJob: changed }, old)), [
    "spec.runtimePatches: must not have container that doesn't exist in the runtime job node",
  ]);
});

const JOB = "spec.template.spec.replicatedJobs";
const broken = runtime(
  runtimeSpec([replicatedJob("a"), { ...replicatedJob("b", "trainer"), replicas: 2 }]),
);

const runtimeCases: Record<string, { runtime: AnyTrainingRuntime; want: string[] }> = {
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
  "refuses the volume of the pod's identity": {
    runtime: runtime(runtimeSpec([{
      name: "a",
      template: {
        spec: {
          template: { spec: { containers: [], volumes: [{ name: "kubeflow-trainer-token" }] } },
        },
      },
    }])),
    want: [
      `${JOB}[0].template.spec.template.spec.volumes: volume kubeflow-trainer-token is reserved for the pod's identity`,
    ],
  },
  "refuses every policy that nothing executes": {
    runtime: runtime(runtimeSpec(undefined, {
      mlPolicy: { rings: {} },
      podGroupPolicy: { troupe: {} },
    })),
    want: [
      "spec.mlPolicy.rings: ML policy rings is not supported yet",
      "spec.podGroupPolicy.troupe: gang scheduling by troupe is not supported yet",
    ],
  },
};

for (const [sentence, { runtime: { spec }, want }] of Object.entries(runtimeCases)) {
  Deno.test(`runtimeProblems() ${sentence}`, () => {
    if (spec === undefined) throw new Error("a runtime without a spec");
    deepEqual(texts(runtimeProblems(spec, { executor: "builtin" })), want);
  });
}
