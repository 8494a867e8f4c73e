/** Scenes with Kueue: admission, eviction, queues, and what users do against it. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { restartOf } from "../../../crds/job_state.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { isFinished } from "../../../controller/trainjob/observed.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import { kubectl } from "../../cluster/support/installation.ts";
import { patiently } from "../support/patient.ts";
import { teams } from "./objects.ts";
import { hasCondition, type KueueWorld, type Workload } from "./world.ts";

const KUEUE_MANAGER = "kueue.x-k8s.io/manager";

const isRunning = ({ status }: { status?: { state?: string } | undefined }) =>
  status?.state === "Running";

/** The pods of a TrainJob. */
export async function podsOf({ plane }: KueueWorld, name: string) {
  const { items } = await plane.client.list(KINDS.pod, {
    namespace: "default",
    labelSelector: `jobset.sigs.k8s.io/jobset-name=${name}`,
  });
  return items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
}

async function podsRunOn(world: KueueWorld, name: string, pool: string, count: number) {
  await patiently(`${count} pods of ${name} on nodes of ${pool}`, async () => {
    const pods = await podsOf(world, name);
    return pods.length === count && pods.every(({ spec }) => spec?.nodeName?.startsWith(pool));
  });
}

const kueuePatch = async ({ trainJob }: KueueWorld, name: string) =>
  (await trainJob(name)).spec.runtimePatches?.find(({ manager }) => manager === KUEUE_MANAGER);

/** Changes the spec of a TrainJob as a user. */
const edit = ({ plane }: KueueWorld, name: string, spec: object) =>
  plane.client.patch(KINDS.trainJob, { namespace: "default", name }, {
    type: "merge",
    body: { spec },
  });

/** Deactivates or activates a Workload. */
export async function patchWorkload(
  { plane }: KueueWorld,
  { metadata: { name } }: Workload,
  spec: object,
) {
  const args = ["patch", "workload", name, "--type=merge", "-p", JSON.stringify({ spec })];
  await kubectl(plane, args);
}

/** Created suspended, admitted, ready, finished. */
export async function admittedAndFinished(world: KueueWorld): Promise<void> {
  const { player } = world;
  const created = await world.create("first", { queue: "team", nodes: 2 });
  assert.equal(created.spec.suspend, true);
  const [empty] = created.spec.runtimePatches ?? [];
  assert.equal(empty?.manager, KUEUE_MANAGER);
  assert.deepEqual(empty?.trainingRuntimeSpec, { template: { spec: {} } });
  await world.workloadIs("first", "Admitted");
  const running = await world.trainJobThat("first", "runs", isRunning);
  assert.equal(running.spec.suspend, false);
  assert.equal(running.status?.conditions, undefined);
  const [replicatedJob] = (await kueuePatch(world, "first"))?.trainingRuntimeSpec?.template?.spec
    ?.replicatedJobs ?? [];
  const patched = replicatedJob?.template?.spec?.template;
  assert.deepEqual(patched?.spec?.nodeSelector, { pool: "spot" });
  const jobSet = await world.plane.client.get(KINDS.jobSet, {
    namespace: "default",
    name: "first",
  });
  const pod = jobSet.spec?.replicatedJobs?.[0]?.template.spec?.template;
  assert.deepEqual(pod?.spec?.nodeSelector, patched?.spec?.nodeSelector);
  assert.deepEqual(pod?.spec?.tolerations, patched?.spec?.tolerations);
  for (const [key, value] of Object.entries(patched?.metadata?.labels ?? {})) {
    assert.equal(pod?.metadata?.labels?.[key], value);
  }
  await podsRunOn(world, "first", "spot", 2);
  await world.workloadIs("first", "PodsReady");
  await world.reserved("spot", "200m");
  player.end("first", "node");
  const finished = await world.workloadIs("first", "Finished");
  const end = finished.status.conditions?.find(({ type }) => type === "Finished");
  assert.equal(end?.reason, "Succeeded");
  const complete = (await world.trainJob("first")).status?.conditions
    ?.find(({ type }) => type === "Complete");
  assert.equal(end?.message, complete?.message);
}

