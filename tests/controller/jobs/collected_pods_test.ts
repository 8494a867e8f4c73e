/** Tests of pods that succeeded and were collected while their v1 job goes on: they do not train again. */
import { deepEqual, notEqual } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { testInWorld } from "./every_kind.ts";
import { type JobWorld, pyTorchSpec, tfSpec } from "./job_world.ts";

const RUNNING = { phase: "Running" };
const DONE = { phase: "Succeeded", exitCode: 0 };

const removePods = (world: JobWorld, ...names: string[]) =>
  names.forEach((name) => world.cluster.remove(KINDS.pod, `ml/${name}`));
const succeeded = (world: JobWorld) =>
  world.job("TFJob").status?.replicaStatuses?.Worker?.succeeded;

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
    deepEqual(succeeded(world), 1);
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
    deepEqual([world.pods, succeeded(world)], [["j-worker-2"], 2]);
    world.report("j-worker-2", DONE);
    await world.settle();
    deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Succeeded"]);
  },
);

testInWorld(
  "where nothing tells which of the missing pods had succeeded, all are made again",
  async (world) => {
    await begin(world);
    removePods(world, "j-worker-0", "j-worker-1");
    await world.settle();
    deepEqual(world.pods, ["j-worker-0", "j-worker-1", "j-worker-2"]);
    deepEqual(succeeded(world), undefined);
  },
);

testInWorld("a job that is suspended and resumed trains with all its pods", async (world) => {
  world.put("PyTorchJob", pyTorchSpec(1));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  world.report("j-worker-0", DONE);
  await world.settle();
  world.edit("PyTorchJob", { runPolicy: { suspend: true } });
  await world.settle();
  deepEqual(world.pods, []);
  world.edit("PyTorchJob", { runPolicy: { suspend: false } });
  await world.settle();
  deepEqual(world.pods, ["j-master-0", "j-worker-0"]);
});

testInWorld(
  "a pod that ran and is gone is made again, one that was collected is not",
  async (world) => {
    await begin(world);
    removePods(world, "j-worker-0");
    await world.settle();
    const { uid } = world.pod("j-worker-2").metadata ?? {};
    removePods(world, "j-worker-2");
    await world.settle();
    deepEqual(world.pods, ["j-worker-1", "j-worker-2"]);
    notEqual(world.pod("j-worker-2").metadata?.uid, uid);
    const { Worker } = world.job("TFJob").status?.replicaStatuses ?? {};
    deepEqual(Worker, { active: 1, succeeded: 1, completedIndexes: "0" });
  },
);
