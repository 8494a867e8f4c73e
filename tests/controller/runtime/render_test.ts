/** Tests of `controller/runtime/render.ts`: whole objects, frozen inputs. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { Executor } from "../../../controller/runtime/draft.ts";
import { POLICIES } from "../../../controller/runtime/policies/table.ts";
import { renderJobSet, stagesOf } from "../../../controller/runtime/render.ts";
import type { JobSet } from "../../../crds/jobset.ts";
import type { Container, EnvVar } from "../../../platform/kube/kubernetes.ts";
import type { ClusterTrainingRuntime } from "../../../crds/training_runtime.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { Interner } from "../../../platform/base/interner.ts";
import {
  jobSetOf,
  jobSetOrProblems,
  nodeJob,
  replicatedJob,
  runtime,
  torchRuntime,
  trainJob,
} from "../builders.ts";
import { deepFreeze } from "../memory_view.ts";

function render(
  job: TrainJob,
  from: ClusterTrainingRuntime,
  executor: Executor = "external",
): JobSet {
  const rendered = renderJobSet(deepFreeze({ trainJob: job, runtime: from, executor }));
  // As caches hold them, with equal parts as one.
  const held = { trainJob: structuredClone(job), runtime: structuredClone(from), executor };
  const sharing = new Interner();
  sharing.intern(held.trainJob);
  sharing.intern(held.runtime);
  deepEqual(jobSetOrProblems(renderJobSet(held)), jobSetOrProblems(rendered));
  return jobSetOf(rendered);
}

function problemOf(job: TrainJob, from: ClusterTrainingRuntime): string {
  const rendered = renderJobSet(deepFreeze({ trainJob: job, runtime: from, executor: "builtin" }));
  const result = jobSetOrProblems(rendered);
  return typeof result === "string" ? result : "none";
}

function containers(jobSet: JobSet): Record<string, Container> {
  const all = (jobSet.spec?.replicatedJobs ?? []).flatMap(({ template }) => [
    ...template.spec?.template.spec?.containers ?? [],
    ...template.spec?.template.spec?.initContainers ?? [],
  ]);
  return Object.fromEntries(all.map((container) => [container.name, container]));
}

function envOf(jobSet: JobSet, container = "node"): Record<string, string> {
  const text = ({ value, valueFrom }: EnvVar) => value ?? valueFrom?.fieldRef?.fieldPath ?? "?";
  const env = containers(jobSet)[container]?.env ?? [];
  return Object.fromEntries(env.map((variable) => [variable.name, text(variable)]));
}

const INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']";

Deno.test("renderJobSet() renders an example as a whole", () => {
  const job = trainJob({
    trainer: {
      image: "acme/train:1",
      numNodes: 2,
      env: [{ name: "LOG", value: "debug" }],
      resourcesPerNode: { requests: { cpu: "2500m" } },
    },
  });
  deepEqual(render(job, torchRuntime(), "builtin"), {
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: {
      name: "tj",
      namespace: "ml",
      ownerReferences: [{
        apiVersion: "trainer.kubeflow.org/v1alpha1",
        kind: "TrainJob",
        name: "tj",
        uid: "uid-of-tj",
        controller: true,
        blockOwnerDeletion: true,
      }],
    },
    spec: {
      suspend: false,
      managedBy: "trainer.kubeflow.org/milepost",
      replicatedJobs: [{
        name: "node",
        replicas: 1,
        template: {
          metadata: { labels: { "trainer.kubeflow.org/trainjob-ancestor-step": "trainer" } },
          spec: {
            parallelism: 2,
            completions: 2,
            template: {
              metadata: { labels: { "trainer.kubeflow.org/trainjob-name": "tj" } },
              spec: {
                containers: [{
                  name: "node",
                  image: "acme/train:1",
                  resources: { requests: { cpu: "2500m" } },
                  ports: [{ containerPort: 29500 }],
                  env: [
                    { name: "LOG", value: "debug" },
                    { name: "PET_NNODES", value: "2" },
                    { name: "PET_NPROC_PER_NODE", value: "3" },
                    { name: "PET_NODE_RANK", valueFrom: { fieldRef: { fieldPath: INDEX } } },
                    { name: "PET_MASTER_ADDR", value: "tj-node-0-0.tj" },
                    { name: "PET_MASTER_PORT", value: "29500" },
                  ],
                }],
              },
            },
          },
        },
      }],
    },
  });
});

Deno.test("renderJobSet() has its stages in one order", () => {
  deepEqual(stagesOf(POLICIES).map(({ name }) => name), [
    "hasJobs",
    "stepsExist",
    "runtimePatches",
    "singleReplica",
    "resourcesPerNode",
    "nodeCounts",
    "policyCounts",
    "podBound",
    "policyVariables",
    "trainerEnv",
    "mlPolicy",
    "initializers",
    "trainerOverrides",
    "parallelism",
    "gang",
    "podIdentity",
    "execution",
    "childNames",
  ]);
});

Deno.test("renderJobSet() leaves managedBy to upstream's executor and copies suspend", () => {
  const { spec } = render(trainJob({ suspend: true }), runtime());
  equal(spec?.managedBy, undefined);
  equal(spec?.suspend, true);
});

Deno.test("renderJobSet() passes the runtime's JobSet fields and metadata through", () => {
  const from = runtime({}, {
    replicatedJobs: [replicatedJob("prepare", undefined), {
      ...nodeJob(),
      dependsOn: [{ name: "prepare", status: "Complete" }],
    }],
    network: { subdomain: "sub" },
    successPolicy: { operator: "Any" },
    failurePolicy: { maxRestarts: 3 },
    ttlSecondsAfterFinished: 60,
    suspend: true,
  });
  if (from.spec) from.spec.template.metadata = { labels: { a: "1" }, annotations: { b: "2" } };
  const { metadata, spec } = render(trainJob(), from);
  deepEqual([metadata.labels, metadata.annotations], [{ a: "1" }, { b: "2" }]);
  deepEqual(spec?.replicatedJobs?.[1]?.dependsOn, [{ name: "prepare", status: "Complete" }]);
  deepEqual(
    [spec?.network, spec?.successPolicy, spec?.failurePolicy, spec?.ttlSecondsAfterFinished],
    [{ subdomain: "sub" }, { operator: "Any" }, { maxRestarts: 3 }, 60],
  );
  equal(spec?.suspend, false);
});

function counts(job: TrainJob, from: ClusterTrainingRuntime): unknown {
  return render(job, from).spec?.replicatedJobs?.map(({ template, replicas }) => [
    template.spec?.parallelism,
    template.spec?.completions,
    replicas,
  ]);
}

Deno.test("renderJobSet() counts nodes by TrainJob, policy and template, in this order", () => {
  const parallel = nodeJob();
  if (parallel.template.spec) parallel.template.spec.parallelism = 4;
  const from = (numNodes?: number) =>
    runtime({ mlPolicy: numNodes === undefined ? undefined : { numNodes } }, {
      replicatedJobs: [parallel],
    });
  deepEqual(counts(trainJob(), from()), [[4, 4, 1]]);
  deepEqual(counts(trainJob(), from(3)), [[3, 3, 1]]);
  deepEqual(counts(trainJob(), from(0)), [[1, 1, 1]]);
  deepEqual(counts(trainJob({ trainer: { numNodes: 2 } }), from(3)), [[2, 2, 1]]);
  deepEqual(counts(trainJob({ trainer: { numNodes: 0 } }), from(3)), [[0, 0, 1]]);
  deepEqual(counts(trainJob(), runtime({ mlPolicy: {} }, { replicatedJobs: [parallel] })), [
    [1, 1, 1],
  ]);
});

Deno.test("renderJobSet() gives the TrainJob's numNodes to the first trainer alone, as upstream", () => {
  const jobs = [nodeJob(), replicatedJob("more", "trainer")];
  const from = runtime({ mlPolicy: { numNodes: 2 } }, { replicatedJobs: jobs });
  deepEqual(counts(trainJob({ trainer: { numNodes: 4 } }), from), [[4, 4, 1], [2, 2, 1]]);
});

Deno.test("renderJobSet() runs a step once and leaves other jobs their replicas", () => {
  const from = runtime({}, {
    replicatedJobs: [{ ...nodeJob(), replicas: 3 }, {
      ...replicatedJob("sidecar", undefined),
      replicas: 3,
    }],
  });
  deepEqual(counts(trainJob(), from), [[1, 1, 1], [1, 1, 3]]);
});

Deno.test("renderJobSet() replaces image, command and args as a whole, by an empty list too", () => {
  const from = runtime({}, {
    replicatedJobs: [nodeJob({ command: ["old"], args: ["x"], workingDir: "/w" })],
  });
  const { node } = containers(render(trainJob({ trainer: { command: ["new"], args: [] } }), from));
  deepEqual(
    [node?.image, node?.command, node?.args, node?.workingDir],
    ["acme/base:1", ["new"], [], "/w"],
  );
});

Deno.test("renderJobSet() replaces a variable in place and appends what is new", () => {
  const old = [{ name: "A", value: "1" }, { name: "B", value: "2" }];
  const from = runtime({}, { replicatedJobs: [nodeJob({ env: old })] });
  const secret = { secretKeyRef: { name: "s", key: "k" } };
  const env = [{ name: "C", value: "3" }, { name: "A", valueFrom: secret }];
  deepEqual(containers(render(trainJob({ trainer: { env } }), from)).node?.env, [
    { name: "A", valueFrom: secret },
    { name: "B", value: "2" },
    { name: "C", value: "3" },
  ]);
});

Deno.test("renderJobSet() merges resourcesPerNode by key, without an ML policy too (G7)", () => {
  const limits = { "nvidia.com/gpu": "2", memory: "4Gi" };
  const from = runtime({ mlPolicy: undefined }, {
    replicatedJobs: [nodeJob({ resources: { limits, claims: [{ name: "a" }] } })],
  });
  const resourcesPerNode = {
    limits: { memory: "8Gi" },
    requests: { cpu: "4" },
    claims: [{ name: "b" }],
  };
  const { node } = containers(render(trainJob({ trainer: { resourcesPerNode } }), from));
  deepEqual(node?.resources, {
    limits: { "nvidia.com/gpu": "2", memory: "8Gi" },
    requests: { cpu: "4" },
    claims: [{ name: "b" }, { name: "a" }],
  });
});

Deno.test("renderJobSet() configures the initializers", () => {
  const from = runtime({}, {
    replicatedJobs: [
      replicatedJob("dataset-initializer", "dataset-initializer", {
        env: [{ name: "STORAGE_URI", value: "hf://old" }],
      }),
      replicatedJob("model-initializer", "model-initializer"),
      nodeJob(),
    ],
  });
  const initializer = {
    dataset: { storageUri: "", env: [{ name: "REGION", value: "eu" }], secretRef: { name: "s" } },
    model: { storageUri: "s3://m" },
  };
  const jobSet = render(trainJob({ initializer }), from);
  deepEqual(envOf(jobSet, "dataset-initializer"), { STORAGE_URI: "", REGION: "eu" });
  deepEqual(containers(jobSet)["dataset-initializer"]?.envFrom, [{ secretRef: { name: "s" } }]);
  deepEqual(envOf(jobSet, "model-initializer"), { STORAGE_URI: "s3://m" });
});

Deno.test("renderJobSet() keeps the labels of pods and adds the TrainJob's name", () => {
  const node = nodeJob();
  if (node.template.spec) node.template.spec.template.metadata = { labels: { team: "a" } };
  const jobSet = render(trainJob(), runtime({}, { replicatedJobs: [node] }));
  deepEqual(jobSet.spec?.replicatedJobs?.[0]?.template.spec?.template.metadata?.labels, {
    team: "a",
    "trainer.kubeflow.org/trainjob-name": "tj",
  });
});

const TORCH: Record<string, { job: TrainJob; from: ClusterTrainingRuntime; want: string }> = {
  "is 1 without resources": { job: trainJob(), from: torchRuntime(), want: "1" },
  "is the TrainJob's number": {
    job: trainJob({ trainer: { numProcPerNode: 8 } }),
    from: torchRuntime(),
    want: "8",
  },
  "is auto with GPUs in the limits": {
    job: trainJob({ trainer: { resourcesPerNode: { limits: { "nvidia.com/gpu": "4" } } } }),
    from: torchRuntime(),
    want: "auto",
  },
  "does not count MIG devices": {
    job: trainJob({ trainer: { resourcesPerNode: { limits: { "nvidia.com/mig-1g.5gb": "4" } } } }),
    from: torchRuntime(),
    want: "1",
  },
  "is the CPUs of the requests before the limits": {
    job: trainJob({
      trainer: { resourcesPerNode: { requests: { cpu: "2" }, limits: { cpu: "8" } } },
    }),
    from: torchRuntime(),
    want: "2",
  },
  "is the CPUs of the limits if the requests say 0": {
    job: trainJob({
      trainer: { resourcesPerNode: { requests: { cpu: "0" }, limits: { cpu: "8" } } },
    }),
    from: torchRuntime(),
    want: "8",
  },
  "is the CPUs of the limits, rounded up": {
    job: trainJob({ trainer: { resourcesPerNode: { limits: { cpu: "3.1" } } } }),
    from: torchRuntime(),
    want: "4",
  },
  "sees the runtime's GPUs when the TrainJob sets only CPUs (G8)": {
    job: trainJob({ trainer: { resourcesPerNode: { requests: { cpu: "4" } } } }),
    from: torchRuntime([nodeJob({ resources: { limits: { "nvidia.com/gpu": "2" } } })]),
    want: "auto",
  },
};

for (const [sentence, { job, from, want }] of Object.entries(TORCH)) {
  Deno.test(`torch: PET_NPROC_PER_NODE ${sentence}`, () => {
    equal(envOf(render(job, from)).PET_NPROC_PER_NODE, want);
  });
}

Deno.test("torch injects its variables without a trainer in the TrainJob (G4)", () => {
  deepEqual(envOf(render(trainJob(), torchRuntime())), {
    PET_NNODES: "1",
    PET_NPROC_PER_NODE: "1",
    PET_NODE_RANK: INDEX,
    PET_MASTER_ADDR: "tj-node-0-0.tj",
    PET_MASTER_PORT: "29500",
  });
});

Deno.test("torch finds the master by the trainer's job and the subdomain (G5)", () => {
  const from = runtime({ mlPolicy: { torch: {} } }, {
    replicatedJobs: [replicatedJob("worker", "trainer")],
    network: { subdomain: "sub" },
  });
  equal(envOf(render(trainJob(), from)).PET_MASTER_ADDR, "tj-worker-0-0.sub");
});

Deno.test("torch declares its port once and leaves ports without a name alone (G6)", () => {
  const from = torchRuntime([nodeJob({ ports: [{ containerPort: 8080 }] })]);
  const ports = containers(render(trainJob(), from)).node?.ports;
  deepEqual(ports, [{ containerPort: 8080 }, { containerPort: 29500 }]);
  const declared = torchRuntime([nodeJob({ ports: [{ name: "x", containerPort: 29500 }] })]);
  equal(containers(render(trainJob(), declared)).node?.ports?.length, 1);
});

Deno.test("torch gives the targets of envInjection all variables", () => {
  const node = nodeJob();
  const pod = node.template.spec?.template.spec;
  if (pod) pod.initContainers = [{ name: "check" }];
  const targets = [{ jobName: "node", containerNames: ["check"] }];
  const from = runtime({ mlPolicy: { torch: { envInjection: { targets } } } }, {
    replicatedJobs: [node],
  });
  deepEqual(Object.keys(envOf(render(trainJob(), from), "check")), [
    "PET_NNODES",
    "PET_NPROC_PER_NODE",
    "PET_NODE_RANK",
    "PET_MASTER_ADDR",
    "PET_MASTER_PORT",
  ]);
});

const withTarget = runtime({
  mlPolicy: { torch: { envInjection: { targets: [{ jobName: "node", containerNames: ["x"] }] } } },
});

const PROBLEMS: Record<string, { job: TrainJob; from: ClusterTrainingRuntime; want: RegExp }> = {
  "a reserved variable": {
    job: trainJob({
      trainer: {
        env: [{ name: "PET_NNODES", value: "9" }, { name: "PET_MASTER_ADDR", value: "x" }],
      },
    }),
    from: torchRuntime(),
    want:
      /^spec\.trainer\.env: must not have reserved envs, invalid envs configured: \[PET_MASTER_ADDR PET_NNODES\]$/,
  },
  "a missing target of envInjection": {
    job: trainJob(),
    from: withTarget,
    want: /envInjection target podSet "node" container "x" not found in runtime template/,
  },
  "a name that makes pods' names too long (G13)": {
    job: trainJob({}, { name: "a".repeat(49) }),
    from: runtime(),
    want:
      /^metadata\.name: .*has 64 characters, at most 63 are allowed; shorten the TrainJob's name by 1$/,
  },
  "more nodes than the name leaves room for": {
    job: trainJob({ trainer: { numNodes: 11 } }, { name: "a".repeat(48) }),
    from: runtime(),
    want: /^metadata\.name: .*-node-0-10-xxxxx" has 64 characters/,
  },
  "a runtime without jobs": {
    job: trainJob(),
    from: runtime({}, {}),
    want: /^spec\.runtimeRef: must have at least one replicated job/,
  },
  "an initializer that the runtime has not": {
    job: trainJob({ initializer: { dataset: { storageUri: "hf://x" } } }),
    from: runtime(),
    want:
      /^spec\.runtimeRef: must have dataset-initializer job when .* configured with input datasetConfig$/,
  },
  "a trainer that the runtime has not": {
    job: trainJob({ trainer: { image: "x" } }),
    from: runtime({}, { replicatedJobs: [replicatedJob("node", undefined)] }),
    want: /^spec\.runtimeRef: .*trainjob-ancestor-step: trainer/,
  },
  "an unsupported policy": {
    job: trainJob(),
    from: runtime({ mlPolicy: { rings: {} } }),
    want: /^spec\.mlPolicy\.rings: ML policy rings is not supported yet$/,
  },
};

for (const [what, { job, from, want }] of Object.entries(PROBLEMS)) {
  Deno.test(`renderJobSet() refuses ${what}`, () =>
    ok(want.test(problemOf(job, from)), problemOf(job, from)));
}

Deno.test("renderJobSet() takes the longest name that fits", () => {
  equal(problemOf(trainJob({}, { name: "a".repeat(48) }), runtime()), "none");
});

Deno.test("renderJobSet() gives each of two jobs that caches hold as one its own counts", () => {
  const image = "acme/base:1";
  const jobs = ["node", "more"].map((name) => replicatedJob(name, "trainer", { image }));
  const from = runtime({ mlPolicy: { numNodes: 2 } }, { replicatedJobs: jobs });
  const job = trainJob({ trainer: { numNodes: 4 } });
  const countsOf = ({ spec }: JobSet) =>
    spec?.replicatedJobs?.map(({ name, template }) => [name, template.spec?.parallelism]);
  const plain = countsOf(render(job, from));
  equal(new Set(plain?.map(([, count]) => count)).size, 2, JSON.stringify(plain));
});
