/** Tests of what a TrainJob says of the failures of its pods. */
import { deepEqual, equal } from "node:assert/strict";
import { JOB_KEYS } from "../../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { jobRefOf } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { createStallEnd } from "../../../owner/stalls/stall_end.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, LABELS } from "../../../crds/names.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import type { OwnerRef } from "../../../platform/kube/resource.ts";
import { nodeJob, runtime, trainJob } from "../builders.ts";
import { START, World } from "./world.ts";

const at = (second: number) => rfc3339(START + second * 1000);
const TRACEBACK = 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n' +
  "    import tochr\nModuleNotFoundError: No module named 'tochr'\n";
const HEADLINE = "node-0 exited 1: ModuleNotFoundError: No module named 'tochr'";
const WHERE = '(pod "p", on node "n1", container "node")';

async function begun(annotations: Record<string, string> = {}): Promise<World> {
  const world = new World();
  const creationTimestamp = at(0);
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime({}, { replicatedJobs: [nodeJob()] }));
  world.cluster.put(KINDS.trainJob, trainJob({}, { creationTimestamp, annotations }));
  await world.settle();
  return world;
}

/** The Job that controls the job's first pod. */
const JOB = { apiVersion: "batch/v1", kind: "Job", name: "tj-node-0", uid: "j", controller: true };

/** Puts the first pod of the job, whose container ended at those seconds, and goes on unless it has failed. */
function crash(
  world: World,
  seconds: readonly number[],
  phase = "Running",
  runsAt?: number,
  { attempt = "0", ownerReferences = [JOB] }: {
    readonly attempt?: string;
    readonly ownerReferences?: OwnerRef[];
  } = {},
): void {
  const last = seconds.at(-1) ?? 0;
  const terminated = {
    ...{ exitCode: 1, reason: "Error", message: TRACEBACK },
    ...{ startedAt: at(last - 2), finishedAt: at(last) },
  };
  const running = runsAt === undefined
    ? { waiting: { reason: "CrashLoopBackOff" } }
    : { running: { startedAt: at(runsAt) } };
  world.cluster.put(KINDS.pod, {
    metadata: {
      ...{ namespace: "ml", name: "p", uid: "uid-of-p", ownerReferences },
      labels: {
        [LABELS.trainJobName]: "tj",
        [JOBSET_KEYS.replicatedJobName]: "node",
        [JOBSET_KEYS.jobSetUid]: world.jobSet?.metadata.uid ?? "",
        [JOBSET_KEYS.restartAttempt]: attempt,
        [JOB_KEYS.completionIndex]: "0",
      },
    },
    spec: { nodeName: "n1", containers: [{ name: "node" }] },
    status: {
      phase,
      startTime: at(0),
      containerStatuses: [{
        ...{ name: "node", image: "i", imageID: "", ready: false },
        restartCount: seconds.length - (phase === "Failed" || runsAt === undefined ? 1 : 0),
        ...(phase === "Failed"
          ? { state: { terminated } }
          : { state: running, lastState: { terminated } }),
      }],
    },
  });
}

const fail = (world: World) =>
  world.report({
    conditions: [world.condition("Failed", "True", "FailedJobs", "jobset failed due to jobs")],
  });
const failed = {
  headline: HEADLINE,
  ...{ replica: "node-0", pod: "p", node: "n1", container: "node" },
  ...{ reason: "Error", exitCode: 1, message: TRACEBACK.trim() },
};

Deno.test("a job that fails says why in its status and in one event, and its condition stays as it is", async () => {
  const world = await begun();
  crash(world, [30], "Failed");
  fail(world);
  await world.settle();
  deepEqual(world.trainJob.status?.failure, { ...failed, time: at(30) });
  equal(world.trainJob.status?.conditions?.[0]?.message, "jobset failed due to jobs");
  deepEqual(world.warnings.map(({ reason, message }) => `${reason}: ${message}`), [
    `Failed: jobset failed due to jobs; first failure: ${HEADLINE} ${WHERE}`,
  ]);
});

Deno.test("a job that may not have the words of its programs has none, nor has its event", async () => {
  const world = await begun({ [ANNOTATIONS.failureMessage]: "off" });
  crash(world, [30], "Failed");
  fail(world);
  await world.settle();
  const { message: _, ...others } = failed;
  deepEqual(world.trainJob.status?.failure, {
    ...others,
    headline: "node-0 exited 1",
    time: at(30),
  });
  deepEqual(world.warnings.map(({ message }) => message), [
    `jobset failed due to jobs; first failure: node-0 exited 1 ${WHERE}`,
  ]);
});

Deno.test("a job whose pod fails again and again says so before its second restart, until it has recovered", async () => {
  const world = await begun();
  const see = async (now: number, ...pod: [readonly number[], string?, number?]) => {
    world.now = START + now * 1000;
    crash(world, ...pod);
    await world.settle();
    return world.trainJob.status;
  };
  equal((await see(10, [10]))?.failure, undefined);
  deepEqual((await see(40, [10, 40]))?.failure, {
    ...failed,
    time: at(40),
    restarts: 1,
    restartLimit: 6,
  });
  const status = await see(70, [10, 40, 70]);
  equal(status?.state, "Running");
  deepEqual(status?.failure, { ...failed, time: at(70), restarts: 2, restartLimit: 6 });
  await see(100, [10, 40, 70, 100]);
  deepEqual(world.warnings.map(({ reason, message }) => `${reason}: ${message}`), [
    `Restarting: ${HEADLINE} ${WHERE}; started again once; the job fails after at most 6`,
  ]);
  crash(world, [10, 40, 70, 100], "Running", 110);
  deepEqual(await world.reconcile(), { requeueAfterMs: 70_000 });
  equal(world.trainJob.status?.failure?.recoveredTime, undefined);
  world.now = START + 170_000;
  await world.settle();
  const { headline: _, ...of } = failed;
  const history = { ...of, time: at(100), restarts: 4, recoveredTime: at(170) };
  deepEqual(world.trainJob.status?.failure, history);
  world.report({ conditions: [world.condition("Completed")] });
  await world.settle();
  equal(world.trainJob.status?.state, "Complete");
  deepEqual(world.trainJob.status?.failure, history);
});

