/** Tests of the events that say what happened to a TrainJob. */
import { deepEqual, equal, match } from "node:assert/strict";
import { waitCause } from "../../../controller/trainjob/pod_waits.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { LABELS } from "../../../crds/names.ts";
import type { TrainJobSpec } from "../../../crds/trainjob.ts";
import { nodeJob, runtime, trainJob } from "../builders.ts";
import { START, World } from "./world.ts";

/** A world with a TrainJob and its JobSet. */
async function begun(spec: Partial<TrainJobSpec> = {}): Promise<World> {
  const world = new World();
  const creationTimestamp = new Date(START).toISOString();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime({}, { replicatedJobs: [nodeJob()] }));
  world.cluster.put(KINDS.trainJob, trainJob(spec, { creationTimestamp }));
  await world.settle();
  return world;
}

const told = ({ events }: World) =>
  events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

/** A pod of the job that is as `status` says. */
function pod(world: World, name: string, status: Pod["status"], job = "node"): Pod {
  const labels = {
    [LABELS.trainJobName]: "tj",
    [JOBSET_KEYS.replicatedJobName]: job,
    [JOBSET_KEYS.jobSetUid]: world.jobSet?.metadata.uid ?? "",
    [JOBSET_KEYS.restartAttempt]: "0",
  };
  const owner = { apiVersion: "batch/v1", kind: "Job", name: `tj-${job}-0`, uid: "j" };
  const ownerReferences = [{ ...owner, controller: true }];
  return {
    metadata: { namespace: "ml", name, uid: `uid-of-${name}`, labels, ownerReferences },
    spec: { nodeName: "n1", containers: [{ name: "node" }] },
    status,
  };
}

/** The status of a pod whose container ended at that second. */
function crashed(exitCode: number, reason: string, second: number): Pod["status"] {
  const time = new Date(START + second * 1000).toISOString();
  const terminated = { exitCode, reason, startedAt: time, finishedAt: time };
  return {
    phase: "Failed",
    containerStatuses: [
      {
        name: "node",
        image: "i",
        imageID: "",
        ready: false,
        restartCount: 0,
        state: { terminated },
      },
    ],
  };
}

const runs = { phase: "Running" };

Deno.test("a TrainJob's events say that it was created, ran, rested, resumed and completed", async () => {
  const world = await begun();
  world.cluster.put(KINDS.pod, pod(world, "a", runs));
  await world.settle();
  world.edit({ suspend: true });
  await world.settle();
  world.report({ conditions: [world.condition("Suspended")] });
  world.edit({ suspend: false });
  await world.settle();
  world.report({ conditions: [world.condition("Suspended", "False")] });
  await world.settle();
  const message = "jobset completed successfully";
  world.report({ conditions: [world.condition("Completed", "True", "AllJobsCompleted", message)] });
  await world.settle();
  deepEqual(told(world), [
    'Normal JobSetCreated: Created JobSet "tj"',
    "Normal Running: The first pod of the trainer step runs",
    "Normal Suspended: TrainJob is suspended",
    "Normal Resumed: TrainJob is resumed",
    "Normal Running: The first pod of the trainer step runs",
    "Normal Completed: jobset completed successfully",
  ]);
});

Deno.test("the event of a failure names the pod that failed first, though it is gone, and is not repeated", async () => {
  const world = await begun();
  for (let index = 0; index < 1000; index++) {
    world.cluster.put(KINDS.pod, pod(world, `p-${index}`, runs));
  }
  await world.settle();
  world.cluster.put(KINDS.pod, pod(world, "p-8", crashed(1, "Error", 31)));
  world.cluster.put(KINDS.pod, pod(world, "p-7", crashed(137, "OOMKilled", 30)));
  for (let index = 100; index < 1000; index++) {
    world.cluster.put(KINDS.pod, pod(world, `p-${index}`, crashed(1, "Error", 32)));
  }
  await world.settle();
  world.cluster.remove(KINDS.pod, "ml/p-7");
  const failed = world.condition(
    "Failed",
    "True",
    "FailedJobs",
    "jobset failed due to one or more job failures",
  );
  world.report({ conditions: [failed] });
  await world.settle();
  deepEqual(told(world), [
    'Normal JobSetCreated: Created JobSet "tj"',
    "Normal Running: The first pod of the trainer step runs",
    "Warning Failed: jobset failed due to one or more job failures; first failure: " +
    'node ran out of memory (OOMKilled) (pod "p-7", on node "n1", container "node")',
  ]);
  // Another replica, with nothing but the cluster.
  const next = new World({ cluster: world.cluster });
  await next.settle();
  deepEqual(told(next), []);
});

const pending = (name: string, status: object): Pod =>
  KINDS.pod.parse({ metadata: { name }, spec: {}, status: { phase: "Pending", ...status } });
