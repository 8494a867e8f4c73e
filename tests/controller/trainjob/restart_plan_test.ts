/** Tables of the plan of a restart: its next step, its Jobs, and what it waits for. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { ObservedJob } from "../../../controller/trainjob/observed.ts";
import {
  isLiving,
  isOwnPod,
  lateWait,
  planJobs,
  planRestart,
} from "../../../controller/trainjob/restart_plan.ts";
import type { JobSet } from "../../../crds/jobset.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { ANNOTATIONS, LABELS, STEPS, TRAINER_API_VERSION } from "../../../crds/names.ts";
import type { WatchedJob, WatchedPod } from "../../../crds/watched.ts";
import { controllerReference } from "../../../platform/kube/owner_references.ts";
import { jobSet, nodeJob, replicatedJob, trainJob } from "../builders.ts";

const TIME = "2026-01-01T00:00:00Z";
const NOW = Date.parse(TIME);
const RESTART = { count: 2, reason: "Stalled", message: "no step", time: TIME };
const CUT_SHORT = { ...RESTART, endTime: TIME };
const ENDED = {
  type: "Completed",
  status: "True",
  reason: "r",
  message: "m",
  lastTransitionTime: TIME,
} as const;
const SUSPENDED = { ...ENDED, type: "Suspended" } as const;

const owner = controllerReference({
  apiVersion: TRAINER_API_VERSION,
  kind: "TrainJob",
  name: "tj",
  uid: "uid-of-tj",
});

/** The JobSet of the job, with that mark. */
function live(
  mark: string | undefined,
  suspend: boolean,
  conditions: NonNullable<JobSet["status"]>["conditions"] = [],
  metadata: JobSet["metadata"] = {},
): JobSet {
  const replicatedJobs = [replicatedJob("data", STEPS.datasetInitializer), nodeJob()];
  const made = jobSet({ suspend, replicatedJobs }, {
    uid: "uid-of-js",
    resourceVersion: "5",
    ownerReferences: [owner],
    ...(mark && { annotations: { [ANNOTATIONS.restartCount]: mark } }),
    ...metadata,
  });
  return { ...made, status: { conditions } };
}

function pod(name: string, more: WatchedPod = {}): WatchedPod {
  const labels = { [LABELS.trainJobName]: "tj", [JOBSET_KEYS.jobSetUid]: "uid-of-js" };
  return { status: { phase: "Running" }, ...more, metadata: { name, labels, ...more.metadata } };
}

function observed(
  of: JobSet | undefined,
  more: Partial<ObservedJob> & { spec?: object; status?: object } = {},
): ObservedJob {
  const { spec, status, ...others } = more;
  const job = {
    ...trainJob(spec),
    status: { state: "Running" as const, restart: RESTART, ...status },
  };
  return { trainJob: job, jobSet: of, trainerPodRuns: true, settled: true, ...others };
}

const STEPS_OF: Record<string, [ObservedJob, string]> = {
  "suspends a JobSet that runs": [observed(live(undefined, false)), "suspend"],
  "suspends one of the restart before": [observed(live("1", false)), "suspend"],
  "marks one that is suspended already": [observed(live(undefined, true)), "suspend"],
  "takes a mark that is no number for none": [observed(live("x", false)), "suspend"],
  "waits for the executor": [observed(live("2", true)), "wait"],
  "waits for pods": [observed(live("2", true, [SUSPENDED]), { restartPods: [pod("a")] }), "wait"],
  "looks when none is left": [observed(live("2", true, [SUSPENDED])), "look"],
  "is done when the JobSet runs again": [observed(live("2", false)), "none"],
  "waits without a JobSet": [observed(undefined), "wait"],
  "waits while the JobSet goes": [
    observed(live("2", true, [SUSPENDED], { deletionTimestamp: TIME })),
    "wait",
  ],
  "leaves a JobSet alone that has ended": [observed(live(undefined, false, [ENDED])), "none"],
  "leaves another's JobSet alone": [
    observed(live(undefined, false, [], { ownerReferences: [] })),
    "wait",
  ],
  "leaves a job alone that is suspended": [
    observed(live(undefined, false), { spec: { suspend: true } }),
    "none",
  ],
  "leaves a job alone that is stopped": [
    observed(live(undefined, false), { isStopping: true }),
    "none",
  ],
  "leaves a job alone that has failed": [
    observed(live(undefined, false), { status: { conditions: [{ ...ENDED, type: "Failed" }] } }),
    "none",
  ],
  "does nothing after its end": [
    observed(live("1", false), { status: { restart: { ...RESTART, endTime: TIME } } }),
    "none",
  ],
  "looks before a job goes on whose suspension has ended one": [
    observed(live("2", true, [SUSPENDED]), { status: { restart: CUT_SHORT } }),
    "look",
  ],
  "waits for the pods of one that a suspension has ended": [
    observed(live("2", true, [SUSPENDED]), {
      status: { restart: CUT_SHORT },
      restartPods: [pod("a")],
    }),
    "wait",
  ],
  "leaves it until the job shall go on": [
    observed(live("2", true, [SUSPENDED]), {
      spec: { suspend: true },
      status: { restart: CUT_SHORT },
    }),
    "none",
  ],
  "leaves a suspension alone that is not of a restart": [
    observed(live(undefined, true, [SUSPENDED]), { status: { restart: CUT_SHORT } }),
    "none",
  ],
  "does nothing without a restart": [
    observed(live(undefined, false), { status: { restart: undefined } }),
    "none",
  ],
};

