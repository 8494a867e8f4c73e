/** TrainJobs whose runtime, labels or JobSet change, and JobSets that upstream's JobSet controller refuses. */
import type { CaseTable } from "../case.ts";
import {
  create,
  env,
  hasEvent,
  initializerJob,
  job,
  node,
  patch,
  plain,
  pods,
  rendered,
  renders,
  RT,
  type RuntimeSketch,
  TJ,
  torch,
  trainJob,
} from "../sketches.ts";

const DEPRECATED = { "trainer.kubeflow.org/support": "deprecated" };
const touched = patch(TJ, { metadata: { labels: { touched: "1" } } });
const refused = (sketch: RuntimeSketch) => [{
  actions: [create(plain(sketch)), create(trainJob())],
  until: (view: Parameters<typeof rendered>[0]) => hasEvent(view, "TrainJob"),
}];

/** See above. */
export const CHANGES: CaseTable = {
  "labels of a TrainJob on a deprecated runtime change": [
    {
      actions: [
        create(plain({ kind: "ClusterTrainingRuntime", name: "older", labels: DEPRECATED })),
        create(trainJob({ runtimeRef: { name: "older" } })),
      ],
      until: rendered,
    },
    { actions: [touched] },
  ],
  "the runtime changes so that a suspended TrainJob does not fit it": [
    ...renders(
      torch({ jobs: [initializerJob("dataset-initializer"), node()] }),
      trainJob({ suspend: true, initializer: { dataset: { storageUri: "hf://a/b" } } }),
    ),
    { actions: [patch(RT, { spec: { template: { spec: { replicatedJobs: [node()] } } } })] },
    { actions: [patch(TJ, { spec: { suspend: false } })], until: rendered },
  ],
  "the runtime becomes deprecated, and the TrainJob is suspended": [
    ...renders(plain()),
    { actions: [patch(RT, { metadata: { labels: DEPRECATED } })] },
    { actions: [patch(TJ, { spec: { suspend: true } })] },
  ],
  "a TrainJob of another controller that does not fit its runtime": renders(
    torch(),
    trainJob({
      managedBy: "kueue.x-k8s.io/multikueue",
      trainer: { env: env({ PET_NNODES: "1" }) },
    }),
  ),
  "finalizers and annotations of a running TrainJob change": [
    ...renders(torch(), trainJob({ trainer: { numNodes: 2 } })),
    {
      actions: [
        patch(TJ, { metadata: { annotations: { "a.io/b": "c" }, finalizers: ["a.io/d"] } }),
        pods("tj-node-0", "Running"),
      ],
    },
    { actions: [patch(TJ, { metadata: { finalizers: null } })] },
  ],
  "a JobSet that depends on a later job is refused": refused({
    jobs: [node({ more: { dependsOn: [{ name: "late", status: "Ready" }] } }), job("late")],
  }),
  "a JobSet whose success policy targets nothing is refused": refused({
    jobSet: { successPolicy: { operator: "Any", targetReplicatedJobs: ["nothing"] } },
  }),
  "a JobSet whose failure rule targets nothing is refused": refused({
    jobSet: {
      failurePolicy: {
        rules: [{ name: "r", action: "FailJobSet", targetReplicatedJobs: ["nothing"] }],
      },
    },
  }),
};
