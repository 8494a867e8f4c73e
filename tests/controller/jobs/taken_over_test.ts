/** Tests of v1 jobs that another operator has begun. */
import { deepEqual, equal, ok, partialDeepStrictEqual } from "node:assert/strict";
import { gangScheduler } from "../../../controller/jobs/gang.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_FORMER_LABELS, V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { controllerOf } from "../../../platform/kube/owner_references.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import type { Kind, KubeObject } from "../../../platform/kube/resource.ts";
import { JobWorld, pyTorchSpec, tfSpec } from "./job_world.ts";

const FORBIDDEN = new KubeError("no", { code: 403, reason: "Forbidden" });
const RUNNING = { phase: "Running" };

async function running(spec: unknown): Promise<JobWorld> {
  const world = new JobWorld();
  world.start();
  world.put("TFJob", spec);
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  return world;
}

/** Gives the objects of a kind the labels that operators gave them before version 1.4. */
function makeFormer<T extends KubeObject>(world: JobWorld, kind: Kind<T>): void {
  const former: readonly string[] = Object.values(V1_FORMER_LABELS);
  for (const object of world.cluster.all(kind)) {
    const kept = Object.entries(object.metadata?.labels ?? {})
      .filter(([key]) => former.includes(key));
    const metadata = { ...object.metadata, labels: Object.fromEntries(kept) };
    world.cluster.put(kind, { ...object, metadata });
  }
}

Deno.test("pods and Services of an operator before 1.4 are kept, and get the labels of now", async () => {
  const world = await running(tfSpec({ Worker: 2 }));
  try {
    await world.stop();
    const uids = () => world.pods.map((it) => world.pod(it).metadata?.uid);
    const before = uids();
    makeFormer(world, KINDS.pod);
    makeFormer(world, KINDS.service);
    world.events.length = 0;
    world.start();
    await world.settle();
    for (let second = 0; second < 10; second++) await world.settle(1000);
    deepEqual(uids(), before);
    for (const name of world.pods) {
      partialDeepStrictEqual(world.pod(name).metadata?.labels, { [V1_LABELS.jobName]: "j" });
      ok(controllerOf(world.pod(name).metadata));
    }
    deepEqual(world.events.filter(({ type }) => type === "Warning"), []);
    deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  } finally {
    await world.stop();
  }
});

Deno.test("a pod whose labels somebody changed is released if its name is in the way", async () => {
  const world = await running(tfSpec({ Worker: 1 }));
  try {
    await world.stop();
    const pod = world.pod("j-worker-0");
    world.cluster.remove(KINDS.pod, "ml/j-worker-0");
    // A cache that is behind does not show it; the API server refuses another of its name.
    world.cluster.hold(KINDS.pod);
    const labels = { ...pod.metadata?.labels, [V1_LABELS.jobName]: "another" };
    world.cluster.put(KINDS.pod, { ...pod, metadata: { ...pod.metadata, labels } });
    world.start();
    await world.settle();
    equal(world.pod("j-worker-0").metadata?.uid, pod.metadata?.uid);
    equal(controllerOf(world.pod("j-worker-0").metadata), undefined);
    ok(world.reasons.includes("FailedCreatePod"));
  } finally {
    await world.stop();
  }
});

Deno.test("no pod is made before the pods that are there have been read", async () => {
  const world = new JobWorld();
  world.podsSynced = false;
  world.start();
  try {
    world.put("TFJob", tfSpec({ Worker: 1 }));
    await world.settle();
    deepEqual(world.creations(), []);
    world.podsSynced = true;
    await world.settle(1000);
    deepEqual(world.creations(), ["ml/j-worker-0"]);
  } finally {
    await world.stop();
  }
});

/** A job that runs, and that admission would refuse now. */
async function invalid(policy: Record<string, unknown> = {}): Promise<JobWorld> {
  const world = await running(tfSpec({ Worker: 2 }));
  const runPolicy = { cleanPodPolicy: "sometimes", ...policy };
  world.edit("TFJob", { runPolicy });
  await world.settle();
  return world;
}

Deno.test("a job that admission would refuse is told, and runs on without anything new", async () => {
  const world = await invalid();
  try {
    ok(world.reasons.includes("TFJobFailedValidation"));
    world.cluster.remove(KINDS.pod, "ml/j-worker-1");
    await world.settle();
    deepEqual(world.pods, ["j-worker-0"]);
    world.report("j-worker-0", { phase: "Succeeded", exitCode: 0 });
    await world.settle();
    ok(world.conditions("TFJob").includes("Succeeded"));
  } finally {
    await world.stop();
  }
});

Deno.test("a job that admission would refuse is suspended all the same", async () => {
  const world = await invalid();
  try {
    world.edit("TFJob", { runPolicy: { cleanPodPolicy: "sometimes", suspend: true } });
    await world.settle();
    deepEqual(world.pods, []);
    ok(world.conditions("TFJob").includes("Suspended"));
  } finally {
    await world.stop();
  }
});

Deno.test("a job that admission would refuse is ended by its deadline all the same", async () => {
  const world = await invalid({ activeDeadlineSeconds: 60 });
  try {
    await world.settle(61_000);
    deepEqual(world.pods, []);
    ok(world.conditions("TFJob").includes("Failed"));
  } finally {
    await world.stop();
  }
});

Deno.test("what is wrong with a pod group keeps no job from being suspended", async () => {
  const world = new JobWorld();
  world.gang = gangScheduler("volcano");
  world.start();
  try {
    world.put("PyTorchJob", pyTorchSpec(1));
    await world.settle();
    world.cluster.edit(KINDS.volcanoPodGroup, "ml/j", { status: { phase: "Inqueue" } });
    await world.settle(2000);
    equal(world.pods.length, 2);
    world.fault(({ kind }, phase) =>
      kind === "PodGroup" && phase === "before" ? FORBIDDEN : undefined
    );
    world.edit("PyTorchJob", { runPolicy: { suspend: true } });
    await world.settle();
    deepEqual(world.pods, []);
    deepEqual(world.services, []);
    ok(world.conditions("PyTorchJob").includes("Suspended"));
    ok(world.reasons.includes("FailedDeletePodGroup"));
  } finally {
    await world.stop();
  }
});

Deno.test("a predecessor's pod that does not go holds up only its replica", async () => {
  const world = await running(tfSpec({ Worker: 2 }));
  try {
    await world.stop();
    const stuck = world.pod("j-worker-1");
    world.cluster.remove(V1_RESOURCES.TFJob, "ml/j");
    world.cluster.remove(KINDS.pod, "ml/j-worker-0");
    for (const name of world.services) world.cluster.remove(KINDS.service, `ml/${name}`);
    const metadata = { ...stuck.metadata, deletionTimestamp: "2026-01-01T00:00:30Z" };
    world.cluster.put(KINDS.pod, { ...stuck, metadata });
    world.start();
    world.put("TFJob", tfSpec({ Worker: 2 }));
    await world.settle();
    world.report("j-worker-0", RUNNING);
    await world.settle(2000);
    deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
    world.cluster.remove(KINDS.pod, "ml/j-worker-1");
    await world.settle(2000);
    deepEqual(world.pods, ["j-worker-0", "j-worker-1"]);
  } finally {
    await world.stop();
  }
});
