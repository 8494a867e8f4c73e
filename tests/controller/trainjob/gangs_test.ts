/** Tests of pod groups over the life of a TrainJob. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { ReplicatedJob } from "../../../crds/jobset.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { nodeJob, replicatedJob, runtime, trainJob } from "../builders.ts";
import { KEY, World } from "./world.ts";

const KIND = KINDS.coschedulingPodGroup;
const cpu = { resources: { requests: { cpu: "1" } } };
const INITIALIZER = replicatedJob("dataset-initializer", "dataset-initializer", cpu);
const STAGED: ReplicatedJob[] = [
  INITIALIZER,
  { ...nodeJob(cpu), dependsOn: [{ name: "dataset-initializer", status: "Complete" }] },
];

/** A TrainJob of three nodes in a gang. */
function begin(jobs: ReplicatedJob[] = [nodeJob(cpu)], spec = {}) {
  const world = new World();
  world.executor = "external";
  const podGroupPolicy = { coscheduling: {} };
  const gang = runtime({ podGroupPolicy }, { replicatedJobs: jobs });
  gang.spec = { ...gang.spec, podGroupPolicy, template: { spec: { replicatedJobs: jobs } } };
  world.cluster.put(KINDS.clusterTrainingRuntime, gang);
  world.cluster.put(KINDS.trainJob, trainJob({ trainer: { numNodes: 3 }, ...spec }));
  return world;
}

function groupOf(world: World): Record<string, unknown> | undefined {
  const kind = { ...KIND, parse: (value: unknown) => value as { spec: Record<string, unknown> } };
  return world.cluster.peek(kind, KEY)?.spec;
}

const minMember = (world: World) => groupOf(world)?.minMember;
const groupWrites = ({ cluster }: World) =>
  cluster.writes.filter(({ kind }) => kind === KIND.kind).map(({ verb }) => verb);

/** What the kubelet and the executor would report of one pod. */
function podIs(world: World, job: string, index: number, phase: string, attempt = 0): void {
  world.cluster.put(KINDS.pod, {
    metadata: {
      name: `tj-${job}-0-${index}-${attempt}`,
      namespace: "ml",
      labels: {
        [LABELS.trainJobName]: "tj",
        [JOBSET_KEYS.replicatedJobName]: job,
        [JOBSET_KEYS.jobSetUid]: world.jobSet?.metadata.uid ?? "",
        [JOBSET_KEYS.restartAttempt]: String(attempt),
      },
    },
    status: { phase },
  });
}

function jobsAre(world: World, restarts: number, initializer: number): void {
  const counters = { active: 0, failed: 0, ready: 0, suspended: 0 };
  world.report({
    restarts,
    replicatedJobsStatus: [
      { name: "dataset-initializer", ...counters, succeeded: initializer },
      { name: "node", ...counters, succeeded: 0 },
    ],
  });
}

Deno.test("a pod group is created before the JobSet, controlled by the TrainJob, and written once", async () => {
  const world = begin();
  await world.settle();
  const creations = world.cluster.writes.filter(({ verb }) => verb === "create");
  deepEqual(creations.map(({ kind }) => kind), ["ConfigMap", "PodGroup", "JobSet"]);
  deepEqual(groupOf(world), {
    minMember: 3,
    minResources: { cpu: "3" },
    scheduleTimeoutSeconds: 60,
  });
  equal(world.cluster.peek(KIND, KEY)?.metadata?.ownerReferences?.[0]?.uid, "uid-of-tj");
  for (const index of [0, 1, 2]) {
    podIs(world, "node", index, "Running");
    await world.settle();
  }
  for (const index of [0, 1, 2]) {
    podIs(world, "node", index, "Succeeded");
    await world.settle();
  }
  deepEqual(groupWrites(world), ["create"]);
});

