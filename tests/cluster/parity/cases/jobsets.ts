/** JobSets and the fates of their pods (kubernetes-sigs/jobset: test/integration/controller/jobset_controller_test.go). */
import type { Action, CaseTable, Step } from "../case.ts";
import type { NamespaceView } from "../cluster_view.ts";
import {
  container,
  create,
  type Fields,
  hasCondition,
  job,
  JS,
  patch,
  pods,
  remove,
} from "../sketches.ts";

const MANAGED_BY = "trainer.kubeflow.org/milepost";
const ATTEMPT = "jobset.sigs.k8s.io/restart-attempt";

const once = (name: string, more: Fields = {}, replicas = 1): Fields =>
  job(name, {
    job: { backoffLimit: 0, ...more },
    pod: { restartPolicy: "Never" },
    more: { replicas },
  });

/** Job `a`, and three of `b`. */
const two = [once("a"), once("b", {}, 3)];

/** JobSet `tj`; both controllers see the same but for who manages it, which each is given its own. */
const jobSet = (spec: Fields = {}, jobs: readonly Fields[] = two): Action =>
  create({
    apiVersion: JS.apiVersion,
    kind: JS.kind,
    metadata: { name: "tj" },
    spec: { replicatedJobs: jobs, ...spec },
  });

const completed = hasCondition("jobSets", "Completed");
const failed = hasCondition("jobSets", "Failed");
const jobs = (count: number) => (view: NamespaceView) => view.list("jobs").length === count;
const active = (count: number) => (view: NamespaceView) => {
  const all = view.get("jobSets", "tj")?.status?.replicatedJobsStatus;
  return Array.isArray(all) &&
    all.reduce((sum, one) => sum + (one.active ?? 0), 0) === count;
};
const ready = (name: string, count: number) => (view: NamespaceView) => {
  const all = view.get("jobSets", "tj")?.status?.replicatedJobsStatus;
  return Array.isArray(all) && all.some((one) => one.name === name && one.ready === count);
};
const attempt = (number: number, count: number) => (view: NamespaceView) =>
  view.list("jobs").filter(({ metadata }) => metadata.labels?.[ATTEMPT] === String(number))
      .length === count && view.list("pods").length >= count;
const suspended = (wanted: boolean) => (view: NamespaceView) =>
  view.list("jobs").length > 0 && view.list("jobs").every(({ spec }) => spec?.suspend === wanted);

const started = (
  spec: Fields = {},
  all: readonly Fields[] = two,
  until: Step["until"] = active(4),
) => ({ actions: [jobSet(spec, all)], until }) satisfies Step;
const B = ["tj-b-0", "tj-b-1", "tj-b-2"];
const everyone = ["tj-a-0", ...B];
const all = (phase: "Running" | "Succeeded" | "Failed", names = everyone) =>
  names.map((name) => pods(name, phase));
const suspend = (wanted: boolean): Action => patch(JS, { spec: { suspend: wanted } });

const ENDS: CaseTable = {
  "Jobs and a Service": [started()],
  "every Job completes": [started(), { actions: all("Succeeded"), until: completed }],
  "some Jobs complete": [
    started(),
    {
      actions: [...all("Succeeded", ["tj-a-0", "tj-b-0", "tj-b-1"]), pods("tj-b-2", "Running")],
      until: ready("b", 1),
    },
  ],
  "success of some jobs only": [
    started({ successPolicy: { operator: "All", targetReplicatedJobs: ["b"] } }),
    { actions: all("Succeeded", ["tj-a-0"]), until: active(3) },
    { actions: all("Succeeded", B), until: completed },
  ],
  "success of any": [
    started({ successPolicy: { operator: "Any" } }),
    { actions: all("Succeeded", ["tj-b-1"]), until: completed },
  ],
  "a Job fails": [started(), { actions: [pods("tj-b-1", "Failed")], until: failed }],
  "a JobSet expires": [
    started({ ttlSecondsAfterFinished: 2 }),
    {
      actions: all("Succeeded"),
      until: (view) => view.get("jobSets", "tj")?.metadata.deletionTimestamp !== undefined,
    },
  ],
  "a JobSet that another controller manages": [{
    actions: [create({
      apiVersion: JS.apiVersion,
      kind: JS.kind,
      metadata: { name: "tj" },
      spec: { replicatedJobs: two, managedBy: "example.com/other" },
    })],
  }],
};

