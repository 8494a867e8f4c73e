/** Tests of when the engine of the v1 kinds calls nothing, and of how often it calls what fails. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { runJob, testInWorld } from "./every_kind.ts";
import { JobWorld, replicas, tfSpec } from "./job_world.ts";

const RUNNING = { phase: "Running" };

/** Lets two minutes pass, in steps of two seconds. */
async function pass(world: JobWorld): Promise<void> {
  for (let step = 0; step < 60; step++) await world.settle(2000);
}

const edited = (at: number) => ({ metadata: { labels: { at: String(at) } } });

testInWorld(
  "passes before the watches show what was made call nothing, until the last of it is shown",
  async (world) => {
    const key = world.put("TFJob", tfSpec({ PS: 1, Worker: 2 }));
    world.cluster.hold(KINDS.pod, KINDS.service);
    await world.settle();
    const { length } = world.cluster.calls;
    for (let at = 0; at < 5; at++) {
      const passes = world.passes.length;
      world.cluster.edit(V1_RESOURCES.TFJob, key, edited(at));
      await world.settle(1000);
      ok(world.passes.length > passes, "there was a pass");
    }
    deepEqual(world.cluster.calls.slice(length), []);
    deepEqual(world.creations().length, 3);
  },
);

testInWorld(
  "what the watch shows of the pods counts before it shows their Services, of which none is made twice",
  async (world) => {
    const key = world.put("TFJob", tfSpec({ Worker: 2 }));
    world.cluster.hold(KINDS.service);
    await world.settle();
    const { length } = world.cluster.calls;
    world.reportAll({ phase: "Failed", exitCode: 1 });
    const passes = world.passes.length;
    world.cluster.edit(V1_RESOURCES.TFJob, key, edited(1));
    await world.settle(1000);
    ok(world.passes.length > passes);
    deepEqual(world.conditions("TFJob"), ["Created", "Failed"]);
    const calls = world.cluster.calls.slice(length).map(({ verb, kind }) => `${verb} ${kind}`);
    deepEqual(calls, ["patch TFJob"]);
    world.cluster.catchUp();
    await world.settle();
    equal(world.creations("Service").length, 2);
  },
);

testInWorld("a pod whose deletion the watch has not shown is not deleted twice", async (world) => {
  const key = await runJob(world, "PyTorchJob", {}, { restartPolicy: "OnFailure" });
  world.report("j-worker-1", { phase: "Failed", exitCode: 1 });
  world.cluster.hold(KINDS.pod);
  await world.settle();
  const deletions = () => world.cluster.calls.filter(({ verb }) => verb === "delete").length;
  equal(deletions(), 1);
  const { length } = world.cluster.calls;
  for (let at = 0; at < 5; at++) {
    world.cluster.edit(V1_RESOURCES.PyTorchJob, key, edited(at));
    await world.settle(1000);
  }
  deepEqual(world.cluster.calls.slice(length), []);
  world.cluster.catchUp();
  await world.settle();
  equal(deletions(), 1);
  equal(world.pods.length, 5);
});

testInWorld(
  "a job that is gone is not asked for, whatever still comes of its pods",
  async (world) => {
    const key = await runJob(world, "TFJob");
    const pod = world.pod("j-worker-0");
    world.cluster.remove(V1_RESOURCES.TFJob, key);
    await world.settle();
    const { length } = world.cluster.calls;
    world.cluster.put(KINDS.pod, pod);
    world.report("j-worker-0", { phase: "Failed", exitCode: 1 });
    world.cluster.remove(KINDS.pod, "ml/j-worker-0");
    await pass(world);
    deepEqual(world.cluster.calls.slice(length), []);
  },
);

/** Jobs without pods, and the conditions that they have. */
const EMPTY: readonly (readonly [string, V1KindName, unknown, readonly string[]])[] = [
  ["no replica types", "TFJob", {}, ["Created"]],
  ["no replica types", "PyTorchJob", {}, ["Created"]],
  ["no replica types", "JAXJob", {}, ["Created"]],
  ["no workers", "JAXJob", { Worker: replicas("jax", 0) }, ["Created", "Succeeded"]],
  ["no workers", "TFJob", { Worker: replicas("tensorflow", 0) }, ["Created", "Succeeded"]],
  ["no servers", "TFJob", { PS: replicas("tensorflow", 0) }, ["Created"]],
];

for (const [what, kind, specs, conditions] of EMPTY) {
  testInWorld(`a ${kind} of ${what} has passes, and its limits hold`, async (world) => {
    const runPolicy = { activeDeadlineSeconds: 600, ttlSecondsAfterFinished: 60 };
    const key = world.put(kind, { runPolicy, [V1_KINDS[kind].specsKey]: specs });
    await world.settle();
    deepEqual(world.conditions(kind), conditions);
    equal(world.job(kind).status?.startTime, "2026-01-01T00:00:00Z");
    const passes = world.passes.length;
    world.cluster.edit(V1_RESOURCES[kind], key, edited(1));
    await world.settle();
    ok(world.passes.length > passes);
    if (conditions.length === 1) {
      await world.settle(600_000);
      deepEqual(world.conditions(kind), ["Created", "Failed"]);
    }
    await world.settle(60_000);
    equal(world.cluster.peek(V1_RESOURCES[kind], key), undefined, "its time to live has passed");
    deepEqual(world.creations(), []);
  });
}

/** What the API server refuses for good, one after the other. */
const REFUSED: readonly (readonly [string, number, string])[] = [
  ["Forbidden", 403, "a quota is used up"],
  ["InternalError", 500, "a webhook does not answer"],
];

for (const [reason, code, message] of REFUSED) {
  for (const kind of ["Pod", "Service"] as const) {
    testInWorld(
      `a ${kind} that is refused with ${code} is tried later and later, and the others run`,
      async (world) => {
        const refused = new KubeError(message, { code, reason });
        let times = 0;
        let refuses = true;
        world.fault((call, phase) => {
          if (!refuses || phase !== "before" || call.verb !== "create") return undefined;
          if (call.kind !== kind || call.key !== "ml/j-worker-1") return undefined;
          times++;
          return refused;
        });
        world.put("TFJob", tfSpec({ Worker: 3 }));
        await world.settle();
        const others = ["j-worker-0", "j-worker-2"];
        deepEqual(kind === "Pod" ? world.pods : world.services, others);
        deepEqual((kind === "Pod" ? world.services : world.pods).length, 3);
        world.reportAll(RUNNING);
        await pass(world);
        deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
        ok(times >= 5 && times < 25, `${times} tries in two minutes`);
        ok(world.cluster.calls.length < 100, `${world.cluster.calls.length} calls`);
        ok(world.events.some((it) => it.message === `Error creating: ${message}`));
        refuses = false;
        // The next try may be minutes away.
        await world.settle(600_000);
        equal(kind === "Pod" ? world.pods.length : world.services.length, 3);
      },
    );
  }
}

for (const index of ["-1", "", "99999999999"]) {
  testInWorld(
    `an index that somebody made ${
      JSON.stringify(index)
    } ends nothing, and is not asked about again and again`,
    async (world) => {
      await runJob(world, "TFJob");
      const labels = { [V1_LABELS.replicaIndex]: index };
      world.cluster.edit(KINDS.pod, "ml/j-worker-1", { metadata: { labels } });
      world.cluster.edit(KINDS.service, "ml/j-worker-2", { metadata: { labels } });
      const { length } = world.cluster.calls;
      await pass(world);
      ok(world.cluster.calls.length - length < 125, `${world.cluster.calls.length - length} calls`);
      deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
      equal(world.pods.length, 6);
    },
  );
}
