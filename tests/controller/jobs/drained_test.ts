/** Tests of pods of a v1 job that somebody else deletes, and of restarts beside pushes. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { conflict } from "../memory_cluster.ts";
import { JobWorld, pyTorchSpec, tfSpec } from "./job_world.ts";

const RUNNING = { phase: "Running" };
const GOING = { metadata: { deletionTimestamp: "2026-01-01T00:00:30Z" } };

function test(name: string, body: (world: JobWorld) => Promise<void>): void {
  Deno.test(name, async () => {
    const world = new JobWorld();
    world.start();
    try {
      await body(world);
    } finally {
      await world.stop();
    }
  });
}

for (const backoffLimit of [0, 2]) {
  for (const restartPolicy of ["Never", "OnFailure", "ExitCode"]) {
    test(`drained nodes do not use up a back-off limit of ${backoffLimit} under ${restartPolicy}`, async (world) => {
      world.put("TFJob", tfSpec({ Worker: 2 }, { runPolicy: { backoffLimit } }, { restartPolicy }));
      await world.settle();
      for (let drain = 1; drain <= 4; drain++) {
        world.reportAll(RUNNING);
        await world.settle();
        world.cluster.edit(KINDS.pod, "ml/j-worker-1", GOING);
        await world.settle();
        deepEqual(world.conditions("TFJob"), ["Created", "Running"], `drain ${drain}`);
        world.cluster.remove(KINDS.pod, "ml/j-worker-1");
        await world.settle();
        equal(world.creations().length, 2 + drain);
      }
    });
  }
}

test("a failure beside a drained node is one try, and the second one too many", async (world) => {
  const runPolicy = { backoffLimit: 1 };
  world.put("TFJob", tfSpec({ Worker: 3 }, { runPolicy }, { restartPolicy: "OnFailure" }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  world.cluster.edit(KINDS.pod, "ml/j-worker-1", GOING);
  await world.settle();
  world.report("j-worker-2", { phase: "Failed", exitCode: 1 });
  await world.settle();
  ok(!world.conditions("TFJob").includes("Failed"));
  world.cluster.remove(KINDS.pod, "ml/j-worker-1");
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  world.report("j-worker-2", { phase: "Failed", exitCode: 1 });
  await world.settle();
  ok(world.conditions("TFJob").includes("Failed"));
  match(world.job("TFJob").status?.conditions?.at(-1)?.message ?? "", /backoff limit$/);
});

/** Pods that are deleted take their time, as those do whose program heeds SIGTERM. */
function lingering(world: JobWorld): void {
  world.fault((call, phase) => {
    if (call.verb !== "delete" || call.kind !== "Pod" || phase !== "before") return undefined;
    world.cluster.edit(KINDS.pod, call.key, GOING);
    return conflict(call.key);
  });
}

for (const restartPolicy of ["OnFailure", "ExitCode"]) {
  test(`a job that is resumed while its pods still end goes on under ${restartPolicy}, and has restarted nothing`, async (world) => {
    const spec = (suspend: boolean) =>
      pyTorchSpec(1, { runPolicy: { suspend, backoffLimit: 0 } }, { restartPolicy });
    world.put("PyTorchJob", spec(false));
    await world.settle();
    world.reportAll(RUNNING);
    await world.settle();
    lingering(world);
    world.edit("PyTorchJob", spec(true));
    await world.settle();
    world.edit("PyTorchJob", spec(false));
    await world.settle();
    world.reportAll({ phase: "Failed", exitCode: 143 });
    await world.settle();
    world.cluster.faults.length = 0;
    for (const name of world.pods) world.cluster.remove(KINDS.pod, `ml/${name}`);
    await world.settle();
    world.reportAll(RUNNING);
    await world.settle();
    deepEqual(world.conditions("PyTorchJob"), ["Created", "Suspended=False", "Running"]);
    ok(!world.reasons.includes("PyTorchJobRestarting"), String(world.reasons));
  });
}

test("a restart is told although a push comes between", async (world) => {
  const key = world.put("PyTorchJob", pyTorchSpec(1, {}, { restartPolicy: "OnFailure" }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  let pushes = 0;
  const told: string[] = [];
  world.fault((call, phase) => {
    if (call.subresource !== "status") return undefined;
    const { conditions } = world.job("PyTorchJob").status ?? {};
    if (phase === "after") {
      told.push(...conditions?.map(({ type }) => type) ?? []);
      return undefined;
    }
    if (pushes++ > 0) return undefined;
    world.cluster.edit(V1_RESOURCES.PyTorchJob, key, {
      status: {
        trainerStatus: { progressPercentage: 40, lastUpdatedTime: "2026-01-01T00:00:00Z" },
      },
    });
    return conflict(key);
  });
  const { uid } = world.pod("j-worker-0").metadata ?? {};
  world.report("j-worker-0", { phase: "Failed", exitCode: 1 });
  await world.settle();
  for (let second = 0; second < 10; second++) await world.settle(1000);
  ok(pushes > 1);
  ok(world.pod("j-worker-0").metadata?.uid !== uid);
  ok(told.includes("Restarting"));
  ok(world.reasons.includes("PyTorchJobRestarting"), String(world.reasons));
});

test("a pod whose index somebody has changed is told, and the job goes on", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2 }));
  await world.settle();
  world.reportAll(RUNNING);
  world.cluster.edit(KINDS.pod, "ml/j-worker-1", {
    metadata: { labels: { [V1_LABELS.replicaIndex]: "x" } },
  });
  await world.settle();
  const before = world.cluster.calls.length;
  for (let second = 0; second < 60; second++) await world.settle(1000);
  ok(world.reasons.includes("FailedCreatePod"));
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  ok(world.cluster.calls.length - before < 60, "it is tried later and later");
});