Deno.test("members that wait count when it is their turn, before they exist, also after a restart", async () => {
  const world = begin(STAGED);
  await world.settle();
  equal(minMember(world), 1);
  jobsAre(world, 0, 0);
  podIs(world, "dataset-initializer", 0, "Pending");
  await world.settle();
  equal(minMember(world), 1, "the initializer is to be scheduled");
  podIs(world, "dataset-initializer", 0, "Running");
  await world.settle();
  equal(minMember(world), 3, "the trainers will be a gang");
  podIs(world, "dataset-initializer", 0, "Failed");
  await world.settle();
  equal(minMember(world), 1, "the initializer is to be scheduled again");
  podIs(world, "dataset-initializer", 0, "Succeeded");
  jobsAre(world, 0, 1);
  await world.settle();
  equal(minMember(world), 3);
  for (const index of [0, 1, 2]) podIs(world, "node", index, "Running");
  await world.settle();
  jobsAre(world, 1, 0);
  await world.settle();
  equal(minMember(world), 1, "after a restart the pods of the attempt before do not count");
  podIs(world, "dataset-initializer", 0, "Running", 1);
  await world.settle();
  equal(minMember(world), 3);
  deepEqual(groupWrites(world), ["create", "patch", "patch", "patch", "patch", "patch"]);
});

Deno.test("pods count for a JobSet whose status says nothing of restarts", async () => {
  const world = begin(STAGED);
  await world.settle();
  const counters = { active: 0, failed: 0, ready: 0, suspended: 0, succeeded: 0 };
  world.report({ replicatedJobsStatus: [{ name: "dataset-initializer", ...counters }] });
  podIs(world, "dataset-initializer", 0, "Running");
  await world.settle();
  equal(minMember(world), 3);
});

Deno.test("a pod group follows a suspended job, and one that runs is left alone", async () => {
  const world = begin([nodeJob(cpu)], { suspend: true });
  await world.settle();
  world.cluster.edit(KIND, KEY, { spec: { minMember: 1, theirs: "stays" } });
  await world.settle();
  deepEqual([minMember(world), groupOf(world)?.theirs], [3, "stays"]);
  world.report({ conditions: [world.condition("Suspended")] });
  world.edit({ suspend: false });
  await world.settle();
  world.cluster.edit(KIND, KEY, { spec: { minMember: 2 } });
  await world.settle();
  equal(minMember(world), 2, "whoever lowers it has a reason");
  world.cluster.remove(KIND, KEY);
  await world.settle();
  equal(minMember(world), 3, "one that was deleted is made again");
});

Deno.test("a scheduler whose CRD is not installed is named, nothing is made, and the job starts when it is there", async () => {
  const world = begin();
  const absent = new KubeError("the server could not find the requested resource", {
    code: 404,
    reason: "NotFound",
    details: {},
  });
  world.cluster.faults.push(({ kind }) => kind === KIND.kind ? absent : undefined);
  const result = await world.reconcile();
  ok((result?.requeueAfterMs ?? 0) >= 60_000, "it does not ask all the time");
  const text = "the API server does not serve PodGroup of scheduling.x-k8s.io/v1alpha1: install " +
    "the CRD podgroups.scheduling.x-k8s.io with the scheduler that the runtime names; the TrainJob then starts";
  deepEqual(world.conditions, [`ResourcesCreated=False/TrainJobResourcesCreationFailed: ${text}`]);
  match(world.warnings.map(({ message }) => message).join(), /install the CRD podgroups/);
  deepEqual(world.cluster.writes.filter(({ verb }) => verb === "create"), []);
  world.cluster.faults.length = 0;
  await world.settle();
  equal(minMember(world), 3);
  ok(world.jobSet);
  deepEqual(world.conditions, []);
});

Deno.test("a running plain job is not rendered for the sake of gangs", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  const before = world.cluster.calls.length;
  podIs(world, "node", 0, "Running");
  await world.reconcile();
  const calls = world.cluster.calls.slice(before).map(({ verb, kind }) => `${verb} ${kind}`);
  deepEqual(calls, ["patch TrainJob"]);
});

Deno.test("a job in a gang keeps its group when its runtime names no gang any more", async () => {
  const world = begin(STAGED);
  await world.settle();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  jobsAre(world, 0, 0);
  podIs(world, "dataset-initializer", 0, "Running");
  await world.settle();
  equal(minMember(world), 3);
});
