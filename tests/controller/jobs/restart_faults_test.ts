/** Tests of restarts of v1 jobs whose leader is killed at any write, or whose caches are behind. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { EVENT_REASONS } from "../../../crds/names.ts";
import type { V1KindName } from "../../../crds/v1/kinds.ts";
import { gangScheduler } from "../../../controller/jobs/gang.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { runJob, testInWorld } from "./every_kind.ts";
import { JobWorld } from "./job_world.ts";
import {
  countsOf,
  letGo,
  linger,
  storedRestart,
  storeRestart,
  watchGenerations,
} from "./restarting.ts";

/** Kills the controllers at a write, before or after it is done. Returns whether it came to that. */
function killAt(world: JobWorld, nth: number, at: "before" | "after"): () => boolean {
  const state = { writes: 0, isDead: false, wasDead: false };
  world.fault(({ verb }, phase) => {
    if (state.isDead) return new Error("killed");
    const isWrite = verb !== "get" && verb !== "list";
    if (!isWrite || phase !== at || ++state.writes !== nth) return undefined;
    state.isDead = state.wasDead = true;
    return new Error("killed");
  });
  return () => {
    const { isDead } = state;
    state.isDead = false;
    return isDead;
  };
}

/** Restarts a job with a leader that is killed at that write. Returns whether there was such a write. */
async function restartWithout(
  [kind, at]: readonly [V1KindName, "status" | "annotation"],
  nth: number,
  phase: "before" | "after",
): Promise<boolean> {
  const world = new JobWorld();
  if (at === "annotation") world.cluster.dropped.add("restart").add("completedIndexes");
  world.start();
  let died = false;
  try {
    await runJob(world, kind, { backoffLimit: 0 });
    const names = world.pods;
    let made = 0;
    world.fault(({ verb, kind }, phase) => {
      if (verb === "create" && kind === "Pod" && phase === "after") made++;
      return undefined;
    });
    const mixed = watchGenerations(world);
    const conditions = world.conditions(kind);
    linger(world);
    const isDead = killAt(world, nth, phase);
    /** Lets the leader work, and the next one if it dies. */
    const work = async () => {
      for (let pass = 0; pass < 4; pass++) await world.settle(1000);
      if (!isDead()) return;
      died = true;
      await world.stop();
      world.start();
      for (let pass = 0; pass < 4; pass++) await world.settle(1000);
    };
    storeRestart(world, kind, { at });
    await work();
    world.reportAll({ phase: "Failed", exitCode: 143 });
    const [first = "", ...others] = names;
    await letGoQuietly(world, [first]);
    await work();
    await letGoQuietly(world, others);
    await work();
    equal(Object.values(countsOf(world)).join(), names.map(() => "1").join());
    deepEqual(mixed, []);
    deepEqual(world.pods, names);
    equal(made, names.length);
    ok(storedRestart(world, kind)?.endTime);
    equal(storedRestart(world, kind)?.count, 1);
    deepEqual(world.conditions(kind), conditions);
  } finally {
    await world.stop();
  }
  return died;
}

/** Lets pods go that are being deleted, without a call that the leader could be killed at. */
async function letGoQuietly(world: JobWorld, names: readonly string[]): Promise<void> {
  const faults = world.cluster.faults.splice(0);
  await letGo(world, names);
  world.cluster.faults.push(...faults);
}

for (const where of [["PyTorchJob", "status"], ["MPIJob", "annotation"]] as const) {
  for (const phase of ["before", "after"] as const) {
    Deno.test(`a leader that is killed ${phase} any write of a restart of a ${where[0]} in its ${where[1]} leaves it to the next one`, async () => {
      let writes = 0;
      while (await restartWithout(where, writes + 1, phase)) writes++;
      ok(writes > 10, `${writes} writes`);
    });
  }
}

