/** Tests of `controller/runtime/gangs/`: pod groups, and the marks of pods. */
import { deepEqual, equal } from "node:assert/strict";
import type { Child, JobProgress } from "../../../../controller/runtime/child.ts";
import { NO_PROGRESS } from "../../../support/no_progress.ts";
import { renderJobSet } from "../../../../controller/runtime/render.ts";
import type { JobSetSpec, ReplicatedJob } from "../../../../crds/jobset.ts";
import type { TrainingRuntimeSpec } from "../../../../crds/training_runtime.ts";
import type { TrainJobSpec } from "../../../../crds/trainjob.ts";
import { jobSetOrProblems, nodeJob, replicatedJob, runtime, trainJob } from "../../builders.ts";
import { deepFreeze } from "../../memory_view.ts";

type Policy = NonNullable<TrainingRuntimeSpec["podGroupPolicy"]>;

/** A job of a runtime, and what it waits for. */
interface Sketch {
  readonly jobs?: ReplicatedJob[];
  readonly jobSet?: JobSetSpec;
  readonly annotations?: Record<string, string>;
  readonly policy?: Policy;
  readonly spec?: Partial<TrainJobSpec>;
  /** Priority classes that were looked for and not found, with the reason. */
  readonly missing?: Record<string, string>;
}

function rendered(sketch: Sketch) {
  const { jobs = [nodeJob()], jobSet, annotations, policy, spec, missing = {} } = sketch;
  const template = {
    ...(annotations && { metadata: { annotations } }),
    spec: { replicatedJobs: jobs, ...jobSet },
  };
  const used = runtime({ podGroupPolicy: policy ?? { coscheduling: {} }, template });
  return renderJobSet(deepFreeze({
    trainJob: trainJob(spec),
    runtime: used,
    executor: "external",
    missingPriorityClasses: new Map(Object.entries(missing)),
  }));
}

type Counts = Record<string, Partial<JobProgress>>;

const ZERO = { readyJobs: 0, succeededJobs: 0, failedJobs: 0, running: 0, succeeded: 0 };

function childrenOf(sketch: Sketch, counts: Counts = {}, restarted = false): readonly Child[] {
  const result = rendered(sketch);
  if (!("jobSet" in result)) throw new Error(String(jobSetOrProblems(result)));
  const jobs = Object.entries(counts).map(([name, some]) => [name, { ...ZERO, ...some }] as const);
  return result.children({ restarted, jobs: new Map(jobs) });
}

function groupOf(sketch: Sketch, counts: Counts = {}, restarted = false) {
  const [child] = childrenOf(sketch, counts, restarted);
  if (child === undefined || child.mode === "once") throw new Error("no pod group");
  return child;
}

const cpu = (amount: string) => ({ resources: { requests: { cpu: amount } } });
const initializer = replicatedJob("dataset-initializer", "dataset-initializer", cpu("1"));
const after = (status: "Ready" | "Complete", ...names: string[]) => ({
  dependsOn: names.map((name) => ({ name, status })),
});
const STAGED = [initializer, { ...nodeJob(cpu("2")), ...after("Complete", "dataset-initializer") }];
const MODEL = replicatedJob("model-initializer", "model-initializer", cpu("1"));
const TWO_INITIALIZERS = [
  initializer,
  MODEL,
  { ...nodeJob(cpu("2")), ...after("Complete", "dataset-initializer", "model-initializer") },
];
const NODES = { trainer: { numNodes: 4 } };
/** A runtime of MPI: nodes, and a launcher that waits until they are ready. */
const launched = { ...replicatedJob("launcher", undefined, cpu("1")), ...after("Ready", "node") };
const MPI = [nodeJob(cpu("2")), launched];