/** A job that fails gives its quota back. */
export async function failed(world: KueueWorld): Promise<void> {
  world.player.end("failing", "node", "Failed");
  await world.create("failing", { queue: "team" });
  const finished = await world.workloadIs("failing", "Finished");
  assert.equal(
    finished.status.conditions?.find(({ type }) => type === "Finished")?.reason,
    "Failed",
  );
}

/** A job with the shortest time to live stays until Kueue has read its end and given its quota back. */
export async function endsWithTimeToLive(world: KueueWorld): Promise<void> {
  world.player.end("passing", "node");
  await world.create("passing", { queue: "team", annotations: { [ANNOTATIONS.timeToLive]: "0" } });
  await world.workloadIs("passing", "Finished");
  await world.quotaIsFree();
  await world.trainJobThat("passing", "is still there", ({ status }) => isFinished(status));
}

/** That job goes by itself, and its Workload with it, some scenes later. */
export async function goesByItself(world: KueueWorld): Promise<void> {
  const { client } = world.plane;
  await patiently("TrainJob passing is gone, with its Workload", async () => {
    const { items } = await client.list(KINDS.trainJob, { namespace: "default" });
    return items.every(({ metadata: { name } }) => name !== "passing") &&
      await world.workload("passing") === undefined;
  });
}

/** Without a queue Kueue leaves the job alone, but for its empty patch. */
export async function withoutQueue(world: KueueWorld): Promise<void> {
  await world.create("free");
  await world.trainJobThat("free", "runs", isRunning);
  assert.equal(await world.workload("free"), undefined);
  world.player.end("free", "node");
  await world.trainJobThat("free", "has ended", ({ status }) => isFinished(status));
}

/** A job waits while there is no room, and begins when there is. */
export async function waitsForRoom(world: KueueWorld): Promise<void> {
  await world.create("large", { queue: "team", nodes: 4 });
  await world.trainJobThat("large", "runs", isRunning);
  await world.create("next", { queue: "team", nodes: 1 });
  await world.workloadIs("next", "QuotaReserved", "False");
  const waiting = await world.trainJob("next");
  assert.equal(waiting.spec.suspend, true);
  assert.deepEqual(await podsOf(world, "next"), []);
  world.player.end("large", "node");
  await world.trainJobThat("next", "runs", isRunning);
  world.player.end("next", "node");
  await world.workloadIs("next", "Finished");
}

/** A job is restarted: to Kueue it is the same one, admitted all the time, and ready again. */
export async function restarted(world: KueueWorld): Promise<void> {
  const { plane, player } = world;
  await world.create("rerun", { queue: "team", nodes: 2 });
  await world.trainJobThat("rerun", "runs", isRunning);
  await podsRunOn(world, "rerun", "spot", 2);
  const before = await world.workloadIs("rerun", "PodsReady");
  const uids = async () => (await podsOf(world, "rerun")).map(({ metadata }) => metadata?.uid);
  const old = await uids();
  const time = rfc3339(Date.now());
  const restart = { count: 1, reason: "Asked", message: "a test asked", time };
  await plane.client.patch(KINDS.trainJob, { namespace: "default", name: "rerun" }, {
    type: "merge",
    body: { status: { restart } },
  }, { subresource: "status" });
  const after = await world.trainJobThat(
    "rerun",
    "goes on",
    (job) => restartOf(job)?.endTime !== undefined,
  );
  assert.equal(after.spec.suspend, false);
  assert.equal(after.status?.conditions, undefined);
  await podsRunOn(world, "rerun", "spot", 2);
  assert.deepEqual((await uids()).filter((uid) => old.includes(uid)), []);
  const workload = await world.workloadIs("rerun", "PodsReady");
  assert.equal(workload.metadata.uid, before.metadata.uid);
  const admission = ({ status }: Workload) =>
    status.conditions?.find(({ type }) => type === "Admitted");
  assert.deepEqual(admission(workload), admission(before), "it was never taken away");
  assert.equal(hasCondition(workload, "Evicted"), false);
  player.end("rerun", "node");
  await world.workloadIs("rerun", "Finished");
}