testInWorld("an old pod that no cache shows keeps the next ones from being made", async (world) => {
  await runJob(world, "PyTorchJob");
  const mixed = watchGenerations(world);
  const { metadata, ...pod } = world.pod("j-worker-3");
  const { uid: _, resourceVersion: _version, ...others } = metadata ?? {};
  let late = 0;
  world.fault(({ verb, kind }, phase) => {
    // A call of the leader before comes late, when all are gone that this one knows.
    if (verb === "get" && kind === "PyTorchJob" && phase === "after" && late++ === 0) {
      world.cluster.put(KINDS.pod, { ...pod, metadata: { ...others, name: "late" } });
    }
    return undefined;
  });
  storeRestart(world, "PyTorchJob");
  for (let second = 0; second < 5; second++) await world.settle(1000);
  deepEqual(mixed, []);
  ok(late > 1);
  equal(Object.values(countsOf(world)).join(), "1,1,1,1,1");
  ok(storedRestart(world, "PyTorchJob")?.endTime);
});

testInWorld("an old pod that goes, and is shown as living, is waited for", async (world) => {
  await runJob(world, "PyTorchJob");
  linger(world);
  await world.stop();
  world.cluster.edit(KINDS.pod, "ml/j-worker-0", { metadata: { finalizers: null } });
  world.cluster.remove(KINDS.pod, "ml/j-worker-0");
  world.cluster.hold(KINDS.pod);
  storeRestart(world, "PyTorchJob");
  world.start();
  await world.settle(1000);
  world.edit("PyTorchJob", { runPolicy: { suspend: true } });
  await world.settle(1000);
  ok(storedRestart(world, "PyTorchJob")?.endTime);
  // The next leader knows nothing of the deletions.
  await world.stop();
  const mixed = watchGenerations(world);
  world.edit("PyTorchJob", { runPolicy: { suspend: false } });
  world.start();
  for (let second = 0; second < 3; second++) await world.settle(1000);
  equal(Object.values(countsOf(world)).join(), ",,,");
  world.cluster.catchUp();
  await letGo(world);
  for (let second = 0; second < 3; second++) await world.settle(1000);
  equal(Object.values(countsOf(world)).join(), "1,1,1,1,1");
  deepEqual(mixed, []);
});

testInWorld(
  "a cache of jobs that does not show a restart makes no old pod again",
  async (world) => {
    const key = await runJob(world, "PyTorchJob");
    world.lateJobs = true;
    storeRestart(world, "PyTorchJob");
    world.cluster.remove(KINDS.pod, "ml/j-worker-0");
    for (let second = 0; second < 5; second++) await world.settle(1000);
    ok(!world.pods.includes("j-worker-0"));
    world.lateJobs = false;
    world.cluster.edit(V1_RESOURCES.PyTorchJob, key, { metadata: { labels: { seen: "1" } } });
    for (let second = 0; second < 5; second++) await world.settle(1000);
    equal(Object.values(countsOf(world)).join(), "1,1,1,1,1");
  },
);

testInWorld("a push beside the end of a restart keeps nothing from it", async (world) => {
  const key = await runJob(world, "PyTorchJob");
  let pushes = 0;
  world.fault(({ subresource }, phase) => {
    if (subresource !== "status" || phase !== "before" || pushes++ > 2) return undefined;
    const trainerStatus = { progressPercentage: pushes, lastUpdatedTime: "2026-01-01T00:00:00Z" };
    world.cluster.edit(V1_RESOURCES.PyTorchJob, key, { status: { trainerStatus } });
    return undefined;
  });
  storeRestart(world, "PyTorchJob");
  for (let second = 0; second < 20; second++) await world.settle(1000);
  ok(storedRestart(world, "PyTorchJob")?.endTime);
  equal(Object.values(countsOf(world)).join(), "1,1,1,1,1");
  equal(world.creations().length, 10);
});

testInWorld("a pod that cannot be adopted keeps a restart from its end", async (world) => {
  await runJob(world, "PyTorchJob");
  const { metadata, ...pod } = world.pod("j-worker-0");
  const { ownerReferences: _, uid: _uid, ...others } = metadata ?? {};
  world.fault(({ verb, kind }) => verb === "patch" && kind === "Pod" ? new Error("no") : undefined);
  world.cluster.put(KINDS.pod, { ...pod, metadata: { ...others, name: "orphan" } });
  storeRestart(world, "PyTorchJob");
  for (let second = 0; second < 5; second++) await world.settle(1000);
  deepEqual([world.pods, storedRestart(world, "PyTorchJob")?.endTime], [["orphan"], undefined]);
  world.cluster.faults.length = 0;
  for (let minute = 0; minute < 6; minute++) await world.settle(60_000);
  equal(Object.values(countsOf(world)).join(), "1,1,1,1,1");
  ok(storedRestart(world, "PyTorchJob")?.endTime);
});

