/** Cases of a TrainJob's life after its creation: suspension, ends, deadlines, deletions, edits. */
import type { CaseTable, Step } from "../case.ts";
import type { NamespaceView } from "../cluster_view.ts";
import {
  container,
  create,
  type Fields,
  hasCondition,
  job,
  jobPatch,
  JS,
  node,
  patch,
  plain,
  pods,
  remove,
  rendered,
  RT,
  runtimePatch,
  TJ,
  torch,
  trainJob,
} from "../sketches.ts";

const complete = hasCondition("trainJobs", "Complete");
const failed = hasCondition("trainJobs", "Failed");

const once = plain({
  jobs: [node({ job: { backoffLimit: 0 }, pod: { restartPolicy: "Never" } })],
});

const started = (runtime = once, spec: Fields = {}): Step => ({
  actions: [create(runtime), create(trainJob(spec))],
  until: rendered,
});
const change = (spec: Fields, until?: Step["until"]): Step => ({
  actions: [patch(TJ, { spec })],
  ...until === undefined ? {} : { until },
});
const suspended = (wanted: boolean) => (view: NamespaceView) =>
  view.get("jobSets", "tj")?.spec?.suspend === wanted &&
  view.list("jobs").every(({ spec }) => spec?.suspend === wanted);
const jobsStatus = (wanted: (status: Fields) => boolean) => (view: NamespaceView) => {
  const all = view.get("trainJobs", "tj")?.status?.jobsStatus;
  return Array.isArray(all) && all.every(wanted);
};

const ENDS: CaseTable = {
  "a TrainJob completes": [
    started(),
    {
      actions: [pods("tj-node-0", "Running")],
      until: jobsStatus(({ ready }) => ready === 1),
    },
    { actions: [pods("tj-node-0", "Succeeded")], until: complete },
  ],
  "a TrainJob of two nodes completes": [
    started(torch(), { trainer: { numNodes: 2 } }),
    { actions: [pods("tj-node-0", "Running", { indexes: [0] })] },
    { actions: [pods("tj-node-0", "Succeeded")], until: complete },
  ],
  "a TrainJob fails": [
    started(),
    { actions: [pods("tj-node-0", "Failed")], until: failed },
  ],
  "a TrainJob without pods completes": [
    { ...started(plain(), { trainer: { numNodes: 0 } }), until: complete },
  ],
  "a TrainJob restarts, then has failed too often": [
    started(plain({
      jobSet: { failurePolicy: { maxRestarts: 1 } },
      jobs: [node({ job: { backoffLimit: 0 }, pod: { restartPolicy: "Never" } })],
    })),
    {
      actions: [pods("tj-node-0", "Failed", { attempt: 0 })],
      until: (view) =>
        view.list("pods").some(({ metadata }) =>
          metadata.labels?.["jobset.sigs.k8s.io/restart-attempt"] === "1"
        ),
    },
    { actions: [pods("tj-node-0", "Failed", { attempt: 1 })], until: failed },
  ],
  "a failure policy ends a TrainJob": [
    started(plain({
      jobSet: { failurePolicy: { maxRestarts: 3, rules: [{ name: "x", action: "FailJobSet" }] } },
      jobs: [node({ job: { backoffLimit: 0 }, pod: { restartPolicy: "Never" } })],
    })),
    { actions: [pods("tj-node-0", "Failed")], until: failed },
  ],
  "a success policy ends a TrainJob": [
    started(plain({
      jobSet: { successPolicy: { operator: "All", targetReplicatedJobs: ["node"] } },
      jobs: [job("server"), node()],
    })),
    { actions: [pods("tj-node-0", "Succeeded")], until: complete },
  ],
  "an initializer completes, then the trainer begins": [
    started(plain({
      jobs: [
        job("dataset-initializer", { step: "dataset-initializer" }),
        node({ more: { dependsOn: [{ name: "dataset-initializer", status: "Complete" }] } }),
      ],
    })),
    {
      actions: [pods("tj-dataset-initializer-0", "Succeeded")],
      until: (view) => view.get("jobs", "tj-node-0") !== undefined,
    },
    { actions: [pods("tj-node-0", "Succeeded")], until: complete },
  ],
  "nothing is made again for a TrainJob that ended": [
    started(),
    { actions: [pods("tj-node-0", "Succeeded")], until: complete },
    {
      actions: [remove(JS)],
      until: (view) => view.get("jobSets", "tj") === undefined,
    },
  ],
  "nothing is made again for a TrainJob that failed": [
    started(),
    { actions: [pods("tj-node-0", "Failed")], until: failed },
    { actions: [remove(JS)] },
  ],
  "the JobSet of a TrainJob that completed expires": [
    started(plain({ jobSet: { ttlSecondsAfterFinished: 2 } })),
    {
      actions: [pods("tj-node-0", "Succeeded")],
      until: (view) => complete(view) && view.get("jobSets", "tj") === undefined,
    },
  ],
  "a TrainJob that ended is suspended": [
    started(),
    { actions: [pods("tj-node-0", "Succeeded")], until: complete },
    change({ suspend: true }),
  ],
};