const SPECS: Record<string, { sketch: Sketch; want: Record<string, unknown> }> = {
  "of coscheduling with the schema's time": {
    sketch: { jobs: [nodeJob(cpu("1"))], spec: NODES },
    want: { minMember: 4, minResources: { cpu: "4" }, scheduleTimeoutSeconds: 60 },
  },
  "of coscheduling with its own time": {
    sketch: { policy: { coscheduling: { scheduleTimeoutSeconds: 15 } } },
    want: { minMember: 1, minResources: {}, scheduleTimeoutSeconds: 15 },
  },
  "of all jobs that wait for none": {
    sketch: { jobs: [initializer, nodeJob(cpu("1"))], spec: { trainer: { numNodes: 100 } } },
    want: { minMember: 101, minResources: { cpu: "101" }, scheduleTimeoutSeconds: 60 },
  },
  "without the jobs that wait": {
    sketch: { jobs: STAGED, spec: NODES },
    want: { minMember: 1, minResources: { cpu: "1" }, scheduleTimeoutSeconds: 60 },
  },
  "of the first job only if they start in order": {
    sketch: {
      jobs: [nodeJob(cpu("2")), replicatedJob("other", undefined, cpu("1"))],
      jobSet: { startupPolicy: { startupPolicyOrder: "InOrder" } },
    },
    want: { minMember: 1, minResources: { cpu: "2" }, scheduleTimeoutSeconds: 60 },
  },
  "with every replica": {
    sketch: {
      jobs: [nodeJob(), { ...replicatedJob("workers", undefined, cpu("1")), replicas: 3 }],
    },
    want: { minMember: 4, minResources: { cpu: "3" }, scheduleTimeoutSeconds: 60 },
  },
  "with GPUs that are given as limits": {
    sketch: {
      jobs: [nodeJob({ resources: { limits: { "nvidia.com/gpu": "8" } } })],
      spec: { trainer: { numNodes: 2, resourcesPerNode: { requests: { cpu: "4" } } } },
    },
    want: {
      minMember: 2,
      minResources: { cpu: "8", "nvidia.com/gpu": "16" },
      scheduleTimeoutSeconds: 60,
    },
  },
  "of one where nobody is to run": {
    sketch: { spec: { trainer: { numNodes: 0 } } },
    want: { minMember: 1, minResources: {}, scheduleTimeoutSeconds: 60 },
  },
  "of Volcano": {
    sketch: { policy: { volcano: {} }, spec: NODES },
    want: { minMember: 4, minResources: {} },
  },
  "of Volcano with the runtime's queue": {
    sketch: {
      policy: { volcano: {} },
      annotations: { "scheduling.volcano.sh/queue-name": "q" },
    },
    want: { minMember: 1, minResources: {}, queue: "q" },
  },
  "of Volcano with the queue of a patch": {
    sketch: {
      policy: { volcano: {} },
      annotations: { "scheduling.volcano.sh/queue-name": "q" },
      spec: {
        runtimePatches: [{
          manager: "acme.io/queues",
          trainingRuntimeSpec: {
            template: { metadata: { annotations: { "scheduling.volcano.sh/queue-name": "mine" } } },
          },
        }],
      },
    },
    want: { minMember: 1, minResources: {}, queue: "mine" },
  },
  "of Volcano with a topology and its defaults": {
    sketch: { policy: { volcano: { networkTopology: {} } } },
    want: {
      minMember: 1,
      minResources: {},
      networkTopology: { mode: "hard", highestTierAllowed: 1 },
    },
  },
  "of Volcano with a topology": {
    sketch: { policy: { volcano: { networkTopology: { mode: "soft", highestTierAllowed: 3 } } } },
    want: {
      minMember: 1,
      minResources: {},
      networkTopology: { mode: "soft", highestTierAllowed: 3 },
    },
  },
};

for (const [sentence, { sketch, want }] of Object.entries(SPECS)) {
  Deno.test(`a pod group ${sentence}`, () => {
    const { content, name, mode } = groupOf(sketch);
    deepEqual({ spec: content.spec, name, mode }, {
      spec: want,
      name: "tj",
      mode: "while-suspended",
    });
  });
}

function withClass(job: ReplicatedJob, priorityClassName: string): ReplicatedJob {
  const copy = structuredClone(job);
  Object.assign(copy.template.spec?.template.spec ?? {}, { priorityClassName });
  return copy;
}

Deno.test("a pod group of Volcano has the priority class of the last job that has one", () => {
  const jobs = [withClass(initializer, "low"), withClass(nodeJob(), "high"), MODEL];
  deepEqual(groupOf({ jobs, policy: { volcano: {} } }).content.spec, {
    minMember: 3,
    minResources: { cpu: "2" },
    priorityClassName: "high",
  });
});

const CLASSES: Record<string, { classes: [string, string]; want: string }> = {
  "before a class of the system is refused": {
    classes: ["low", "system-node-critical"],
    want: 'PriorityClass "low" doesn\'t exist: not found',
  },
  "after a class of the system is not looked at, as upstream": {
    classes: ["system-cluster-critical", "low"],
    want: "none",
  },
};

for (const [what, { classes: [first, second], want }] of Object.entries(CLASSES)) {
  Deno.test(`a priority class that is missing ${what}`, () => {
    const jobs = [withClass(initializer, first), withClass(nodeJob(), second)];
    const result = rendered({ jobs, policy: { volcano: {} }, missing: { low: "not found" } });
    const problems = "problems" in result ? result.problems.map(({ message }) => message) : [];
    deepEqual(problems, want === "none" ? [] : [want]);
  });
}

Deno.test("pods of every replicated job are marked, and a runtime that names both schedulers has two groups", () => {
  const sketch = { jobs: [...STAGED], policy: { coscheduling: {}, volcano: {} } };
  const result = rendered(sketch);
  if (!("jobSet" in result)) throw new Error(String(jobSetOrProblems(result)));
  for (const job of result.jobSet.spec?.replicatedJobs ?? []) {
    const { labels, annotations } = job.template.spec?.template.metadata ?? {};
    equal(labels?.["scheduling.x-k8s.io/pod-group"], "tj");
    equal(annotations?.["scheduling.k8s.io/group-name"], "tj");
  }
  deepEqual(result.children(NO_PROGRESS).map(({ kind: { group } }) => group), [
    "scheduling.x-k8s.io",
    "scheduling.volcano.sh",
  ]);
});