/** Lets time pass, more than any delay of a pass that failed. */
async function pass(world: JobWorld, seconds = 5): Promise<void> {
  for (let second = 0; second < seconds; second++) await world.settle(1000);
}

const restarted = (world: JobWorld) =>
  world.events.filter(({ reason }) => reason === EVENT_REASONS.restarted).length;

/** Asserts that the restart of a job is still under way, with that many new pods. */
function isUnderWay(world: JobWorld, made: number): void {
  equal(Object.values(countsOf(world)).join(""), "1".repeat(made));
  ok(storedRestart(world, "PyTorchJob"));
  deepEqual([storedRestart(world, "PyTorchJob")?.endTime, restarted(world)], [undefined, 0]);
}

/** Asserts that the restart of a job is over, and was told once. */
function isOver(world: JobWorld): void {
  equal(Object.values(countsOf(world)).join(), "1,1,1,1,1");
  ok(storedRestart(world, "PyTorchJob")?.endTime);
  equal(restarted(world), 1);
}

for (const [verb, kind] of [["list", "Pod"], ["get", "PyTorchJob"]] as const) {
  testInWorld(`a restart is not over before a ${verb} of a ${kind} succeeds`, async (world) => {
    await runJob(world, "PyTorchJob");
    world.fault((call) =>
      call.verb === verb && call.kind === kind ? new Error("refused") : undefined
    );
    storeRestart(world, "PyTorchJob");
    await pass(world);
    isUnderWay(world, 0);
    world.cluster.faults.length = 0;
    await pass(world, 60);
    isOver(world);
  });
}

testInWorld("a restart is not over before each pod is made, once", async (world) => {
  await runJob(world, "PyTorchJob", { backoffLimit: 3 }, { restartPolicy: "OnFailure" });
  world.fault(({ verb, key }) =>
    verb === "create" && key === "ml/j-worker-3" ? new Error("quota") : undefined
  );
  storeRestart(world, "PyTorchJob");
  await pass(world);
  isUnderWay(world, 4);
  world.reportAll({ phase: "Running" });
  // Why a pod is made again is written at once.
  world.report("j-worker-0", { phase: "Failed", exitCode: 1 });
  await pass(world, 20);
  isUnderWay(world, 4);
  equal(world.reasons.filter((it) => it === "PyTorchJobRestarting").length, 1);
  world.cluster.faults.length = 0;
  await pass(world, 60);
  isOver(world);
  world.reportAll({ phase: "Running" });
  await pass(world);
  deepEqual(world.conditions("PyTorchJob"), ["Created", "Running"]);
});

Deno.test("a restart is not over before the gang scheduler has taken the group", async () => {
  const world = new JobWorld();
  world.gang = gangScheduler("volcano");
  world.start();
  try {
    const phase = (phase: string) =>
      world.cluster.edit(KINDS.volcanoPodGroup, "ml/j", { status: { phase } });
    await runJob(world, "PyTorchJob");
    phase("Running");
    await pass(world);
    equal(world.pods.length, 5);
    linger(world);
    storeRestart(world, "PyTorchJob");
    await pass(world);
    phase("Pending");
    await letGo(world);
    await pass(world);
    isUnderWay(world, 0);
    ok(world.job("PyTorchJob").status?.lastReconcileTime);
    phase("Inqueue");
    await pass(world);
    isOver(world);
    equal(world.job("PyTorchJob").status?.lastReconcileTime, undefined);
  } finally {
    await world.stop();
  }
});

Deno.test("the pod group of a gang stays while its job is restarted", async () => {
  const world = new JobWorld();
  world.gang = gangScheduler("other");
  world.start();
  try {
    await runJob(world, "PyTorchJob");
    const group = () => world.cluster.peek(KINDS.coschedulingPodGroup, "ml/j");
    const { uid } = group()?.metadata ?? {};
    ok(uid);
    linger(world);
    storeRestart(world, "PyTorchJob");
    await world.settle(1000);
    equal(group()?.metadata?.uid, uid);
    await letGo(world);
    await world.settle(1000);
    equal(group()?.metadata?.uid, uid);
    equal(Object.values(countsOf(world)).join(), "1,1,1,1,1");
  } finally {
    await world.stop();
  }
});
