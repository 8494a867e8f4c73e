/** Tests of pods that succeeded and were collected while their v1 job goes on: they do not train again. */
import { deepEqual, notEqual } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { testInWorld } from "./every_kind.ts";
import { type JobWorld, pyTorchSpec, tfSpec } from "./job_world.ts";

const RUNNING = { phase: "Running" };
const DONE = { phase: "Succeeded", exitCode: 0 };

const removePods = (world: JobWorld, ...names: string[]) =>
  names.forEach((name) => world.cluster.remove(KINDS.pod, `ml/${name}`));
/** What a job's status says of its workers that have succeeded. */
function succeeded(world: JobWorld, kind: "TFJob" | "PyTorchJob" = "TFJob") {
  const { replicaStatuses, completedIndexes } = world.job(kind).status ?? {};
  return [replicaStatuses?.Worker?.succeeded, completedIndexes?.Worker];
}
/** Begins to delete a pod, as an eviction does: it has time to end. */
function evict(world: JobWorld, name: string): void {
  const metadata = { deletionTimestamp: "2026-01-01T00:00:30Z" };
  world.cluster.edit(KINDS.pod, `ml/${name}`, { metadata });
}

/** Runs a TFJob whose three workers all have to succeed, until the first has. */
async function begin(world: JobWorld): Promise<void> {
  world.put("TFJob", tfSpec({ Worker: 3 }, { successPolicy: "AllWorkers" }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  world.report("j-worker-0", DONE);
  await world.settle();
}

testInWorld(
  "a pod that is collected after it succeeded is not made again, and counts",
  async (world) => {
    await begin(world);
    removePods(world, "j-worker-0");
    await world.settle();
    deepEqual(world.pods, ["j-worker-1", "j-worker-2"]);
    deepEqual(succeeded(world), [1, "0"]);
    await world.stop();
    world.start();
    await world.settle();
    deepEqual(world.pods, ["j-worker-1", "j-worker-2"]);
    world.report("j-worker-1", DONE);
    world.report("j-worker-2", DONE);
    await world.settle();
    deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Succeeded"]);
  },
);

testInWorld(
  "pods that are collected one after the other are none of them made again",
  async (world) => {
    await begin(world);
    removePods(world, "j-worker-0");
    await world.settle();
    world.report("j-worker-1", DONE);
    await world.settle();
    removePods(world, "j-worker-1");
    await world.settle();
    deepEqual([world.pods, succeeded(world)], [["j-worker-2"], [2, "0,1"]]);
    world.report("j-worker-2", DONE);
    await world.settle();
    deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Succeeded"]);
  },
);

testInWorld(
  "of pods that go together the one that had succeeded alone stays ended",
  async (world) => {
    await begin(world);
    const { uid } = world.pod("j-worker-2").metadata ?? {};
    removePods(world, "j-worker-0", "j-worker-2");
    await world.settle();
    deepEqual(world.pods, ["j-worker-1", "j-worker-2"]);
    notEqual(world.pod("j-worker-2").metadata?.uid, uid);
  },
);

testInWorld("a worker that ends well because it is evicted is made again", async (world) => {
  world.put("PyTorchJob", pyTorchSpec(2));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  evict(world, "j-worker-1");
  world.report("j-worker-1", DONE);
  await world.settle();
  removePods(world, "j-worker-1");
  await world.settle();
  deepEqual(world.pods, ["j-master-0", "j-worker-0", "j-worker-1"]);
  deepEqual(succeeded(world, "PyTorchJob"), [undefined, undefined]);
});

testInWorld(
  "a job that is scaled down makes the pods that it keeps, whichever had succeeded",
  async (world) => {
    world.put("PyTorchJob", pyTorchSpec(3));
    await world.settle();
    world.reportAll(RUNNING);
    await world.settle();
    world.report("j-worker-2", DONE);
    await world.settle();
    await world.stop();
    world.edit("PyTorchJob", pyTorchSpec(2));
    removePods(world, "j-worker-1");
    world.start();
    await world.settle();
    deepEqual(world.pods, ["j-master-0", "j-worker-0", "j-worker-1"]);
  },
);

for (const how of ["after", "within"] as const) {
  testInWorld(
    `a job that is resumed ${how} the grace of its pods trains with all of them`,
    async (world) => {
      world.put("PyTorchJob", pyTorchSpec(1));
      await world.settle();
      world.reportAll(RUNNING);
      await world.settle();
      world.report("j-worker-0", DONE);
      await world.settle();
      if (how === "within") {
        const metadata = { finalizers: ["kubernetes.io/ending"] };
        for (const name of world.pods) world.cluster.edit(KINDS.pod, `ml/${name}`, { metadata });
      }
      world.edit("PyTorchJob", { runPolicy: { suspend: true } });
      await world.settle();
      world.edit("PyTorchJob", { runPolicy: { suspend: false } });
      await world.settle();
      if (how === "within") {
        const body = { metadata: { finalizers: null } };
        for (const name of world.pods) {
          const key = { namespace: "ml", name };
          await world.cluster.client().patch(KINDS.pod, key, { type: "merge", body });
        }
        await world.settle(1000);
      }
      deepEqual(world.pods, ["j-master-0", "j-worker-0"]);
      deepEqual(succeeded(world, "PyTorchJob"), [undefined, undefined]);
    },
  );
}