Deno.test("a job that is suspended has no failure but as history, and counts anew", async () => {
  const world = await begun();
  crash(world, [10, 40, 70]);
  await world.settle();
  world.edit({ suspend: true });
  world.report({ conditions: [world.condition("Suspended")] });
  await world.settle();
  equal(world.trainJob.status?.state, "Suspended");
  equal(world.trainJob.status?.failure?.recoveredTime, at(0));
});

Deno.test("a job that its deadline ends has the failure that its pods had until then", async () => {
  const world = await begun();
  world.edit({ activeDeadlineSeconds: 60 });
  crash(world, [10, 40]);
  world.now = START + 62_000;
  await world.settle();
  equal(world.trainJob.status?.conditions?.[0]?.reason, "DeadlineExceeded");
  equal(world.trainJob.status?.failure?.headline, HEADLINE);
});

Deno.test("a job that its policy of stalls has failed has no JobSet any more", async () => {
  const world = await begun();
  const client = world.cluster.client();
  const end = createStallEnd({ client, clock: { now: () => world.now }, deadlineMs: 1000 });
  const { trainJob } = world;
  world.cluster.put(KINDS.trainJob, {
    ...trainJob,
    status: { ...trainJob.status, state: "Running" },
  });
  const ref = jobRefOf(TRAINJOB, trainJob);
  await end(ref, "no step after 8", new AbortController().signal);
  await world.settle();
  const { state, conditions } = world.trainJob.status ?? {};
  const [failed] = conditions ?? [];
  deepEqual([state, failed?.type, failed?.reason], ["Failed", "Failed", "Stalled"]);
  equal(failed?.message, "no step after 8");
  equal(world.jobSet?.spec?.suspend, true, "its pods end without the garbage collector");
  const none = { ready: 0, succeeded: 0, failed: 0, active: 0, suspended: 1 };
  world.report({
    conditions: [world.condition("Suspended")],
    replicatedJobsStatus: [{ name: "node", ...none }],
  });
  await world.settle();
  equal(world.jobSet, undefined);
});

Deno.test("a failure that follows another leaves nothing of it", async () => {
  const world = await begun();
  crash(world, [10, 40, 70]);
  await world.settle();
  const pod = world.cluster.all(KINDS.pod)[0];
  world.cluster.put(KINDS.pod, {
    ...pod,
    status: { phase: "Failed", reason: "Evicted", startTime: at(90) },
  });
  fail(world);
  await world.settle();
  const { failure } = world.trainJob.status ?? {};
  deepEqual(failure, {
    headline: "node-0 was evicted",
    ...{ replica: "node-0", pod: "p", node: "n1", reason: "Evicted", time: at(90) },
  });
});

/** Pods that have the labels of the job's, and are none of its own. */
const STRANGERS: Record<string, Parameters<typeof crash>[4]> = {
  "of no Job": { attempt: "5", ownerReferences: [] },
  "that a Job owns and does not control": { ownerReferences: [{ ...JOB, controller: false }] },
  "of another kind": { ownerReferences: [{ ...JOB, kind: "ReplicaSet" }] },
  "of another group's Job": { ownerReferences: [{ ...JOB, apiVersion: "batch.example.com/v1" }] },
  "of another JobSet's Job": { ownerReferences: [{ ...JOB, name: "other-node-0" }] },
  ...Object.fromEntries(
    ["99999999999", "x", "-1", "1.5"].map((attempt) =>
      [`of attempt ${attempt}`, { attempt }] as const
    ),
  ),
};
for (const [sentence, stranger] of Object.entries(STRANGERS)) {
  Deno.test(`a pod ${sentence} says nothing of a job, and does not keep it from its end`, async () => {
    const world = await begun();
    crash(world, [30], "Failed", undefined, stranger);
    await world.settle();
    fail(world);
    await world.settle();
    equal(world.trainJob.status?.state, "Failed");
    equal(world.trainJob.status?.failure, undefined);
  });
}

Deno.test("under a definition that drops the field a failure is written, and told, once", async () => {
  const world = await begun();
  world.cluster.dropped.add("failure");
  const patches = () =>
    world.cluster.writes.filter(({ verb, kind }) => verb === "patch" && kind === "TrainJob");
  const before = patches().length;
  crash(world, [10, 40, 70]);
  for (let pass = 0; pass < 3; pass++) await world.reconcile();
  equal(patches().length, before + 1);
  crash(world, [10, 40, 70, 100]);
  for (let pass = 0; pass < 3; pass++) await world.reconcile();
  equal(patches().length, before + 2);
  deepEqual(world.warnings.map(({ message }) => message), [
    `${HEADLINE} ${WHERE}; started again 2 times; the job fails after at most 6`,
  ]);
  world.cluster.dropped.clear();
  crash(world, [10, 40, 70, 100, 130]);
  await world.settle();
  deepEqual(world.trainJob.status?.failure, {
    ...failed,
    time: at(130),
    restarts: 4,
    restartLimit: 6,
  });
});