const RESTARTS: CaseTable = {
  "a restart, then one too many": [
    started({ failurePolicy: { maxRestarts: 1 } }),
    { actions: [pods("tj-b-1", "Failed", { attempt: 0 })], until: attempt(1, 4) },
    { actions: [pods("tj-a-0", "Failed", { attempt: 1 })], until: failed },
  ],
  "a restart, then every Job completes": [
    started({ failurePolicy: { maxRestarts: 1 } }),
    {
      actions: [pods("tj-a-0", "Succeeded"), pods("tj-b-1", "Failed", { attempt: 0 })],
      until: attempt(1, 4),
    },
    {
      actions: everyone.map((name) => pods(name, "Succeeded", { attempt: 1 })),
      until: completed,
    },
  ],
  "a restart that waits for all to be gone": [
    started({ failurePolicy: { maxRestarts: 1, restartStrategy: "BlockingRecreate" } }),
    { actions: [pods("tj-b-1", "Failed", { attempt: 0 })], until: attempt(1, 4) },
  ],
  "all ready after a restart": [
    started({ failurePolicy: { maxRestarts: 1, rules: [{ name: "R", action: "RestartJobSet" }] } }),
    { actions: [pods("tj-b-1", "Failed", { attempt: 0 })], until: attempt(1, 4) },
    {
      actions: everyone.map((name) => pods(name, "Running", { attempt: 1 })),
      until: hasCondition("jobSets", "RestartingJobSet", "False"),
    },
  ],
  "a rule fails the JobSet": [
    started({ failurePolicy: { maxRestarts: 3, rules: [{ name: "r", action: "FailJobSet" }] } }),
    { actions: [pods("tj-a-0", "Failed")], until: failed },
  ],
  "a rule without a name": [
    started({ failurePolicy: { maxRestarts: 3, rules: [{ action: "FailJobSet" }] } }),
  ],
  "a rule for another reason does not match": [
    started({
      failurePolicy: {
        maxRestarts: 1,
        rules: [{ name: "r", action: "FailJobSet", onJobFailureReasons: ["PodFailurePolicy"] }],
      },
    }),
    { actions: [pods("tj-a-0", "Failed", { attempt: 0 })], until: attempt(1, 4) },
  ],
  "a rule by message": [
    started({
      failurePolicy: {
        maxRestarts: 1,
        rules: [{
          name: "r",
          action: "FailJobSet",
          onJobFailureMessagePatterns: ["(?i)^job has REACHED.*limit$"],
        }],
      },
    }),
    { actions: [pods("tj-a-0", "Failed")], until: failed },
  ],
  "a rule of a pod failure policy": [
    started({
      failurePolicy: {
        maxRestarts: 1,
        rules: [{ name: "r", action: "FailJobSet", onJobFailureReasons: ["PodFailurePolicy"] }],
      },
    }, [
      once("a", {
        podFailurePolicy: {
          rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [42] } }],
        },
      }),
    ], active(1)),
    { actions: [pods("tj-a-0", "Failed", { exitCode: 42 })], until: failed },
  ],
  "restarts that are not counted": [
    started({
      failurePolicy: {
        maxRestarts: 1,
        rules: [{
          name: "r",
          action: "RestartJobSetAndIgnoreMaxRestarts",
          targetReplicatedJobs: ["a"],
        }],
      },
    }),
    { actions: [pods("tj-a-0", "Failed", { attempt: 0 })], until: attempt(1, 4) },
    { actions: [pods("tj-a-0", "Failed", { attempt: 1 })], until: attempt(2, 4) },
  ],
};

