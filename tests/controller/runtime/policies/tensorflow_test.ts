/** Tests of `controller/runtime/policies/tensorflow.ts`. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { runtimeProblems } from "../../../../controller/runtime/validation.ts";
import type { JobSet, JobSetSpec, ReplicatedJob } from "../../../../crds/jobset.ts";
import type { EnvVar } from "../../../../platform/kube/kubernetes.ts";
import type { ClusterTrainingRuntime } from "../../../../crds/training_runtime.ts";
import type { TrainJob } from "../../../../crds/trainjob.ts";
import { buildEnvironment } from "../../../../standalone/kubelet/containers/environment.ts";
import { nodeJob, replicatedJob, runtime, trainJob } from "../../builders.ts";
import { containerOf, podOf, problemsOf, rendered, runtimeOf } from "./rendering.ts";

const TENSORFLOW = { numNodes: 1, tensorflow: {} };

/** A job without a step whose one container is called like it. */
function taskJob(name: string, { replicas = 1, pods = 1, step }: {
  replicas?: number;
  pods?: number;
  step?: string;
} = {}): ReplicatedJob {
  const job = replicatedJob(name, step, { image: "acme/base:1" });
  if (job.template.spec) job.template.spec.parallelism = pods;
  return { ...job, ...(replicas === 1 ? {} : { replicas }) };
}

/** The environment of a pod, as a kubelet makes it. */
function environmentOf(jobSet: JobSet, job: string, pod: { index: number; replica?: number }) {
  const container = podOf(jobSet, job)?.containers[0];
  if (container === undefined) throw new Error(`no container in ${job}`);
  const { index, replica = 0 } = pod;
  return buildEnvironment({
    container,
    pod: {
      metadata: {
        annotations: {
          "batch.kubernetes.io/job-completion-index": String(index),
          "jobset.sigs.k8s.io/job-index": String(replica),
        },
      },
      spec: { containers: [container] },
    },
    objects: { configMap: () => undefined, secret: () => undefined },
    facts: {
      podIP: "100.0.0.1",
      hostIP: "127.0.0.1",
      nodeName: "n",
      allocatable: { cpu: 1, memory: 1 },
    },
  });
}

function configOf(jobSet: JobSet, job: string, pod: { index: number; replica?: number }) {
  return JSON.parse(environmentOf(jobSet, job, pod).TF_CONFIG ?? "");
}

const WORKERS = (count: number, job = "node") =>
  Array.from({ length: count }, (_, index) => `tj-${job}-0-${index}.tj:2222`);

Deno.test("tensorflow gives every worker the cluster and its own index", () => {
  const jobSet = rendered(runtimeOf(TENSORFLOW), trainJob({ trainer: { numNodes: 3 } }));
  for (const index of [0, 1, 2]) {
    deepEqual(configOf(jobSet, "node", { index }), {
      cluster: { worker: WORKERS(3) },
      task: { type: "worker", index },
      environment: "cloud",
    });
  }
  deepEqual(containerOf(jobSet)?.ports, [{ containerPort: 2222 }]);
});

Deno.test("tensorflow configures a single worker without a trainer in the TrainJob", () => {
  const jobSet = rendered(runtimeOf(TENSORFLOW));
  deepEqual(configOf(jobSet, "node", { index: 0 }), {
    cluster: { worker: WORKERS(1) },
    task: { type: "worker", index: 0 },
    environment: "cloud",
  });
  equal(environmentOf(jobSet, "node", { index: 0 }).TF_TASK_INDEX, "0");
});

Deno.test("tensorflow puts the index before the reference, wherever the runtime has the variables", () => {
  const env: EnvVar[] = [
    { name: "TF_CONFIG", value: "old" },
    { name: "A", value: "1" },
    { name: "TF_TASK_INDEX", value: "9" },
  ];
  const jobSet = rendered(
    runtimeOf(TENSORFLOW, [nodeJob({ env })]),
    trainJob({ trainer: { numNodes: 2, env: [{ name: "B", value: "2" }] } }),
  );
  const names = containerOf(jobSet)?.env?.map(({ name }) => name);
  deepEqual(names, ["A", "B", "TF_TASK_INDEX", "TF_CONFIG"]);
  equal(configOf(jobSet, "node", { index: 1 }).task.index, 1);
});

Deno.test("tensorflow refers to nothing but the index in TF_CONFIG", () => {
  const jobSet = rendered(runtimeOf(TENSORFLOW), trainJob({ trainer: { numNodes: 2 } }));
  const value = containerOf(jobSet)?.env?.find(({ name }) => name === "TF_CONFIG")?.value ?? "";
  deepEqual(value.match(/\$.*?\)/g), ["$(TF_TASK_INDEX)"]);
});