const waiting = (reason: string, message?: string) => ({
  containerStatuses: [{ name: "node", image: "acme/x:1", state: { waiting: { reason, message } } }],
});
const unscheduled = {
  conditions: [{ type: "PodScheduled", status: "False", message: "0/1 nodes are available." }],
};
const waitingPod = (world: World): Pod => pod(world, "a", pending("a", unscheduled).status);
const WAITS: Record<string, [pods: Pod[], want: string | undefined]> = {
  "nothing without pods": [[], undefined],
  "a pod that is not scheduled": [
    [pending("a", unscheduled)],
    'pod "a" is not scheduled: 0/1 nodes are available.',
  ],
  "an image that cannot be pulled": [
    [
      pending("a", waiting("ContainerCreating")),
      pending("b", waiting("ImagePullBackOff", "Back-off")),
    ],
    'pod "b": image "acme/x:1" of container "node" cannot be pulled (ImagePullBackOff): Back-off',
  ],
  "a ConfigMap that is not there": [
    [pending("a", waiting("CreateContainerConfigError", 'configmap "c" not found'))],
    'pod "a": container "node" waits (CreateContainerConfigError): configmap "c" not found',
  ],
  "pods that do not say": [
    [pending("a", waiting("ContainerCreating"))],
    'pod "a" is Pending and does not say why',
  ],
};
for (const [sentence, [pods, want]] of Object.entries(WAITS)) {
  Deno.test(`waitCause() names ${sentence}`, () => equal(waitCause(pods), want));
}

Deno.test("a job of which no pod runs for five minutes says why, once, and not again after a change of leader", async () => {
  const world = await begun();
  world.cluster.put(KINDS.pod, waitingPod(world));
  world.events.length = 0;
  world.now = START + 299_000;
  deepEqual(await world.reconcile(), { requeueAfterMs: 1000 });
  deepEqual(told(world), []);
  world.now = START + 300_000;
  await world.reconcile();
  await world.reconcile();
  const message = "No pod of the trainer step runs after 5 minutes: " +
    'pod "a" is not scheduled: 0/1 nodes are available.';
  deepEqual(told(world), [`Warning NotStarting: ${message}`]);
  const next = new World({ cluster: world.cluster, since: START + 300_001 });
  next.now = START + 301_000;
  await next.reconcile();
  deepEqual(told(next), []);
});

Deno.test("a job that waits for its initializer is looked at again, until its own pods wait", async () => {
  const world = await begun();
  world.cluster.put(KINDS.pod, pod(world, "i", runs, "dataset-initializer"));
  world.events.length = 0;
  world.now = START + 300_000;
  const looks = () =>
    world.cluster.calls.filter(({ verb, kind }) => verb === "list" && kind === "Pod");
  world.cluster.faults.push(({ verb, kind }) =>
    verb === "list" && kind === "Pod" && world.now < START + 600_000
      ? new Error("no answer")
      : undefined
  );
  deepEqual(await world.reconcile(), { requeueAfterMs: 300_000 });
  world.now += 1000;
  deepEqual(await world.reconcile(), { requeueAfterMs: 299_000 });
  equal(looks().length, 1);
  deepEqual(told(world), []);
  world.now = START + 600_000;
  world.cluster.put(KINDS.pod, waitingPod(world));
  await world.reconcile();
  await world.reconcile();
  deepEqual(told(world), [
    "Warning NotStarting: No pod of the trainer step runs after 10 minutes: " +
    'pod "a" is not scheduled: 0/1 nodes are available.',
  ]);
  equal(looks().length, 2);
});

Deno.test("a job without pods says so when it has waited for long, unless another step's run", async () => {
  for (const hasInitializer of [true, false]) {
    const world = await begun();
    if (hasInitializer) {
      const jobs = new Set(["dataset-initializer"]);
      Object.assign(world.options, {
        runningPods: { jobsOf: () => jobs, countsOf: () => new Map() },
      });
    }
    world.events.length = 0;
    world.now = START + 300_000;
    await world.reconcile();
    const want = "Warning NotStarting: No pod of the trainer step runs after 5 minutes: " +
      "it has no pods; the events of its Jobs may say why";
    deepEqual(told(world), hasInitializer ? [] : [want]);
  }
});

Deno.test("the event of a deadline that passed before a pod ran says why none did", async () => {
  const world = await begun({ activeDeadlineSeconds: 60 });
  world.cluster.put(KINDS.pod, waitingPod(world));
  world.now = START + 61_000;
  await world.settle();
  match(
    told(world).at(-1) ?? "",
    /^Warning Failed: TrainJob exceeded its active deadline; first failure: pod "a" is not scheduled: 0\/1/,
  );
});

Deno.test("pods that cannot be read leave the event of a failure without its cause", async () => {
  const world = await begun({ activeDeadlineSeconds: 60 });
  world.cluster.faults.push(({ verb, kind }) =>
    verb === "list" && kind === "Pod" ? new Error("broken pipe") : undefined
  );
  world.now = START + 61_000;
  await world.settle();
  equal(told(world).at(-1), "Warning Failed: TrainJob exceeded its active deadline");
});
