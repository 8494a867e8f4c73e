/** Scenes with a gang scheduler. Four pods find room; a TrainJob has three nodes. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { STEPS } from "../../../crds/names.ts";
import { patiently } from "../support/patient.ts";
import type { GangWorld } from "./world.ts";

/** The TrainJob is older than the scheduler and its CRD: it waits for them, and then starts by itself. */
export async function schedulerComesLater(world: GangWorld): Promise<void> {
  await world.create("early");
  const told = await patiently("a condition about the CRD", async () => {
    const { status } = await world.trainJob("early");
    return status?.conditions?.find(({ type }) => type === "ResourcesCreated");
  });
  assert.match(
    told.message,
    new RegExp(`install the CRD podgroups.${world.scheduler.podGroup.group}`),
  );
  assert.deepEqual(await world.pods("early"), []);
  await world.startScheduler();
  await world.run("early", 3);
  const { status } = await world.trainJob("early");
  assert.deepEqual(status?.conditions ?? [], []);
  await world.finish("early");
}

/** All pods of a gang that fits are bound by its scheduler, which says that the group runs. */
export async function fits(world: GangWorld): Promise<void> {
  await world.create("fitting");
  await world.run("fitting", 3);
  for (const { spec } of await world.pods("fitting")) {
    assert.equal(spec?.schedulerName, world.scheduler.schedulerName);
  }
  const group = await patiently("the group runs", async () => {
    const one = await world.group("fitting");
    return one?.status.phase === "Running" && one;
  });
  assert.equal(group.spec.minMember, 3);
  await world.finish("fitting");
}

/** A gang that does not fit waits whole, and starts when there is room. */
export async function waitsWhole(world: GangWorld): Promise<void> {
  await world.create("first");
  await world.run("first", 3);
  await world.create("second");
  await world.wait("second", 3);
  await world.finish("first");
  await world.run("second", 3);
  await world.finish("second");
}

/** An initializer finds room alone; the trainers behind it are a gang, which waits for its room. */
export async function initializerThenTrainers(world: GangWorld): Promise<void> {
  await world.create("before");
  await world.run("before", 3);
  await world.create("staged", "initialized");
  await world.run("staged", 1);
  await world.hasMembers("staged", world.scheduler.countsSucceeded ? 4 : 3);
  world.player.end("staged", STEPS.datasetInitializer);
  await world.wait("staged", 3, "node");
  await world.finish("before");
  await world.run("staged", 3, "node");
  await world.finish("staged");
}

/** An initializer that ends as soon as it is bound, before anybody sees it run. */
export async function shortInitializer(world: GangWorld): Promise<void> {
  world.player.end("short", STEPS.datasetInitializer);
  await world.create("short", "initialized");
  await world.run("short", 3, "node");
  await world.finish("short");
}

/** A launcher that waits until the nodes are ready. */
export async function launcherAfterNodes(world: GangWorld): Promise<void> {
  await world.create("launched", "launched");
  await world.run("launched", 4);
  assert.equal((await world.group("launched"))?.spec.minMember, 4);
  await world.finish("launched");
}

async function suspend({ plane }: GangWorld, name: string, suspended: boolean): Promise<void> {
  const body = { spec: { suspend: suspended } };
  await plane.client.patch(KINDS.trainJob, { namespace: "default", name }, { type: "merge", body });
}

/** A suspended gang leaves its room to another, if the scheduler lets it, and resumes as a gang. */
export async function suspendedAndResumed(world: GangWorld): Promise<void> {
  await world.create("pausing");
  await world.run("pausing", 3);
  await suspend(world, "pausing", true);
  await patiently("no pod of pausing", async () => (await world.pods("pausing")).length === 0);
  if (world.scheduler.keepsRoom) {
    // The room is kept from the moment that the group waits in its queue again, which takes the scheduler a turn or two.
    await patiently("the group of pausing is in its queue", async () => {
      const group = await world.group("pausing");
      return group?.status.phase === "Inqueue";
    });
    await world.create("guest");
    await world.wait("guest", 3);
    await suspend(world, "pausing", false);
    await world.run("pausing", 3);
    await world.finish("pausing");
    await world.run("guest", 3);
    return await world.finish("guest");
  }
  await world.create("guest");
  await world.run("guest", 3);
  await suspend(world, "pausing", false);
  await world.wait("pausing", 3);
  await world.finish("guest");
  await world.run("pausing", 3);
  await world.finish("pausing");
}

/** An initializer's gang is suspended while the trainers run, and resumes with them alone. */
export async function suspendedInSecondStep(world: GangWorld): Promise<void> {
  await world.create("later", "initialized");
  await world.run("later", 1);
  world.player.end("later", STEPS.datasetInitializer);
  await world.run("later", 3, "node");
  await suspend(world, "later", true);
  await patiently(
    "no trainer of later",
    async () => (await world.pods("later", "node")).length === 0,
  );
  await suspend(world, "later", false);
  await world.run("later", 3, "node");
  await world.finish("later");
}

/** The JobSet restarts: the pods of the new attempt are a gang again. */
export async function restarted(world: GangWorld): Promise<void> {
  await world.create("again", "restarted");
  await world.run("again", 3);
  const before = (await world.pods("again")).map(({ metadata }) => metadata?.uid);
  world.player.end("again", "node", "Failed");
  await patiently(
    "a pod of again fails",
    async () => (await world.pods("again")).some(({ status }) => status?.phase === "Failed"),
  );
  world.player.keep("again");
  await patiently("new pods of again run", async () => {
    const all = await world.pods("again");
    return all.length === 3 &&
      all.every(({ metadata, status }) =>
        status?.phase === "Running" && !before.includes(metadata?.uid)
      );
  });
  await world.finish("again");
}