/** A low priority is evicted by a high one, and readmitted with another flavor. */
export async function preempted(world: KueueWorld): Promise<void> {
  const { plane, player } = world;
  await world.create("low", { queue: "team", nodes: 4, priority: "low" });
  await podsRunOn(world, "low", "spot", 4);
  await world.trainJobThat("low", "runs", isRunning);
  await world.create("high", { queue: "team", nodes: 4, priority: "high" });
  await world.workloadIs("low", "Evicted");
  await world.trainJobThat("high", "runs", isRunning);
  await podsRunOn(world, "high", "spot", 4);
  const evicted = await world.trainJobThat(
    "low",
    "is suspended",
    ({ status }) =>
      status?.state === "Suspended" &&
      (status.jobsStatus ?? []).every(({ active }) => active === 0),
  );
  assert.equal(evicted.spec.suspend, true);
  await patiently(
    "Kueue takes its patch back",
    async () =>
      (await kueuePatch(world, "low"))?.trainingRuntimeSpec?.template?.spec?.replicatedJobs ===
        undefined,
  );
  assert.deepEqual(await podsOf(world, "low"), []);
  // Room of the other flavor: the evicted job goes there.
  await kubectl(
    plane,
    ["apply", "--server-side", "--force-conflicts", "-f", "-"],
    JSON.stringify(teams("400m")),
  );
  await podsRunOn(world, "low", "demand", 4);
  await world.trainJobThat("low", "runs again", isRunning);
  await world.reserved("demand", "400m");
  player.end("low", "node");
  player.end("high", "node");
  await world.workloadIs("low", "Finished");
  await world.workloadIs("high", "Finished");
  await kubectl(
    plane,
    ["apply", "--server-side", "--force-conflicts", "-f", "-"],
    JSON.stringify(teams("0")),
  );
}

/** A user who suspends an admitted job, or resumes one that waits, is overruled. */
export async function usersAgainstIt(world: KueueWorld): Promise<void> {
  await world.create("stubborn", { queue: "team", nodes: 4 });
  await world.trainJobThat("stubborn", "runs", isRunning);
  const before = (await world.trainJob("stubborn")).metadata.generation ?? 0;
  await edit(world, "stubborn", { suspend: true });
  await world.trainJobThat(
    "stubborn",
    "runs again",
    (job) =>
      isRunning(job) && job.spec.suspend === false && (job.metadata.generation ?? 0) > before + 1,
  );
  await podsRunOn(world, "stubborn", "spot", 4);
  await world.create("eager", { queue: "team", nodes: 1 });
  await world.workloadIs("eager", "QuotaReserved", "False");
  await edit(world, "eager", { suspend: false });
  await world.trainJobThat(
    "eager",
    "is suspended again",
    ({ spec, status }) => spec.suspend === true && status?.state === "Suspended",
  );
  await patiently(
    "no pod of the job that waits",
    async () => (await podsOf(world, "eager")).length === 0,
  );
  world.player.end("stubborn", "node");
  world.player.end("eager", "node");
  await world.workloadIs("stubborn", "Finished");
  await world.workloadIs("eager", "Finished");
}

/** A Workload that is deactivated stops its job, and one that is deleted is made again. */
export async function workloadsTakenAway(world: KueueWorld): Promise<void> {
  await world.create("switched", { queue: "team", nodes: 2 });
  await world.trainJobThat("switched", "runs", isRunning);
  const workload = await world.workloadIs("switched", "PodsReady");
  await patchWorkload(world, workload, { active: false });
  await world.trainJobThat(
    "switched",
    "is suspended",
    ({ status }) => status?.state === "Suspended",
  );
  await world.quotaIsFree();
  assert.deepEqual(await podsOf(world, "switched"), []);
  await patchWorkload(world, workload, { active: true });
  await world.trainJobThat("switched", "runs again", isRunning);
  const again = await world.workloadIs("switched", "PodsReady");
  await kubectl(world.plane, ["delete", "workload", again.metadata.name, "--timeout=60s"]);
  const made = await patiently("another Workload", async () => {
    const one = await world.workload("switched");
    return one?.metadata.uid !== again.metadata.uid && hasCondition(one, "PodsReady") && one;
  });
  assert.notEqual(made.metadata.uid, again.metadata.uid);
  await world.trainJobThat("switched", "runs a third time", isRunning);
  world.player.end("switched", "node");
  await world.workloadIs("switched", "Finished");
}
