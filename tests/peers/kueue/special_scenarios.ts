/** Scenes with Kueue: topologies, reclaimed quota, runtimes that are deleted, and what is refused. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { isFinished } from "../../../controller/trainjob/observed.ts";
import { kubectl, tryKubectl } from "../../cluster/support/installation.ts";
import { patiently } from "../support/patient.ts";
import { moves, plainRuntime, trainJobOf } from "./objects.ts";
import { patchWorkload, podsOf } from "./scenarios.ts";
import { hasCondition, type KueueWorld } from "./world.ts";

const isRunning = ({ status }: { status?: { state?: string } | undefined }) =>
  status?.state === "Running";

/** Kueue chooses the host of each pod: it takes its gate away and sets a node selector. */
export async function topology(world: KueueWorld): Promise<void> {
  await world.create("placed", { queue: "team-racks", nodes: 2 });
  await world.trainJobThat("placed", "runs", isRunning);
  const jobSet = await world.plane.client.get(KINDS.jobSet, {
    namespace: "default",
    name: "placed",
  });
  const template = jobSet.spec?.replicatedJobs?.[0]?.template.spec?.template;
  assert.deepEqual(template?.spec?.schedulingGates, [{ name: "kueue.x-k8s.io/topology" }]);
  const pods = await podsOf(world, "placed");
  assert.equal(pods.length, 2);
  for (const { spec } of pods) {
    assert.deepEqual(spec?.schedulingGates ?? [], []);
    assert.equal(spec?.nodeSelector?.["kubernetes.io/hostname"], spec?.nodeName);
    assert.match(spec?.nodeName ?? "", /^racks-/);
  }
  await world.workloadIs("placed", "PodsReady");
  world.player.end("placed", "node");
  await world.workloadIs("placed", "Finished");
  await world.quotaIsFree("team-racks");
}

/** A job that comes back on a flavor of other labels, and without a topology, has nothing of the former one's. */
export async function moved(world: KueueWorld): Promise<void> {
  const { plane, player } = world;
  await world.create("mover", { queue: "team-moves", nodes: 2 });
  await world.trainJobThat("mover", "runs", isRunning);
  for (const { spec } of await podsOf(world, "mover")) {
    assert.equal(spec?.nodeSelector?.pool, "racks");
  }
  const workload = await world.workloadIs("mover", "PodsReady");
  await patchWorkload(world, workload, { active: false });
  await world.trainJobThat(
    "mover",
    "is suspended",
    ({ status }) => status?.state === "Suspended",
  );
  await world.quotaIsFree("team-moves");
  const args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
  await kubectl(plane, args, JSON.stringify(moves("zone")));
  await patchWorkload(world, workload, { active: true });
  await world.trainJobThat("mover", "runs again", isRunning);
  const pods = await podsOf(world, "mover");
  assert.equal(pods.length, 2);
  for (const { spec } of pods) {
    assert.deepEqual(spec?.nodeSelector, { zone: "demand" });
    assert.deepEqual(spec?.schedulingGates ?? [], []);
    assert.match(spec?.nodeName ?? "", /^demand-/);
  }
  player.end("mover", "node");
  await world.workloadIs("mover", "Finished");
  await world.quotaIsFree("team-moves");
}

/** The quota of a replicated job that has ended is given back while the others run. */
export async function reclaimed(world: KueueWorld): Promise<void> {
  await world.create("staged", { queue: "team", runtime: "staged", nodes: 2 });
  await patiently("the initializer runs", async () => {
    const pods = await podsOf(world, "staged");
    return pods.length === 1 && pods[0]?.status?.phase === "Running";
  });
  await world.reserved("spot", "300m");
  world.player.end("staged", "dataset-initializer");
  await world.trainJobThat("staged", "runs its nodes", isRunning);
  await patiently("Kueue reclaims the initializer's pod", async () => {
    const pods = (await world.workload("staged"))?.status.reclaimablePods ?? [];
    return pods.some(({ name, count }) => name === "dataset-initializer" && count === 1);
  });
  await world.reserved("spot", "200m");
  assert.equal(isFinished((await world.trainJob("staged")).status), false);
  world.player.end("staged", "node");
  await world.workloadIs("staged", "Finished");
}

const events = async ({ plane }: KueueWorld, name: string) =>
  (await plane.client.list(KINDS.event, { namespace: "default" })).items
    .filter(({ involvedObject }) => involvedObject?.name === name);