const done = { succeededJobs: 1, succeeded: 1 };
const [COSCHEDULING, VOLCANO] = [{ coscheduling: {} }, { volcano: {} }];

/** Members over time: `[minMember, CPUs]` of coscheduling and of Volcano; undefined if the group is left alone. */
const TURNS: Record<string, {
  jobs: ReplicatedJob[];
  counts: Counts;
  restarted?: boolean;
  want: readonly [number, string] | undefined;
  volcano?: number;
}> = {
  "the initializer is to be scheduled": { jobs: STAGED, counts: {}, want: [1, "1"] },
  "the initializer runs: the trainers count before they exist": {
    jobs: STAGED,
    counts: { "dataset-initializer": { running: 1 } },
    want: [4, "8"],
    volcano: 5,
  },
  "the initializer failed and is to be scheduled again": {
    jobs: STAGED,
    counts: { "dataset-initializer": { running: 0 } },
    want: [1, "1"],
  },
  "its pod has succeeded, its Job is not counted yet": {
    jobs: STAGED,
    counts: { "dataset-initializer": { succeeded: 1 } },
    want: [4, "8"],
    volcano: 5,
  },
  "the trainers are to be scheduled": {
    jobs: STAGED,
    counts: { "dataset-initializer": done, node: { running: 3 } },
    want: [4, "8"],
    volcano: 5,
  },
  "the trainers are to be scheduled, the initializer's pod is gone": {
    jobs: STAGED,
    counts: { "dataset-initializer": { succeededJobs: 1 } },
    want: [4, "8"],
    volcano: 4,
  },
  "the trainers run": {
    jobs: STAGED,
    counts: { "dataset-initializer": done, node: { running: 4 } },
    want: undefined,
  },
  "a trainer is run again when others have succeeded": {
    jobs: [nodeJob(cpu("2"))],
    counts: { node: { running: 1, succeeded: 2 } },
    want: [2, "4"],
    volcano: 4,
  },
  "trainers of a job without turns are to be scheduled: the group is left alone": {
    jobs: [nodeJob(cpu("2"))],
    counts: { node: { running: 1 } },
    want: undefined,
  },
  "the JobSet began again: all count again": {
    jobs: [nodeJob(cpu("2"))],
    counts: {},
    restarted: true,
    want: [4, "8"],
  },
  "one of two initializers runs": {
    jobs: TWO_INITIALIZERS,
    counts: { "dataset-initializer": { running: 1 } },
    want: [2, "2"],
  },
  "one of two initializers has ended": {
    jobs: TWO_INITIALIZERS,
    counts: { "dataset-initializer": done },
    want: [1, "1"],
    volcano: 2,
  },
  "one of two initializers has ended, the other runs": {
    jobs: TWO_INITIALIZERS,
    counts: { "dataset-initializer": done, "model-initializer": { running: 1 } },
    want: [4, "8"],
    volcano: 6,
  },
  "the nodes of a launcher are to be scheduled": { jobs: MPI, counts: {}, want: [4, "8"] },
  "the nodes run, the launcher counts beside them": {
    jobs: MPI,
    counts: { node: { running: 4 } },
    want: [5, "9"],
  },
  "the launcher is to be scheduled": {
    jobs: MPI,
    counts: { node: { running: 4, readyJobs: 1 } },
    want: [5, "9"],
  },
  "launcher and nodes run": {
    jobs: MPI,
    counts: { node: { running: 4, readyJobs: 1 }, launcher: { running: 1 } },
    want: undefined,
  },
};

for (const [when, { jobs, counts, restarted, want, volcano }] of Object.entries(TURNS)) {
  Deno.test(`a group while its JobSet runs: ${when}`, () => {
    const spec = (policy: Policy) =>
      groupOf({ jobs, policy, spec: NODES }, counts, restarted).whileRunning?.spec;
    const [minMember, cpu] = want ?? [];
    const expected = (members: number | undefined) =>
      want && { minMember: members, minResources: { cpu } };
    deepEqual(spec(COSCHEDULING), expected(minMember));
    deepEqual(spec(VOLCANO), expected(volcano ?? minMember));
  });
}

Deno.test("resources that only pods of another turn request are removed from the group", () => {
  const scratch = { resources: { requests: { "ephemeral-storage": "1Gi" } } };
  const first = replicatedJob("dataset-initializer", "dataset-initializer", scratch);
  const jobs = [first, { ...nodeJob(cpu("2")), ...after("Complete", "dataset-initializer") }];
  const counts = { "dataset-initializer": { running: 1 } };
  deepEqual(groupOf({ jobs }, counts).whileRunning?.spec, {
    minMember: 1,
    minResources: { cpu: "2", "ephemeral-storage": null },
  });
});