const ORDER: CaseTable = {
  "in order": [
    started({ startupPolicy: { startupPolicyOrder: "InOrder" } }, two, active(1)),
    { actions: [pods("tj-a-0", "Running")], until: active(4) },
    {
      actions: all("Running", B),
      until: hasCondition("jobSets", "StartupPolicyCompleted"),
    },
  ],
  "in order, suspended first": [
    started({ startupPolicy: { startupPolicyOrder: "InOrder" }, suspend: true }, two, jobs(4)),
    { actions: [suspend(false)], until: active(1) },
    { actions: [pods("tj-a-0", "Running")], until: active(4) },
  ],
  "after another's completion": [
    started({}, [
      once("a"),
      { ...once("b"), dependsOn: [{ name: "a", status: "Complete" }] },
    ], active(1)),
    { actions: [pods("tj-a-0", "Succeeded")], until: (view) => jobs(2)(view) && active(1)(view) },
    { actions: [pods("tj-b-0", "Succeeded")], until: completed },
  ],
  "after another's readiness": [
    started({}, [
      once("a"),
      { ...once("b"), dependsOn: [{ name: "a", status: "Ready" }] },
    ], active(1)),
    { actions: [pods("tj-a-0", "Running")], until: (view) => jobs(2)(view) && active(2)(view) },
  ],
};

/** Resumes the JobSet with that placement of its pods. */
const placed = (placement: Fields) =>
  patch(JS, {
    spec: {
      suspend: false,
      replicatedJobs: [job("a", {
        job: { backoffLimit: 0, completionMode: "Indexed" },
        pod: { restartPolicy: "Never", ...placement },
        more: { replicas: 1, groupName: "default" },
      })],
    },
  });

const SUSPENSION: CaseTable = {
  "created suspended": [{
    actions: [jobSet({ suspend: true })],
    until: hasCondition("jobSets", "Suspended"),
  }],
  "suspended while it runs, and resumed": [
    started(),
    { actions: [suspend(true)], until: hasCondition("jobSets", "Suspended") },
    { actions: [suspend(false)], until: (view) => suspended(false)(view) && active(4)(view) },
    { actions: all("Succeeded"), until: completed },
  ],
  "resumed after its template changed": [
    {
      actions: [jobSet({ suspend: true }, [once("a")])],
      until: hasCondition("jobSets", "Suspended"),
    },
    {
      actions: [patch(JS, {
        spec: {
          suspend: false,
          replicatedJobs: [job("a", {
            job: { backoffLimit: 0, completionMode: "Indexed" },
            podMetadata: { labels: { l: "1" }, annotations: { "a.io/a": "1" } },
            pod: {
              restartPolicy: "Never",
              nodeSelector: { zone: "a" },
              tolerations: [{ key: "t", operator: "Exists" }],
            },
            more: { replicas: 1, groupName: "default" },
          })],
        },
      })],
      until: (view) => suspended(false)(view) && active(1)(view),
    },
  ],
  "resumed with another placement": [
    {
      actions: [jobSet({ suspend: true }, [once("a")])],
      until: hasCondition("jobSets", "Suspended"),
    },
    {
      actions: [placed({ nodeSelector: { gpu: "a" }, schedulingGates: [{ name: "a.io/gate" }] })],
      until: (view) => suspended(false)(view) && active(1)(view),
    },
    { actions: [suspend(true)], until: (view) => suspended(true)(view) && active(0)(view) },
    {
      actions: [placed({ nodeSelector: { zone: "b" } })],
      until: (view) => suspended(false)(view) && active(1)(view),
    },
  ],
  "its Jobs complete while it is suspended": [
    started({}, [once("a"), once("b")], active(2)),
    { actions: all("Succeeded", ["tj-a-0"]), until: active(1) },
    { actions: [suspend(true)], until: hasCondition("jobSets", "Suspended") },
  ],
};

