/** Tests of what the engine of the v1 kinds takes away while other calls fail, and of what it says then. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import type { Fault } from "../memory_cluster.ts";
import { JobWorld, tfSpec } from "./job_world.ts";

const RUNNING = { phase: "Running" };
const REFUSED = new KubeError("denied", { code: 403, reason: "Forbidden" });

/** Runs the test in a world whose controllers work on a TFJob of three workers that run, and ends them. */
function test(name: string, body: (world: JobWorld) => Promise<void>): void {
  Deno.test(name, async () => {
    const world = new JobWorld();
    world.start();
    try {
      world.put("TFJob", tfSpec({ Worker: 3 }));
      await world.settle();
      world.reportAll(RUNNING);
      await world.settle();
      await body(world);
    } finally {
      await world.stop();
    }
  });
}

const refuse = (verb: string, kind: string, key?: string): Fault => (call) =>
  call.verb === verb && call.kind === kind && (key === undefined || call.key === key)
    ? REFUSED
    : undefined;

const activeOf = (world: JobWorld) =>
  world.job("TFJob").status?.replicaStatuses?.Worker?.active ?? 0;

const suspend = (world: JobWorld) => world.edit("TFJob", { runPolicy: { suspend: true } });

test("a pod that cannot be deleted keeps no other running, and the job is not called suspended", async (world) => {
  world.cluster.faults.push(refuse("delete", "Pod", "ml/j-worker-1"));
  suspend(world);
  await world.settle(1000);
  await world.settle(60_000);
  deepEqual(world.pods, ["j-worker-1"]);
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  equal(activeOf(world), 1);
  ok(world.reasons.includes("FailedDeletePod"));
  ok(!world.reasons.includes("TFJobSuspended"));
  world.cluster.faults.length = 0;
  await world.settle(600_000);
  deepEqual(world.pods, []);
  deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Suspended"]);
  equal(activeOf(world), 0);
  ok(world.reasons.includes("TFJobSuspended"));
});

/** A pod with the labels of the job's, which nobody controls. */
function addOrphan(world: JobWorld): void {
  const { metadata, ...pod } = world.pod("j-worker-0");
  const { ownerReferences: _, uid: _uid, ...others } = metadata ?? {};
  world.cluster.put(KINDS.pod, { ...pod, metadata: { ...others, name: "orphan" } });
}

test("a job is suspended while a pod of its labels cannot be adopted", async (world) => {
  world.cluster.faults.push(refuse("patch", "Pod"));
  addOrphan(world);
  suspend(world);
  await world.settle(1000);
  deepEqual(world.pods, ["orphan"]);
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  ok(!world.reasons.includes("TFJobSuspended"));
  equal(activeOf(world), 0);
  world.cluster.faults.length = 0;
  await world.settle(600_000);
  deepEqual(world.pods, []);
  deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Suspended"]);
  ok(world.reasons.includes("TFJobSuspended"));
});

test("a job creates nothing while a pod of its labels cannot be adopted, and counts what it has", async (world) => {
  world.cluster.faults.push(refuse("patch", "Pod"));
  addOrphan(world);
  const { length } = world.creations();
  world.cluster.remove(KINDS.pod, "ml/j-worker-2");
  await world.settle(1000);
  await world.settle(1000);
  deepEqual(world.creations().slice(length), []);
  equal(activeOf(world), 2);
});

test("counters follow while the API server does not say whether pods may be created", async (world) => {
  const fault: Fault = ({ verb, kind }) =>
    verb === "get" && kind === V1_RESOURCES.TFJob.kind ? REFUSED : undefined;
  world.cluster.faults.push(fault);
  world.cluster.remove(KINDS.pod, "ml/j-worker-2");
  await world.settle(1000);
  equal(activeOf(world), 2);
  deepEqual(world.pods, ["j-worker-0", "j-worker-1"]);
  world.cluster.faults.length = 0;
  await world.settle(600_000);
  deepEqual(world.pods, ["j-worker-0", "j-worker-1", "j-worker-2"]);
});

test("a job that has expired goes though one of its Services cannot be deleted", async (world) => {
  world.edit("TFJob", { runPolicy: { ttlSecondsAfterFinished: 1, cleanPodPolicy: "All" } });
  world.cluster.faults.push(refuse("delete", "Service", "ml/j-worker-1"));
  world.reportAll({ phase: "Succeeded", exitCode: 0 });
  await world.settle();
  await world.settle(60_000);
  equal(world.cluster.peek(V1_RESOURCES.TFJob, "ml/j"), undefined);
});

test("a job whose passes fail ends at its deadline, and goes when it has expired", async (world) => {
  world.cluster.faults.push(refuse("create", "Pod"), refuse("delete", "Service"));
  world.edit("TFJob", {
    runPolicy: { activeDeadlineSeconds: 1000, ttlSecondsAfterFinished: 1000 },
  });
  world.cluster.remove(KINDS.pod, "ml/j-worker-2");
  // By now the back-off is five minutes.
  for (let second = 0; second < 900; second += 100) await world.settle(100_000);
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  await world.settle(100_000);
  deepEqual(world.conditions("TFJob").at(-1), "Failed");
  for (let second = 0; second < 900; second += 100) await world.settle(100_000);
  await world.settle(99_000);
  ok(world.cluster.peek(V1_RESOURCES.TFJob, "ml/j"));
  await world.settle(1000);
  equal(world.cluster.peek(V1_RESOURCES.TFJob, "ml/j"), undefined);
});
