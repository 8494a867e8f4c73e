/** Cases of refusals: by schemas (422), by webhooks (403), and of updates to immutable fields. */
import type { CaseTable } from "../case.ts";
import {
  container,
  create,
  type Fields,
  job,
  node,
  patch,
  plain,
  rendered,
  renders,
  RT,
  runtime,
  TJ,
  torch,
  trainJob,
} from "../sketches.ts";

const invalid = (spec: Fields, metadata?: Fields) => renders(plain(), trainJob(spec, metadata));
const aRuntime = (sketch: Parameters<typeof runtime>[0]) => [{
  actions: [create(runtime(sketch))],
}];
const ofCluster = (name: string, sketch: Parameters<typeof runtime>[0]) =>
  aRuntime({ ...sketch, name, kind: "ClusterTrainingRuntime" });
const changed = (spec: Fields, before: Fields = {}) => [
  { actions: [create(plain()), create(trainJob(before))], until: rendered },
  { actions: [patch(TJ, { spec })] },
];

const TRAINJOBS: CaseTable = {
  "a name that is no DNS label": invalid({}, { name: "Upper" }),
  "a name that begins with a digit": invalid({}, { name: "1job" }),
  "a name of 64 characters": invalid({}, { name: "a".repeat(64) }),
  "a name too long for its pods": invalid({}, { name: "a".repeat(60) }),
  "no reference to a runtime": invalid({ runtimeRef: undefined }),
  "a reference without a name": invalid({ runtimeRef: { kind: "TrainingRuntime" } }),
  "a runtime that is not there": renders(
    plain(),
    trainJob({ runtimeRef: { kind: "TrainingRuntime", name: "nowhere" } }),
  ),
  "a cluster runtime that is not there": renders(
    plain(),
    trainJob({ runtimeRef: { name: "nowhere" } }),
  ),
  "a runtime of an unknown kind": invalid({ runtimeRef: { kind: "Deployment", name: "rt" } }),
  "a runtime of another group": invalid({
    runtimeRef: { apiGroup: "apps", kind: "TrainingRuntime", name: "rt" },
  }),
  "numNodes below 0": invalid({ trainer: { numNodes: -1 } }),
  "numNodes that is no number": invalid({ trainer: { numNodes: "two" } }),
  "numProcPerNode below 1": invalid({ trainer: { numProcPerNode: 0 } }),
  "numProcPerNode auto": invalid({ trainer: { numProcPerNode: "auto" } }),
  "a deadline of 0": invalid({ activeDeadlineSeconds: 0 }),
  "managed by somebody else": invalid({ managedBy: "example.com/me" }),
  "managed by nobody": invalid({ managedBy: "" }),
  "two variables of one name": invalid({
    trainer: { env: [{ name: "A", value: "1" }, { name: "A", value: "2" }] },
  }),
  "an image of 501 characters": invalid({ trainer: { image: "i".repeat(501) } }),
  "129 args": invalid({ trainer: { args: Array.from({ length: 129 }, () => "x") } }),
  "17 runtime patches": invalid({
    runtimePatches: Array.from({ length: 17 }, (_, index) => ({ manager: `a.io/${index}` })),
  }),
  "an unknown field is dropped": invalid({ unknown: 1, trainer: { other: 2 } }),
};

const RUNTIMES: CaseTable = {
  "a runtime without a template": [{
    actions: [create({ ...runtime(), spec: { mlPolicy: { numNodes: 1 } } })],
  }],
  "a runtime without a spec": [{ actions: [create({ ...runtime(), spec: {} })] }],
  "a runtime with two policies": aRuntime({ mlPolicy: { torch: {}, mpi: {} } }),
  "replicas of a trainer": aRuntime({ jobs: [node({ more: { replicas: 2 } })] }),
  "replicas of an initializer in a cluster runtime": ofCluster("replicas", {
    jobs: [job("dataset-initializer", { step: "dataset-initializer", more: { replicas: 2 } })],
  }),
  "a trainer without its container": aRuntime({
    jobs: [node({ containers: [container("other")] })],
  }),
  "an initializer without its container in a cluster runtime": ofCluster("container", {
    jobs: [job("model-initializer", {
      step: "model-initializer",
      containers: [container("other")],
    })],
  }),
  "a runtime whose validation is off": aRuntime({
    jobs: [node({ more: { replicas: 2 } })],
    labels: { "trainer.kubeflow.org/webhook-validation": "disabled" },
  }),
  "env injected into the trainer's own container": aRuntime({
    mlPolicy: {
      torch: { envInjection: { targets: [{ jobName: "node", containerNames: ["node"] }] } },
    },
  }),
  "a deprecated cluster runtime is created": ofCluster("old", {
    labels: { "trainer.kubeflow.org/support": "deprecated" },
  }),
  "in order, and with dependencies": aRuntime({
    jobSet: { startupPolicy: { startupPolicyOrder: "InOrder" } },
    jobs: [job("a"), node({ more: { dependsOn: [{ name: "a", status: "Ready" }] } })],
  }),
  "a runtime's policies change": [
    { actions: [create(runtime({ jobSet: { successPolicy: { operator: "All" } } }))] },
    {
      actions: [
        patch(RT, { spec: { template: { spec: { successPolicy: { operator: "Any" } } } } }),
      ],
    },
  ],
  "a runtime becomes one that is not valid": [
    { actions: [create(runtime())] },
    {
      actions: [patch(RT, {
        spec: { template: { spec: { replicatedJobs: [node({ more: { replicas: 3 } })] } } },
      })],
    },
  ],
};

const UPDATES: CaseTable = {
  "the trainer changes": changed({ trainer: { image: "b:2" } }, { trainer: { image: "a:1" } }),
  "a trainer is added": changed({ trainer: { image: "b:2" } }),
  "a trainer is removed": changed({ trainer: null }, { trainer: { image: "a:1" } }),
  "the runtime's name changes": changed({ runtimeRef: { name: "other" } }),
  "a deadline changes": changed({ activeDeadlineSeconds: 20 }, { activeDeadlineSeconds: 10_000 }),
  "a deadline is added": changed({ activeDeadlineSeconds: 10_000 }),
  "its manager changes": changed({ managedBy: "kueue.x-k8s.io/multikueue" }),
  "labels change": [
    { actions: [create(torch()), create(trainJob())], until: rendered },
    { actions: [patch(TJ, { metadata: { labels: { a: "b" }, annotations: { "c.io/d": "e" } } })] },
  ],
};

const LATER: CaseTable = {
  "the policy mpi": renders(runtime({ mlPolicy: { mpi: {} } })),
};

/** See above. */
export const REFUSALS: CaseTable = { ...TRAINJOBS, ...RUNTIMES, ...UPDATES, ...LATER };