const OBJECTS: CaseTable = {
  "a subdomain": [started({ network: { subdomain: "s", enableDNSHostnames: true } })],
  "addresses only when ready": [
    started({ network: { enableDNSHostnames: true, publishNotReadyAddresses: false } }),
  ],
  "no names": [started({ network: { enableDNSHostnames: false } })],
  "a coordinator of all": [
    started({ coordinator: { replicatedJob: "a", jobIndex: 0, podIndex: 0 } }, [
      once("a", { completions: 1, parallelism: 1 }),
      once("b"),
    ], active(2)),
  ],
  "groups of jobs": [
    started({}, [
      { ...once("a"), groupName: "g" },
      { ...once("b", {}, 2), groupName: "h" },
      { ...once("c", {}, 1), groupName: "g" },
    ]),
  ],
  "labels and annotations of Jobs": [
    started({}, [
      job("a", {
        metadata: { labels: { l: "1" }, annotations: { "a.io/a": "1" } },
        podMetadata: { labels: { p: "1" }, annotations: { "p.io/a": "1" } },
      }),
    ], active(1)),
  ],
  "several pods of a Job": [
    started({}, [once("a", { parallelism: 2, completions: 3 })], active(1)),
    { actions: [pods("tj-a-0", "Running")], until: ready("a", 1) },
  ],
  "a Service that was deleted": [
    started(),
    {
      actions: [remove({ apiVersion: "v1", kind: "Service", name: "tj" })],
      until: (view) => view.get("services", "tj") !== undefined,
    },
  ],
  "a Job that was deleted": [
    started(),
    {
      actions: [remove({ apiVersion: "batch/v1", kind: "Job", name: "tj-b-1" })],
      until: (view) => jobs(4)(view) && active(4)(view),
    },
  ],
  "a Job that was suspended by hand": [
    started(),
    {
      actions: [
        patch({ apiVersion: "batch/v1", kind: "Job", name: "tj-b-1" }, { spec: { suspend: true } }),
      ],
      until: suspended(false),
    },
  ],
  "a template that the server refuses": [{
    actions: [jobSet({}, [job("a", { pod: { nodeSelector: { "not a key": "x" } } })])],
    until: (view) => view.list("events").some(({ reason }) => reason === "JobCreationFailed"),
  }],
  "no jobs": [{ actions: [jobSet({}, [])] }],
};

/** A job whose pods mount a claim. */
const mounting = (name: string, volume: string, more: Fields = {}): Fields =>
  job(name, {
    containers: [container("main", { volumeMounts: [{ name: volume, mountPath: "/v" }] })],
    job: { backoffLimit: 0 },
    pod: { restartPolicy: "Never" },
    more,
  });

const CLAIM = {
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage: "1Gi" } },
  volumeMode: "Filesystem",
};

const template = (name: string, metadata: Fields = {}): Fields => ({
  metadata: { name, ...metadata },
  spec: CLAIM,
});

const claims = (...policies: Fields[]): Fields => ({ volumeClaimPolicies: policies });
const RETAIN = { retentionPolicy: { whenDeleted: "Retain" } };
const CLAIM_THERE = create({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "v-tj" },
  spec: CLAIM,
});

const CLAIMS: CaseTable = {
  "a claim that goes with the JobSet": [
    started(claims({ templates: [template("v")] }), [mounting("a", "v"), once("b")], active(2)),
    { actions: all("Succeeded", ["tj-a-0", "tj-b-0"]), until: completed },
  ],
  "claims that stay, with labels and annotations": [
    started(
      claims({
        templates: [
          template("v", { labels: { l: "1" }, annotations: { "a.io/a": "1" } }),
          template("w"),
        ],
        ...RETAIN,
      }),
      [mounting("a", "v"), mounting("b", "w")],
      active(2),
    ),
  ],
  "a claim beside another volume, in an init container": [
    started(claims({ templates: [template("v")] }), [
      job("a", {
        pod: {
          volumes: [{ name: "other", emptyDir: {} }],
          initContainers: [
            container("init", { volumeMounts: [{ name: "v", mountPath: "/v", subPath: "s" }] }),
          ],
        },
      }),
    ], active(1)),
  ],
  "the claim of a suspended JobSet": [{
    actions: [jobSet({ suspend: true, ...claims({ templates: [template("v")] }) }, [
      mounting("a", "v"),
    ])],
    until: hasCondition("jobSets", "Suspended"),
  }],
  "the claim of a JobSet that restarts": [
    started(
      { ...claims({ templates: [template("v")] }), failurePolicy: { maxRestarts: 1 } },
      [mounting("a", "v")],
      active(1),
    ),
    { actions: [pods("tj-a-0", "Failed")], until: attempt(1, 1) },
  ],
  "a claim that is there, and is to stay": [{
    actions: [
      CLAIM_THERE,
      jobSet(claims({ templates: [template("v")], ...RETAIN }), [
        mounting("a", "v"),
      ]),
    ],
    until: active(1),
  }],
  "a claim of a class that is not there": [
    started(
      claims({
        templates: [{ metadata: { name: "v" }, spec: { ...CLAIM, storageClassName: "x" } }],
      }),
      [mounting("a", "v")],
      active(1),
    ),
  ],
  "a claim in another namespace": [{
    actions: [jobSet(claims({ templates: [template("v", { namespace: "x" })] }), [
      mounting("a", "v"),
    ])],
  }],
  "a claim that the server refuses": [{
    actions: [
      jobSet(claims({ templates: [template("v", { annotations: { "not a key": "x" } })] }), [
        mounting("a", "v"),
      ]),
    ],
    until: (view) => view.list("events").some(({ reason }) => reason === "PVCCreationFailed"),
  }],
};