const FULL: JobSetSpec = {
  replicatedJobs: [
    taskJob("chief"),
    taskJob("node", { step: "trainer" }),
    taskJob("ps", { replicas: 2 }),
    taskJob("evaluator"),
    taskJob("notes"),
  ],
  network: { subdomain: "sub" },
};
const full = rendered(
  runtime({ mlPolicy: { numNodes: 2, tensorflow: {} } }, FULL),
  trainJob({ trainer: { numNodes: 4 } }),
);

Deno.test("tensorflow names types by jobs; the evaluator is not in the cluster", () => {
  const cluster = {
    chief: ["tj-chief-0-0.sub:2222"],
    worker: [0, 1, 2, 3].map((index) => `tj-node-0-${index}.sub:2222`),
    ps: ["tj-ps-0-0.sub:2222", "tj-ps-1-0.sub:2222"],
  };
  const tasks = [
    ["chief", { index: 0 }, { type: "chief", index: 0 }],
    ["node", { index: 3 }, { type: "worker", index: 3 }],
    ["ps", { index: 0, replica: 1 }, { type: "ps", index: 1 }],
    ["evaluator", { index: 0 }, { type: "evaluator", index: 0 }],
  ] as const;
  for (const [job, pod, task] of tasks) {
    deepEqual(configOf(full, job, pod), { cluster, task, environment: "cloud" });
  }
  equal(containerOf(full, "notes", "notes")?.env, undefined);
});

Deno.test("tensorflow ends a job with parameter servers when its trainers have ended", () => {
  deepEqual(full.spec?.successPolicy, {
    operator: "All",
    targetReplicatedJobs: ["node", "chief"],
  });
  const own = { operator: "Any" } as const;
  const jobs = { replicatedJobs: [nodeJob(), taskJob("ps")] };
  const from = (spec: JobSetSpec) => runtime({ mlPolicy: TENSORFLOW }, { ...jobs, ...spec });
  deepEqual(rendered(from({ successPolicy: own })).spec?.successPolicy, own);
  equal(rendered(runtimeOf(TENSORFLOW)).spec?.successPolicy, undefined);
});

function countsOf(jobSet: JobSet): unknown {
  return Object.fromEntries(
    (jobSet.spec?.replicatedJobs ?? []).map(({ name, template }) => [
      name,
      template.spec?.parallelism,
    ]),
  );
}

const COUNTS: Record<string, { jobs: ReplicatedJob[]; job?: TrainJob; want: object }> = {
  "the workers by the policy": { jobs: [nodeJob()], want: { node: 3 } },
  "the workers by the TrainJob, also if a chief is the first trainer": {
    jobs: [
      taskJob("chief", { step: "trainer" }),
      taskJob("worker", { step: "trainer" }),
      taskJob("ps", { step: "trainer", pods: 2 }),
    ],
    job: trainJob({ trainer: { numNodes: 5 } }),
    want: { chief: 1, worker: 5, ps: 2 },
  },
  "workers that are no step by their template": {
    jobs: [taskJob("chief", { step: "trainer" }), taskJob("worker", { pods: 2 })],
    want: { chief: 1, worker: 2 },
  },
  "a job of workers that is no step by the TrainJob": {
    jobs: [taskJob("chief", { step: "trainer" }), taskJob("worker")],
    job: trainJob({ trainer: { numNodes: 2 } }),
    want: { chief: 1, worker: 2 },
  },
  "one worker beside one chief": {
    jobs: [taskJob("chief"), nodeJob()],
    job: trainJob({ trainer: { numNodes: 1 } }),
    want: { chief: 1, node: 1 },
  },
  "no workers beside a chief": {
    jobs: [taskJob("chief"), nodeJob()],
    job: trainJob({ trainer: { numNodes: 0 } }),
    want: { chief: 1, node: 0 },
  },
};

for (const [what, { jobs, job, want }] of Object.entries(COUNTS)) {
  Deno.test(`tensorflow counts ${what}`, () => {
    deepEqual(countsOf(rendered(runtimeOf({ numNodes: 3, tensorflow: {} }, jobs), job)), want);
  });
}

Deno.test("tensorflow numbers single tasks after the job that has several of their type", () => {
  const jobs = [
    taskJob("worker"),
    nodeJob(),
    replicatedJob("more", "trainer", { image: "acme/base:1" }),
  ];
  const jobSet = rendered(runtimeOf(TENSORFLOW, jobs), trainJob({ trainer: { numNodes: 2 } }));
  const workers = [...WORKERS(2), ...WORKERS(1, "worker"), ...WORKERS(1, "more")];
  const got = (job: string, index: number) => {
    const { cluster, task } = configOf(jobSet, job, { index });
    deepEqual(cluster, { worker: workers });
    return workers[task.index];
  };
  deepEqual([got("node", 1), got("worker", 0), got("more", 0)], [
    "tj-node-0-1.tj:2222",
    "tj-worker-0-0.tj:2222",
    "tj-more-0-0.tj:2222",
  ]);
});