for (const [sentence, [job, want]] of Object.entries(STEPS_OF)) {
  Deno.test(`\`planRestart()\` ${sentence}`, () => equal(planRestart(job).kind, want));
}

Deno.test("`planRestart()` suspends and marks in one write, of the JobSet as it was read", () => {
  deepEqual(planRestart(observed(live("1", false))), {
    kind: "suspend",
    write: {
      kind: "patch",
      body: {
        metadata: {
          annotations: { [ANNOTATIONS.restartCount]: "2" },
          uid: "uid-of-js",
          resourceVersion: "5",
        },
        spec: { suspend: true },
      },
    },
  });
});

const PODS: Record<string, [WatchedPod, boolean]> = {
  "that runs": [pod("a"), true],
  "that is pending": [pod("a", { status: { phase: "Pending" } }), true],
  "that is being deleted": [pod("a", { metadata: { deletionTimestamp: TIME } }), true],
  "whose phase is not known": [pod("a", { status: { phase: "Unknown" } }), true],
  "that has succeeded": [pod("a", { status: { phase: "Succeeded" } }), false],
  "that has failed": [pod("a", { status: { phase: "Failed" } }), false],
  "of another job": [pod("a", { metadata: { labels: { [LABELS.trainJobName]: "x" } } }), false],
  "of no JobSet that is known": [
    pod("a", { metadata: { labels: { [LABELS.trainJobName]: "tj" } } }),
    true,
  ],
  "of another JobSet": [
    pod("a", {
      metadata: { labels: { [LABELS.trainJobName]: "tj", [JOBSET_KEYS.jobSetUid]: "x" } },
    }),
    false,
  ],
};

for (const [sentence, [one, want]] of Object.entries(PODS)) {
  Deno.test(`\`isToEnd()\` of a pod ${sentence}`, () => {
    equal(isOwnPod(one, trainJob(), live("2", true)) && isLiving(one), want);
  });
}

Deno.test("`isOwnPod()` counts pods of every JobSet of a job that has none", () => {
  const labels = { [LABELS.trainJobName]: "tj", [JOBSET_KEYS.jobSetUid]: "x" };
  equal(isOwnPod(pod("a", { metadata: { labels } }), trainJob(), undefined), true);
});

function batchJob(name: string, more: WatchedJob = {}): WatchedJob {
  const replicated = name.replace(/-\d+$/, "");
  return {
    spec: { suspend: true },
    status: { conditions: [SUSPENDED] },
    ...more,
    metadata: {
      name: `tj-${name}`,
      labels: { [JOBSET_KEYS.replicatedJobName]: replicated },
      ...more.metadata,
    },
  };
}

const done = { conditions: [{ ...ENDED, type: "Complete" }], succeeded: 1 };
const JOBS: Record<string, [WatchedJob[], string[], boolean]> = {
  "no Job": [[], [], true],
  "Jobs that rest": [[batchJob("data-0", { status: done }), batchJob("node-0")], [], true],
  "an index that succeeded": [
    [batchJob("node-0", { status: { conditions: [SUSPENDED], succeeded: 1 } })],
    ["tj-node-0"],
    false,
  ],
  "one that is being deleted": [
    [
      batchJob("node-0", {
        metadata: {
          deletionTimestamp: TIME,
          labels: { [JOBSET_KEYS.replicatedJobName]: "node" },
        },
        status: { succeeded: 1 },
      }),
    ],
    [],
    false,
  ],
  "a trainer that is complete": [[batchJob("node-0", { status: done })], ["tj-node-0"], false],
  "one that is not suspended": [[batchJob("node-0", { spec: { suspend: false } })], [], false],
  "one whose controller has not heard of it": [[batchJob("node-0", { status: {} })], [], false],
};