const SUSPENSION: CaseTable = {
  "a TrainJob is created suspended": [{
    ...started(once, { suspend: true }),
    until: (view) => suspended(true)(view) && hasCondition("trainJobs", "Suspended")(view),
  }],
  "a suspended TrainJob resumes and completes": [
    started(once, { suspend: true }),
    change({ suspend: false }, suspended(false)),
    { actions: [pods("tj-node-0", "Succeeded")], until: complete },
  ],
  "a running TrainJob is suspended": [
    started(),
    change({ suspend: true }, suspended(true)),
  ],
  "a running TrainJob is suspended and resumes": [
    started(),
    change({ suspend: true }, suspended(true)),
    change({ suspend: false }, suspended(false)),
  ],
  "a suspended TrainJob is given what Kueue decided, and resumes": [
    started(once, { suspend: true }),
    change({
      suspend: false,
      runtimePatches: [
        runtimePatch("kueue.x-k8s.io/manager", [
          jobPatch("node", { nodeSelector: { flavor: "spot" } }, { labels: { podset: "node" } }),
        ]),
      ],
    }, suspended(false)),
  ],
  "a suspended TrainJob is given tolerations, gates and annotations": [
    started(once, { suspend: true }),
    change({
      runtimePatches: [
        runtimePatch("example.com/me", [
          jobPatch("node", {
            tolerations: [{ key: "spot", operator: "Exists" }],
            schedulingGates: [{ name: "example.com/gate" }],
          }, { annotations: { "me.io/a": "1" } }),
        ], { labels: { queue: "q" } }),
      ],
    }, (view) => view.get("jobSets", "tj")?.metadata.labels?.queue === "q"),
    change({ suspend: false }, suspended(false)),
  ],
  "a suspended TrainJob is given what its JobSet does not take": [
    started(once, { suspend: true }),
    change({
      runtimePatches: [
        runtimePatch("example.com/me", [
          jobPatch("node", { volumes: [{ name: "late", emptyDir: {} }] }),
        ]),
      ],
    }),
  ],
  "patches of a running TrainJob do not change": [
    started(),
    change({ runtimePatches: [runtimePatch("example.com/me", [])] }),
  ],
  "patches while the pods of a suspended TrainJob still run": [
    started(),
    { actions: [pods("tj-node-0", "Running")], until: jobsStatus(({ ready }) => ready === 1) },
    {
      actions: [patch(TJ, {
        spec: { suspend: true, runtimePatches: [runtimePatch("example.com/me", [])] },
      })],
    },
  ],
};

const DEADLINES: CaseTable = {
  "a deadline passes": [
    { ...started(once, { activeDeadlineSeconds: 1 }), until: failed },
  ],
  "a deadline in the future": [started(once, { activeDeadlineSeconds: 3600 })],
  "a deadline does not pass for the suspended": [
    started(once, { activeDeadlineSeconds: 1, suspend: true }),
    { actions: [], until: hasCondition("trainJobs", "Suspended") },
  ],
  "a deadline begins when the job resumes": [
    started(once, { activeDeadlineSeconds: 2, suspend: true }),
    change({ suspend: false }, failed),
  ],
};

const OBJECTS: CaseTable = {
  "a JobSet that was deleted is made again": [
    started(),
    {
      actions: [pods("tj-node-0", "Running"), remove(JS)],
      until: (view) =>
        view.list("pods").length > 0 &&
        view.list("pods").every(({ status }) => status?.phase === "Pending") &&
        jobsStatus(({ active, ready }) => active === 1 && ready === 0)(view),
    },
  ],
  "a snapshot that was deleted is made again": [
    started(once, { suspend: true }),
    {
      actions: [
        remove({ apiVersion: "v1", kind: "ConfigMap", name: "tj-runtime-snapshot" }),
        patch(TJ, { metadata: { labels: { touched: "1" } } }),
      ],
      until: (view) => view.get("configMaps", "tj-runtime-snapshot") !== undefined,
    },
  ],
  "the runtime changes while a TrainJob is suspended": [
    started(once, { suspend: true }),
    {
      actions: [
        patch(RT, { spec: { mlPolicy: { numNodes: 5 } } }),
        patch(TJ, { spec: { suspend: false } }),
      ],
      until: suspended(false),
    },
  ],
  "the runtime is deleted while a TrainJob runs": [
    started(),
    { actions: [remove(RT)] },
    { actions: [pods("tj-node-0", "Succeeded")], until: complete },
  ],
  "the runtime is deleted while a TrainJob is suspended": [
    started(once, { suspend: true }),
    { actions: [remove(RT)] },
    change({ suspend: false }, suspended(false)),
  ],
  "a TrainJob is deleted": [
    started(),
    {
      actions: [remove(TJ)],
      until: (view) => view.list("jobSets").length === 0 && view.list("jobs").length === 0,
    },
  ],
  "a cluster runtime": [{
    actions: [
      create(plain({ kind: "ClusterTrainingRuntime", name: "of-the-cluster" })),
      create(trainJob({ runtimeRef: { name: "of-the-cluster" } })),
    ],
    until: rendered,
  }],
  "a deprecated cluster runtime": [{
    actions: [
      create(plain({
        kind: "ClusterTrainingRuntime",
        name: "deprecated",
        labels: { "trainer.kubeflow.org/support": "deprecated" },
      })),
      create(trainJob({ runtimeRef: { name: "deprecated" } })),
    ],
    until: rendered,
  }],
  "a TrainJob that another controller manages": [{
    actions: [create(plain()), create(trainJob({ managedBy: "kueue.x-k8s.io/multikueue" }))],
  }],
  "a running JobSet of the same name that is not the TrainJob's": [
    {
      actions: [create({
        apiVersion: JS.apiVersion,
        kind: JS.kind,
        metadata: { name: "tj" },
        spec: { replicatedJobs: [job("own", { containers: [container("own")] })] },
      })],
      until: (view) => view.get("jobs", "tj-own-0") !== undefined,
    },
    { actions: [create(plain()), create(trainJob())] },
  ],
};

/** See above. */
export const LIFECYCLE: CaseTable = { ...ENDS, ...SUSPENSION, ...DEADLINES, ...OBJECTS };