Deno.test("tensorflow gives its variables to every container of a job that has no container node", () => {
  const ps = taskJob("ps");
  ps.template.spec?.template.spec?.containers.push({ name: "side" });
  const node = nodeJob();
  node.template.spec?.template.spec?.containers.push({ name: "side" });
  const jobSet = rendered(runtimeOf(TENSORFLOW, [node, ps]));
  const has = (job: string, name: string) =>
    containerOf(jobSet, job, name)?.env?.some((variable) => variable.name === "TF_CONFIG") ?? false;
  deepEqual([has("ps", "ps"), has("ps", "side"), has("node", "node"), has("node", "side")], [
    true,
    true,
    true,
    false,
  ]);
});

const reserved = (name: string) => [{ name, value: "1" }];
const PROBLEMS: Record<string, { from?: ClusterTrainingRuntime; job?: TrainJob; want: string }> = {
  "its variables": {
    job: trainJob({
      trainer: { env: [...reserved("TF_TASK_INDEX"), ...reserved("TF_CONFIG"), ...reserved("A")] },
    }),
    want:
      "spec.trainer.env: must not have reserved envs, invalid envs configured: [TF_CONFIG TF_TASK_INDEX]",
  },
  "its variables in a patch of another container": {
    from: runtimeOf(TENSORFLOW, [nodeJob(), taskJob("ps")]),
    job: trainJob({
      runtimePatches: [{
        manager: "acme.io/x",
        trainingRuntimeSpec: {
          template: {
            spec: {
              replicatedJobs: [{
                name: "ps",
                template: {
                  spec: {
                    template: {
                      spec: { containers: [{ name: "ps", env: reserved("TF_CONFIG") }] },
                    },
                  },
                },
              }],
            },
          },
        },
      }],
    }),
    want: "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template" +
      ".spec.template.spec.containers[0].env: must not have reserved envs, invalid envs configured: [TF_CONFIG]",
  },
  "no workers and no chief": {
    job: trainJob({ trainer: { numNodes: 0 } }),
    want: "spec.trainer.numNodes: must be at least 1 for mlPolicy.tensorflow: nothing would train",
  },
  "several nodes of a runtime without workers": {
    from: runtimeOf(TENSORFLOW, [taskJob("chief", { step: "trainer" })]),
    job: trainJob({ trainer: { numNodes: 2 } }),
    want: "spec.trainer.numNodes: must be 1, because the runtime has no job of workers",
  },
  "two chiefs": {
    from: runtimeOf(TENSORFLOW, [taskJob("chief", { pods: 2 }), nodeJob()]),
    want: "spec.runtimeRef: must have at most one chief for mlPolicy.tensorflow, has 2",
  },
  "two jobs with several workers": {
    from: runtimeOf(TENSORFLOW, [nodeJob(), taskJob("worker", { pods: 2 })]),
    job: trainJob({ trainer: { numNodes: 3 } }),
    want:
      "spec.runtimeRef: name of job worker must not be a second job with several tasks of type worker",
  },
};

for (const [what, { from = runtimeOf(TENSORFLOW), job, want }] of Object.entries(PROBLEMS)) {
  Deno.test(`tensorflow refuses ${what}`, () => equal(problemsOf(from, job), want));
}

const unindexed = nodeJob();
if (unindexed.template.spec) unindexed.template.spec.completionMode = "NonIndexed";
const JOBS = "spec.template.spec.replicatedJobs";
const RUNTIMES: Record<string, { jobs: ReplicatedJob[]; want: string[] }> = {
  "no job that trains": {
    jobs: [taskJob("ps")],
    want: [`${JOBS}: must have a job chief or worker, or a trainer, for mlPolicy.tensorflow`],
  },
  "tasks without indexes": {
    jobs: [unindexed],
    want: [
      `${JOBS}[0].template.spec.completionMode: must be Indexed for mlPolicy.tensorflow: tasks have indexes`,
    ],
  },
  "replicas of Jobs with several pods": {
    jobs: [nodeJob(), taskJob("ps", { replicas: 2, pods: 3 })],
    want: [`${JOBS}[1].replicas: must be 1 for mlPolicy.tensorflow if each Job has 3 pods`],
  },
  "a single task beside a job with several of its type": {
    jobs: [taskJob("worker", { pods: 3 }), nodeJob()],
    want: [],
  },
};

for (const [what, { jobs, want }] of Object.entries(RUNTIMES)) {
  Deno.test(`tensorflow ${want.length > 0 ? "refuses" : "admits"} a runtime with ${what}`, () => {
    const { spec } = runtimeOf(TENSORFLOW, jobs);
    ok(spec);
    const problems = runtimeProblems(spec, { executor: "builtin" });
    deepEqual(problems.map(({ field, message }) => `${field}: ${message}`), want);
  });
}