for (const [sentence, [jobs, remove, mayRestart]] of Object.entries(JOBS)) {
  Deno.test(`\`planJobs()\` with ${sentence}`, () => {
    const set = live("2", true, [SUSPENDED]);
    const plan = planJobs(observed(set), set, jobs);
    deepEqual(plan.remove.map(({ metadata }) => metadata?.name), remove);
    equal(plan.mayRestart, mayRestart);
  });
}

/** A pod of the Job with that UID, which has succeeded. */
function succeeded(name: string, uid: string, { isUncounted, metadata }: WatchedPod = {}) {
  const owner = controllerReference({ apiVersion: "batch/v1", kind: "Job", name: "j", uid });
  return pod(name, {
    status: { phase: "Succeeded" },
    ...(isUncounted && { isUncounted }),
    metadata: { ownerReferences: [owner], ...metadata },
  });
}

Deno.test("`planJobs()` takes a succeeded pod that is being deleted for spent while it is to be counted", () => {
  const set = live("2", true, [SUSPENDED]);
  const job = batchJob("node-0");
  const jobs = [{ ...job, metadata: { ...job.metadata, uid: "uid-of-j" } }];
  const going = { metadata: { deletionTimestamp: TIME } };
  const removed = (one: WatchedPod) =>
    planJobs(observed(set, { restartPods: [one] }), set, jobs).remove.length;
  equal(removed(succeeded("a", "uid-of-j", { ...going, isUncounted: true })), 1);
  equal(removed(succeeded("a", "uid-of-j", going)), 0);
});

Deno.test("`planJobs()` deletes a Job whose succeeded pod is not counted yet", () => {
  const set = live("2", true, [SUSPENDED]);
  const restartPods = [succeeded("a", "uid-of-another"), succeeded("b", "uid-of-j")];
  const job = batchJob("node-0");
  const { remove } = planJobs(observed(set, { restartPods }), set, [
    job,
    { ...job, metadata: { ...job.metadata, uid: "uid-of-j" } },
  ]);
  equal(remove.length, 1);
});

Deno.test("`planJobs()` of what a suspension has ended waits until its executor has made the Jobs anew", () => {
  const set = live("2", true, [SUSPENDED]);
  const job = observed(set, { status: { restart: CUT_SHORT } });
  equal(planJobs(job, set, []).mayRestart, false);
  equal(planJobs(job, set, [batchJob("node-0")]).mayRestart, true);
});

Deno.test("`lateWait()` of what a suspension has ended tells of pods, and of nothing else", () => {
  const job = observed(live("2", true), { status: { restart: CUT_SHORT } });
  const late = { sinceMs: 0, nowMs: NOW + 60_000 };
  deepEqual(lateWait(job, late), {});
  match(lateWait({ ...job, restartPods: [pod("a")] }, late).text ?? "", /^pod "a" does not go/);
});

Deno.test("`lateWait()` names pods a minute after the end of their grace, and the first of many", () => {
  const going = (name: string, seconds: number) =>
    pod(name, {
      spec: { nodeName: "n1" },
      metadata: { deletionTimestamp: new Date(NOW + seconds * 1000).toISOString() },
    });
  const at = (restartPods: WatchedPod[], seconds: number) =>
    lateWait(observed(live("2", true), { restartPods }), {
      sinceMs: 0,
      nowMs: NOW + seconds * 1000,
    });
  deepEqual(at([going("a", 30)], 89), { dueMs: 1000 });
  deepEqual(at([pod("a")], 59), { dueMs: 1000 });
  match(at([going("a", 30), going("b", 600)], 90).text ?? "", /^pod "a" on node "n1" does not go/);
  const many = ["a", "b", "c", "d", "e"].map((name) => going(name, 30));
  match(at(many, 90).text ?? "", /^pod "a" on .*, pod "c" on node "n1" and 2 more do not go/);
  match(at([], 60).text ?? "", /not suspended yet/);
});

Deno.test("`lateWait()` gives a new leader a minute", () => {
  const job = observed(live("2", true));
  deepEqual(lateWait(job, { sinceMs: NOW + 3_600_000, nowMs: NOW + 3_630_000 }), { dueMs: 30_000 });
});