/** The runtime is deleted while its job runs. */
export async function runtimeDeleted(world: KueueWorld): Promise<void> {
  const { client } = world.plane;
  await client.create(KINDS.clusterTrainingRuntime, plainRuntime("fleeting"));
  await world.create("orphan", { queue: "team", runtime: "fleeting", nodes: 2 });
  await world.trainJobThat("orphan", "runs", isRunning);
  await world.workloadIs("orphan", "PodsReady");
  await client.delete(KINDS.clusterTrainingRuntime, { name: "fleeting" });
  world.player.end("orphan", "node");
  await world.trainJobThat("orphan", "has ended", ({ status }) => isFinished(status));
  await patiently(
    "an event about the runtime",
    async () =>
      (await events(world, "orphan")).find(({ message }) => message?.includes("fleeting")),
  );
  assert.equal(hasCondition(await world.workload("orphan"), "Finished"), false);
  await client.create(KINDS.clusterTrainingRuntime, plainRuntime("fleeting"));
  await world.workloadIs("orphan", "Finished");
}

/** The runtime is deleted while its job runs, and then the job. */
export async function runtimeAndJobDeleted(world: KueueWorld): Promise<void> {
  const { client } = world.plane;
  await client.create(KINDS.clusterTrainingRuntime, plainRuntime("brief"));
  await world.create("unwanted", { queue: "team", runtime: "brief", nodes: 2 });
  await world.trainJobThat("unwanted", "runs", isRunning);
  await client.delete(KINDS.clusterTrainingRuntime, { name: "brief" });
  await world.remove("unwanted");
}

/** The runtime is gone, and the job is deleted in the foreground: Kueue holds that up, and an event says what to do. */
export async function deletedInTheForeground(world: KueueWorld): Promise<void> {
  const { client } = world.plane;
  const remove = (cascade: string, ...more: string[]) =>
    kubectl(world.plane, ["delete", "trainjob", "stuck", `--cascade=${cascade}`, ...more]);
  await client.create(KINDS.clusterTrainingRuntime, plainRuntime("passing"));
  await world.create("stuck", { queue: "team", runtime: "passing", nodes: 2 });
  await world.trainJobThat("stuck", "runs", isRunning);
  await client.delete(KINDS.clusterTrainingRuntime, { name: "passing" });
  await remove("foreground", "--wait=false");
  await patiently(
    "an event about the deletion",
    async () =>
      (await events(world, "stuck")).find(({ message }) =>
        message?.includes("--cascade=background")
      ),
  );
  await patiently(
    "all that it owns is gone",
    async () => (await podsOf(world, "stuck")).length === 0,
  );
  assert.deepEqual((await world.trainJob("stuck")).metadata.finalizers, ["foregroundDeletion"]);
  await remove("background", "--timeout=60s");
  await patiently("its Workload is gone", async () => await world.workload("stuck") === undefined);
}

/** A job of another cluster's Kueue is left alone. */
export async function multiKueue(world: KueueWorld): Promise<void> {
  const { plane } = world;
  const spec = { managedBy: "kueue.x-k8s.io/multikueue" };
  await world.create("remote", { spec });
  // What comes later has been seen to.
  await world.create("local");
  await world.trainJobThat("local", "runs", isRunning);
  const remote = await world.trainJob("remote");
  // The state that every new job has, by the schema.
  assert.deepEqual(remote.status, { state: "Created" });
  await assert.rejects(plane.client.get(KINDS.jobSet, { namespace: "default", name: "remote" }));
  world.player.end("local", "node");
  await world.trainJobThat("local", "has ended", ({ status }) => isFinished(status));
}

/** A patch of Kueue's manager for a job that the runtime does not have is refused. */
export async function unknownJob(world: KueueWorld): Promise<void> {
  const job = trainJobOf("astray", { spec: { suspend: true } });
  await world.plane.client.create(KINDS.trainJob, job);
  const patches = [{
    manager: "kueue.x-k8s.io/manager",
    trainingRuntimeSpec: {
      template: {
        spec: {
          replicatedJobs: [{
            name: "nobody",
            template: { spec: { template: { spec: { nodeSelector: { pool: "spot" } } } } },
          }],
        },
      },
    },
  }];
  const args = ["patch", "trainjob", "astray", "--type=merge", "-p"];
  const body = JSON.stringify({ spec: { runtimePatches: patches } });
  const { code, stderr } = await tryKubectl(world.plane, [...args, body]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /must not have replicated job that doesn't exist in the runtime job template/,
  );
}
