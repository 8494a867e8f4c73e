/** Tests of the start of a run, which a TrainJob keeps when its JobSet goes. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { runtime, trainJob } from "../builders.ts";
import type { Fault } from "../memory_cluster.ts";
import { KEY, START, World } from "./world.ts";

const HOUR_MS = 3_600_000;
const RESUMED = "2026-01-01T01:00:00Z";

/** A job with a deadline of a minute that is suspended at its start. */
async function suspended(): Promise<World> {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob({ suspend: true, activeDeadlineSeconds: 60 }));
  await world.settle();
  world.report({ conditions: [world.condition("Suspended")] });
  await world.settle();
  return world;
}

/** The same job, resumed an hour later. */
async function resumed(): Promise<World> {
  const world = await suspended();
  world.now = START + HOUR_MS;
  world.edit({ suspend: false });
  await world.settle();
  return world;
}

Deno.test("a resumed job whose JobSet is deleted goes on until its deadline", async () => {
  for (const reports of [true, false]) {
    const world = await resumed();
    if (reports) world.report({ conditions: [world.condition("Suspended", "False")] });
    await world.settle();
    world.now += 20_000;
    world.cluster.remove(KINDS.jobSet, KEY);
    await world.settle();
    ok(world.jobSet);
    equal(world.trainJob.status?.state, "Created");
    equal(world.trainJob.status?.startTime, RESUMED);
    deepEqual(world.conditions, [], "the SDK reads any condition as not running");
    deepEqual(await world.reconcile(), { requeueAfterMs: 40_001 });
    world.now += 40_001;
    await world.settle();
    equal(world.trainJob.status?.state, "Failed");
    equal(world.trainJob.status?.startTime, RESUMED);
  }
});

Deno.test("a job has no start time in its first run and while it is suspended", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  equal(world.trainJob.status?.startTime, undefined);
  const again = await resumed();
  again.report({ conditions: [again.condition("Suspended", "False")] });
  again.edit({ suspend: true });
  await again.settle();
  equal(again.trainJob.status?.startTime, undefined);
});

Deno.test("the last resumption that the JobSet reports is the start, since it may wait for its order", async () => {
  const world = await resumed();
  world.now += 30_000;
  world.report({ conditions: [world.condition("Suspended", "False")] });
  await world.settle();
  equal(world.trainJob.status?.startTime, "2026-01-01T01:00:30Z");
  deepEqual(await world.reconcile(), { requeueAfterMs: 60_001 });
});

Deno.test("a job that upstream's controller has resumed keeps the start of its run", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob({ activeDeadlineSeconds: 60 }));
  await world.settle();
  world.now = START + HOUR_MS;
  const conditions = [world.condition("Suspended", "False", "Resumed")];
  world.cluster.edit(KINDS.trainJob, KEY, { status: { conditions } });
  await world.settle();
  deepEqual(world.conditions, []);
  equal(world.trainJob.status?.startTime, RESUMED);
  deepEqual(await world.reconcile(), { requeueAfterMs: 60_001 });
});

Deno.test("a definition that drops the field leaves the start in an annotation of the snapshot", async () => {
  const world = await suspended();
  world.cluster.dropped.add("startTime");
  const annotation = () =>
    world.cluster.peek(KINDS.configMap, "ml/tj-runtime-snapshot")?.metadata?.annotations;
  world.now = START + HOUR_MS;
  world.edit({ suspend: false });
  await world.settle();
  equal(world.trainJob.status?.startTime, undefined);
  deepEqual(annotation(), { "trainer.kubeflow.org/start-time": RESUMED });
  world.cluster.remove(KINDS.jobSet, KEY);
  await world.settle();
  equal(world.trainJob.status?.state, "Created");
  deepEqual(await world.reconcile(), { requeueAfterMs: 60_001 });
  world.edit({ suspend: true });
  await world.settle();
  deepEqual(annotation() ?? {}, {});
});

/** A job that was resumed half an hour ago under a definition that drops the field, and lost its JobSet. */
async function withoutJobSet(): Promise<World> {
  const world = await suspended();
  world.cluster.dropped.add("startTime");
  world.now = START + HOUR_MS;
  world.edit({ suspend: false });
  await world.settle();
  world.now += 20_000;
  world.cluster.remove(KINDS.jobSet, KEY);
  return world;
}

const BUSY = new KubeError("not well", { code: 503, reason: "ServiceUnavailable" });

Deno.test("a start that cannot be read leaves the deadline to the next pass", async () => {
  const world = await withoutJobSet();
  const fault: Fault = ({ verb, kind }) =>
    verb === "get" && kind === KINDS.configMap.kind ? BUSY : undefined;
  world.cluster.faults.push(fault);
  await rejects(world.reconcile(), BUSY);
  equal(world.trainJob.status?.state, "Created");
  deepEqual(world.conditions, []);
  world.cluster.faults.length = 0;
  await world.settle();
  ok(world.jobSet);
  deepEqual(await world.reconcile(), { requeueAfterMs: 40_001 });
});

Deno.test("a start that can be read counts while the job's Trial cannot", async () => {
  const world = await withoutJobSet();
  const error = new Error("the Trial cannot be read");
  const trials = { trialOf: () => Promise.reject(error), isStopping: () => false };
  Object.assign(world.options, { trials });
  deepEqual(await world.pass(), { error, requeueAfterMs: 40_001 });
  world.now += 40_001;
  await rejects(world.reconcile(), error);
  equal(world.trainJob.status?.state, "Failed");
});

Deno.test("a start that may not be kept with the job is told once, and the job goes on", async () => {
  const world = await suspended();
  world.cluster.dropped.add("startTime");
  world.cluster.faults.push(({ verb, kind }) =>
    verb === "patch" && kind === KINDS.configMap.kind
      ? new KubeError("configmaps is forbidden: no right", { code: 403, reason: "Forbidden" })
      : undefined
  );
  world.now = START + HOUR_MS;
  world.edit({ suspend: false });
  await world.reconcile();
  world.report({ conditions: [world.condition("Suspended", "False")] });
  for (let pass = 0; pass < 3; pass++) {
    deepEqual(await world.reconcile(), { requeueAfterMs: 60_001 });
  }
  equal(world.jobSet?.spec?.suspend, false);
  equal(world.trainJob.status?.state, "Created");
  const told = world.warnings.map(({ reason }) => reason);
  deepEqual(told, ["StartTimeNotKept"]);
});