const RESERVED = {
  "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack",
  "alpha.jobset.sigs.k8s.io/node-selector": "true",
};

const PLACEMENT: CaseTable = {
  "Jobs on nodes that are reserved for each": [{
    actions: [create({
      apiVersion: JS.apiVersion,
      kind: JS.kind,
      metadata: { name: "tj", annotations: RESERVED },
      spec: { replicatedJobs: [once("a"), once("b", {}, 2)] },
    })],
    until: active(3),
  }],
  "one Job on nodes that are reserved for it": [
    started({}, [
      job("a", {
        metadata: { annotations: RESERVED },
        pod: { nodeSelector: { zone: "a" }, tolerations: [{ key: "t", operator: "Exists" }] },
      }),
      once("b"),
    ], active(2)),
  ],
};

const jobAttempt = (name: string, number: number) => (view: NamespaceView) =>
  view.get("jobs", name)?.metadata.labels?.["jobset.sigs.k8s.io/job-restart-attempt"] ===
    String(number) &&
  active(4)(view);
const restartJob = (maxRestarts: number, action: string, more: Fields = {}): Fields => ({
  failurePolicy: { maxRestarts, rules: [{ name: "one", action, ...more }] },
});

/** Cases of upstream's feature gate RestartJob, whose actions Milepost's executor has without a gate. */
export const SINGLE_RESTARTS: CaseTable = {
  "one Job restarts, and all complete": [
    started(restartJob(1, "RestartJob")),
    { actions: [pods("tj-b-1", "Failed")], until: jobAttempt("tj-b-1", 1) },
    { actions: all("Succeeded"), until: completed },
  ],
  "a Job restarts once too often": [
    started(restartJob(1, "RestartJob")),
    { actions: [pods("tj-b-1", "Failed")], until: jobAttempt("tj-b-1", 1) },
    { actions: [pods("tj-a-0", "Failed")], until: failed },
  ],
  "restarts of one Job that do not count": [
    started(restartJob(0, "RestartJobAndIgnoreMaxRestarts")),
    { actions: [pods("tj-a-0", "Failed")], until: jobAttempt("tj-a-0", 1) },
    { actions: [pods("tj-a-0", "Failed")], until: jobAttempt("tj-a-0", 2) },
  ],
  "one Job restarts, then the JobSet": [
    started(restartJob(3, "RestartJob", { targetReplicatedJobs: ["a"] })),
    { actions: [pods("tj-a-0", "Failed")], until: jobAttempt("tj-a-0", 1) },
    { actions: [pods("tj-b-0", "Failed")], until: attempt(1, 4) },
  ],
};

/** See above. */
export const JOBSETS: CaseTable = {
  ...ENDS,
  ...RESTARTS,
  ...ORDER,
  ...SUSPENSION,
  ...OBJECTS,
  ...CLAIMS,
  ...PLACEMENT,
};

/** The same cases for the built-in executor, which touches only what is managed by it. */
export function managedByMilepost(cases: CaseTable): CaseTable {
  const marked = (action: Action): Action => {
    if (action.does !== "create" || action.object.kind !== JS.kind) return action;
    const spec = { managedBy: MANAGED_BY, ...Object(action.object.spec) };
    return { ...action, object: { ...action.object, spec } };
  };
  return Object.fromEntries(
    Object.entries(cases).map(([says, steps]) => [
      says,
      steps.map((step) => ({ ...step, actions: step.actions.map(marked) })),
    ]),
  );
}
