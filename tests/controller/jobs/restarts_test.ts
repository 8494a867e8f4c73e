/** Tests of restarts of v1 jobs: all old pods go, and only then the next ones come. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, EVENT_REASONS } from "../../../crds/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { asTexts, objectsAt } from "../../../platform/base/json.ts";
import { KIND_NAMES, runJob, specOfKind, testInWorld } from "./every_kind.ts";
import { type JobWorld, pyTorchSpec, replicas, tfSpec } from "./job_world.ts";
import {
  countsOf,
  letGo,
  linger,
  storedRestart,
  storeRestart,
  watchGenerations,
} from "./restarting.ts";

const RUNNING = { phase: "Running" };
const KILLED = { phase: "Failed", exitCode: 143 };
const DONE = { phase: "Succeeded", exitCode: 0 };

const told = (world: JobWorld, reason: string) =>
  world.events.filter((it) => it.reason === reason).map(({ message }) => message);
const uidsOf = (world: JobWorld, kind: typeof KINDS.pod | typeof KINDS.service) =>
  world.cluster.all<{ metadata?: { uid?: string } }>(kind).map(({ metadata }) => metadata?.uid);
/** The pods, each after that restart. */
const after = (count: number, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, String(count)]));

for (const kind of KIND_NAMES) {
  for (const at of ["status", "annotation"] as const) {
    testInWorld(
      `a ${kind} is restarted by its ${at}, and goes on as the same job`,
      async (world) => {
        if (at === "annotation") world.cluster.dropped.add("restart").add("completedIndexes");
        const mixed = watchGenerations(world);
        await runJob(world, kind, { backoffLimit: 0 });
        const before = world.job(kind).status;
        const names = world.pods;
        const [pods, services] = [uidsOf(world, KINDS.pod), uidsOf(world, KINDS.service)];
        linger(world);
        storeRestart(world, kind, { at });
        await world.settle(1000);
        // The last of them ends long after the others.
        world.reportAll(KILLED);
        const [last = "", ...others] = names;
        await letGo(world, others);
        await world.settle(5000);
        deepEqual(countsOf(world), { [last]: "" });
        equal(storedRestart(world, kind)?.endTime, undefined);
        world.report(last, DONE);
        await world.settle(1000);
        await letGo(world);
        await world.settle(1000);
        deepEqual(countsOf(world), after(1, names));
        deepEqual(mixed, []);
        ok(!uidsOf(world, KINDS.pod).some((uid) => pods.includes(uid)));
        deepEqual(uidsOf(world, KINDS.service), services);
        const { endTime, count } = storedRestart(world, kind) ?? {};
        equal(endTime, "2026-01-01T00:00:08Z");
        equal(count, 1);
        equal(world.job(kind).status?.restart !== undefined, at === "status");
        deepEqual(told(world, EVENT_REASONS.restarted), [
          "Restart 1 is done: the pods before it are gone, and others come",
        ]);
        world.reportAll(RUNNING);
        await world.settle();
        const { conditions, startTime } = world.job(kind).status ?? {};
        deepEqual(conditions, before?.conditions);
        equal(startTime, before?.startTime);
        ok(!world.reasons.some((it) => /Restarting|Failed|Succeeded$|Suspended/.test(it)));
        equal(told(world, EVENT_REASONS.restarted).length, 1);
      },
    );
  }
}

testInWorld("indexes that had succeeded run again, with their pods or without", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 3 }, { successPolicy: "AllWorkers" }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  world.report("j-worker-0", DONE);
  world.report("j-worker-1", DONE);
  await world.settle();
  world.cluster.remove(KINDS.pod, "ml/j-worker-0");
  await world.settle();
  equal(world.job("TFJob").status?.completedIndexes?.Worker, "0,1");
  storeRestart(world, "TFJob");
  await world.settle();
  await world.settle();
  deepEqual(countsOf(world), after(1, ["j-worker-0", "j-worker-1", "j-worker-2"]));
  world.reportAll(RUNNING);
  await world.settle();
  const { completedIndexes, replicaStatuses } = world.job("TFJob").status ?? {};
  deepEqual([completedIndexes ?? {}, replicaStatuses], [{}, { Worker: { active: 3 } }]);
});

for (const restartPolicy of ["Never", "OnFailure", "Always", "ExitCode"]) {
  testInWorld(`a failure beside a restart under ${restartPolicy} is none`, async (world) => {
    const key = await runJob(world, "PyTorchJob", { backoffLimit: 1 }, { restartPolicy });
    // It fails by itself, before anybody could delete it.
    storeRestart(world, "PyTorchJob");
    world.report("j-worker-0", { phase: "Failed", exitCode: 1 });
    for (let second = 0; second < 5; second++) await world.settle(1000);
    world.reportAll(RUNNING);
    await world.settle();
    deepEqual(world.conditions("PyTorchJob"), ["Created", "Running"]);
    equal(Object.values(countsOf(world)).join(), "1,1,1,1,1", key);
    deepEqual(told(world, "PyTorchJobRestarting"), []);
    // Nor is its try used up.
    if (restartPolicy === "Never" || restartPolicy === "ExitCode") return;
    world.report("j-worker-0", { phase: "Failed", exitCode: 1 });
    await world.settle();
    ok(!world.conditions("PyTorchJob").includes("Failed"));
  });
}

testInWorld(
  "a failure of before a restart is history, and the next ones are counted anew",
  async (world) => {
    await runJob(world, "PyTorchJob", {}, { restartPolicy: "OnFailure" });
    for (let restarts = 1; restarts <= 3; restarts++) {
      world.report("j-worker-0", { phase: "Failed", exitCode: 1 });
      await world.settle(1000);
      world.reportAll(RUNNING);
      await world.settle(1000);
    }
    ok(world.job("PyTorchJob").status?.failure?.headline);
    storeRestart(world, "PyTorchJob");
    await world.settle(1000);
    await world.settle(1000);
    const { headline, recoveredTime } = world.job("PyTorchJob").status?.failure ?? {};
    equal(headline, undefined);
    ok(recoveredTime);
  },
);

testInWorld(
  "the deadline of a job holds while it is restarted, from its first start",
  async (world) => {
    await runJob(world, "PyTorchJob", { activeDeadlineSeconds: 100, ttlSecondsAfterFinished: 50 });
    linger(world);
    storeRestart(world, "PyTorchJob");
    await world.settle(50_000);
    equal(storedRestart(world, "PyTorchJob")?.endTime, undefined);
    await world.settle(50_000);
    await world.settle(1);
    equal(world.conditions("PyTorchJob").at(-1), "Failed");
    ok(storedRestart(world, "PyTorchJob")?.endTime);
    await letGo(world);
    await world.settle();
    deepEqual(world.pods, []);
    await world.settle(50_000);
    equal(world.cluster.peek(V1_RESOURCES.PyTorchJob, "ml/j"), undefined);
  },
);

testInWorld("a suspension ends a restart, and the job is suspended as always", async (world) => {
  await runJob(world, "PyTorchJob");
  linger(world);
  storeRestart(world, "PyTorchJob");
  await world.settle(1000);
  world.edit("PyTorchJob", { runPolicy: { suspend: true } });
  await world.settle(1000);
  deepEqual(world.conditions("PyTorchJob"), ["Created", "Running=False", "Suspended"]);
  equal(storedRestart(world, "PyTorchJob")?.endTime, "2026-01-01T00:00:02Z");
  // It is resumed while its pods still end.
  const names = world.pods;
  const mixed = watchGenerations(world);
  world.edit("PyTorchJob", { runPolicy: { suspend: false } });
  await world.settle(1000);
  await letGo(world, ["j-worker-0"]);
  await world.settle(1000);
  ok(!world.pods.includes("j-worker-0"));
  await letGo(world);
  await world.settle(1000);
  deepEqual([countsOf(world), mixed], [after(1, names), []]);
  deepEqual(told(world, EVENT_REASONS.restarted), []);
});

testInWorld(
  "a job that is suspended before anything of its restart was done is suspended",
  async (world) => {
    await runJob(world, "PyTorchJob");
    await world.stop();
    storeRestart(world, "PyTorchJob");
    world.edit("PyTorchJob", { runPolicy: { suspend: true } });
    world.start();
    await world.settle(1000);
    deepEqual([world.pods, world.conditions("PyTorchJob").at(-1)], [[], "Suspended"]);
    ok(storedRestart(world, "PyTorchJob")?.endTime);
  },
);

testInWorld(
  "a suspension whose pods cannot be deleted leaves the restart as it is",
  async (world) => {
    await runJob(world, "PyTorchJob");
    storeRestart(world, "PyTorchJob");
    world.fault(({ verb }) => verb === "delete" ? new Error("refused") : undefined);
    world.edit("PyTorchJob", { runPolicy: { suspend: true } });
    await world.settle(1000);
    equal(storedRestart(world, "PyTorchJob")?.endTime, undefined);
  },
);

testInWorld("a stop ends a restart, and no pod is made beside old ones", async (world) => {
  await runJob(world, "PyTorchJob");
  await world.stop();
  storeRestart(world, "PyTorchJob");
  const stop = { reason: "Done", message: "", time: "2026-01-01T00:00:00Z", graceSeconds: 60 };
  world.cluster.edit(V1_RESOURCES.PyTorchJob, "ml/j", { status: { stop } });
  const mixed = watchGenerations(world);
  world.start();
  await world.settle(1000);
  ok(storedRestart(world, "PyTorchJob")?.endTime);
  equal(Object.values(countsOf(world)).join(), ",,,,");
  world.cluster.remove(KINDS.pod, "ml/j-worker-1");
  await world.settle(1000);
  deepEqual([world.pods.length, mixed], [4, []]);
});

for (const end of ["Succeeded", "Failed"]) {
  testInWorld(
    `a job that has ${end.toLowerCase()} keeps its pods, and its restart ends`,
    async (world) => {
      await runJob(world, "PyTorchJob");
      await world.stop();
      storeRestart(world, "PyTorchJob");
      const conditions = [{ type: end, status: "True", reason: "Test" }];
      world.cluster.edit(V1_RESOURCES.PyTorchJob, "ml/j", { status: { conditions } });
      world.start();
      await world.settle(1000);
      ok(storedRestart(world, "PyTorchJob")?.endTime);
      equal(world.pods.length, 5);
      deepEqual(told(world, EVENT_REASONS.restarted), []);
    },
  );
}

testInWorld("a job that is deleted takes its pods along, whatever its restart", async (world) => {
  await runJob(world, "PyTorchJob");
  storeRestart(world, "PyTorchJob");
  world.cluster.edit(V1_RESOURCES.PyTorchJob, "ml/j", {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["foregroundDeletion"] },
  });
  const { length } = world.creations();
  await world.settle(1000);
  deepEqual([world.pods, world.creations().length], [[], length]);
});

testInWorld("one restart after the other is done, each once", async (world) => {
  await runJob(world, "TFJob");
  const names = world.pods;
  for (const count of [1, 2, 7]) {
    storeRestart(world, "TFJob", { count });
    await world.settle(1000);
    await world.settle(1000);
    deepEqual(countsOf(world), after(count, names));
    ok(storedRestart(world, "TFJob")?.endTime);
  }
  const { length } = world.cluster.writes;
  await world.stop();
  world.start();
  await world.settle(1000);
  equal(world.cluster.writes.length, length);
  equal(world.creations().length, names.length * 4);
});

testInWorld("pods that do not go are told once with their nodes, and waited for", async (world) => {
  await runJob(world, "PyTorchJob");
  for (const name of world.pods) {
    world.cluster.edit(KINDS.pod, `ml/${name}`, { spec: { nodeName: `node-${name.at(-1)}` } });
  }
  linger(world);
  storeRestart(world, "PyTorchJob");
  await world.settle(1000);
  await letGo(world, ["j-master-0"]);
  await world.settle(58_000);
  deepEqual(told(world, EVENT_REASONS.restartWaits), []);
  await world.settle(2000);
  const message = 'Restart 1 waits: pod "j-worker-0" on node "node-0", pod "j-worker-1" on node ' +
    '"node-1", pod "j-worker-2" on node "node-2" and 1 more do not go; is the node dead?';
  deepEqual(told(world, EVENT_REASONS.restartWaits), [message]);
  await letGo(world, ["j-worker-0"]);
  for (let minute = 0; minute < 10; minute++) await world.settle(60_000);
  deepEqual(told(world, EVENT_REASONS.restartWaits), [message]);
  deepEqual(world.pods, ["j-worker-1", "j-worker-2", "j-worker-3"]);
  await letGo(world);
  await world.settle(1000);
  equal(Object.values(countsOf(world)).join(), "1,1,1,1,1");
  linger(world);
  storeRestart(world, "PyTorchJob", { count: 2 });
  await world.settle(1000);
  await letGo(world, world.pods.slice(1));
  await world.settle();
  await world.settle(61_000);
  equal(
    told(world, EVENT_REASONS.restartWaits)[1],
    'Restart 2 waits: pod "j-master-0" does not go; is the node dead?',
  );
});

testInWorld("a job that others run is not touched", async (world) => {
  world.put("PyTorchJob", specOfKind("PyTorchJob", { managedBy: "kueue.x-k8s.io/multikueue" }));
  world.put("TFJob", specOfKind("TFJob"));
  world.runs.delete("TFJob");
  await world.settle();
  storeRestart(world, "PyTorchJob");
  storeRestart(world, "TFJob");
  await world.settle(1000);
  deepEqual(world.cluster.writes, []);
});

testInWorld("a job that would be refused keeps its pods, and its restart ends", async (world) => {
  await runJob(world, "PyTorchJob");
  await world.stop();
  storeRestart(world, "PyTorchJob");
  world.edit("PyTorchJob", { pytorchReplicaSpecs: { Master: { replicas: 2 } } });
  world.start();
  await world.settle(1000);
  ok(storedRestart(world, "PyTorchJob")?.endTime);
  equal(world.pods.length, 5);
});

for (
  const text of [
    "{",
    "[]",
    '{"count": 0, "uid": "UID"}',
    '{"count": "1", "reason": "A", "message": "", "time": "", "uid": "UID"}',
    '{"count": 1, "reason": "A", "message": "", "time": "2026-01-01T00:00:00Z"}',
    '{"count": 1, "reason": "A", "message": "", "time": "2026-01-01T00:00:00Z", "uid": "copied"}',
  ]
) {
  testInWorld(`an annotation that is no restart is none: ${text}`, async (world) => {
    await runJob(world, "PyTorchJob");
    const { uid = "" } = world.job("PyTorchJob").metadata;
    const annotations = { [ANNOTATIONS.restart]: text.replace("UID", uid) };
    world.cluster.edit(V1_RESOURCES.PyTorchJob, "ml/j", { metadata: { annotations } });
    const { length } = world.cluster.writes;
    await world.settle(1000);
    equal(world.cluster.writes.length, length);
  });
}

for (const lost of [3, 1]) {
  testInWorld(`a restart after count ${lost} was lost is one all the same`, async (world) => {
    world.cluster.dropped.add("restart");
    await runJob(world, "PyTorchJob");
    storeRestart(world, "PyTorchJob", { count: lost, at: "annotation" });
    await world.settle(1000);
    await world.settle(1000);
    const names = world.pods;
    deepEqual(countsOf(world), after(lost, names));
    const annotations = { [ANNOTATIONS.restart]: null };
    world.cluster.edit(V1_RESOURCES.PyTorchJob, "ml/j", { metadata: { annotations } });
    const [first = "", ...others] = names;
    await world.cluster.client().delete(KINDS.pod, { namespace: "ml", name: first });
    await world.settle(1000);
    // It goes on with what it has.
    deepEqual(countsOf(world), { ...after(lost, others), [first]: "" });
    const mixed = watchGenerations(world);
    const pods = world.pods.map((name) => world.pod(name).metadata?.uid ?? "");
    storeRestart(world, "PyTorchJob", { at: "annotation", pods });
    await world.settle(1000);
    await world.settle(1000);
    ok(!uidsOf(world, KINDS.pod).some((uid) => pods.includes(uid ?? "")));
    deepEqual(countsOf(world), after(1, names));
    deepEqual(mixed, []);
    ok(storedRestart(world, "PyTorchJob")?.endTime);
  });
}

testInWorld(
  "pods of before there were restarts are as they were, until one comes",
  async (world) => {
    await runJob(world, "PyTorchJob");
    const names = world.pods;
    await world.stop();
    world.start();
    const { length } = world.cluster.writes;
    await world.settle(1000);
    equal(world.cluster.writes.length, length);
    deepEqual(Object.values(countsOf(world)), names.map(() => ""));
    storeRestart(world, "PyTorchJob");
    await world.settle(1000);
    await world.settle(1000);
    deepEqual(countsOf(world), after(1, names));
  },
);

testInWorld("a template cannot say after which restart its pods are made", async (world) => {
  const spec = pyTorchSpec(1, {}, {
    template: {
      metadata: { annotations: { [ANNOTATIONS.restartCount]: "99", own: "1" } },
      spec: replicas("pytorch").template.spec,
    },
  });
  world.put("PyTorchJob", spec);
  await world.settle();
  deepEqual(world.pod("j-worker-0").metadata?.annotations, { own: "1" });
  world.reportAll(RUNNING);
  storeRestart(world, "PyTorchJob");
  await world.settle(1000);
  await world.settle(1000);
  deepEqual(countsOf(world), after(1, ["j-master-0", "j-worker-0"]));
});

for (const count of ["x", "", "0", "-1", "NaN"]) {
  testInWorld(`a pod that says "${count}" is one of before a restart`, async (world) => {
    await runJob(world, "TFJob");
    const annotations = { [ANNOTATIONS.restartCount]: count };
    world.cluster.edit(KINDS.pod, "ml/j-worker-0", { metadata: { annotations } });
    storeRestart(world, "TFJob");
    await world.settle(1000);
    await world.settle(1000);
    equal(countsOf(world)["j-worker-0"], "1");
  });
}

testInWorld("the launcher of an MPIJob has no right to workers that go", async (world) => {
  await runJob(world, "MPIJob");
  const rules = () => {
    const [role] = world.cluster.all(KINDS.role);
    return objectsAt(role, "rules").flatMap(({ resourceNames }) => asTexts(resourceNames));
  };
  equal(rules().length, 4);
  linger(world);
  storeRestart(world, "MPIJob");
  await world.settle(1000);
  await world.settle(1000);
  deepEqual(rules(), []);
  await letGo(world);
  await world.settle(1000);
  await world.settle(1000);
  equal(rules().length, 4);
  match(world.creations().at(-1) ?? "", /launcher/);
});

/** A job whose restart ended beside its pods: nobody had deleted them when it was found invalid. */
async function endedBesideItsPods(world: JobWorld): Promise<void> {
  await runJob(world, "PyTorchJob", {}, { restartPolicy: "OnFailure" });
  await world.stop();
  storeRestart(world, "PyTorchJob");
  world.edit("PyTorchJob", { pytorchReplicaSpecs: { Master: { replicas: 2 } } });
  world.start();
  await world.settle(1000);
  ok(storedRestart(world, "PyTorchJob")?.endTime);
  world.edit("PyTorchJob", { pytorchReplicaSpecs: { Master: { replicas: 1 } } });
  await world.settle(1000);
  equal(Object.values(countsOf(world)).join(), ",,,,");
}

testInWorld("a pod that fails beside pods of before a restart is made again", async (world) => {
  await endedBesideItsPods(world);
  const { length } = world.creations();
  linger(world);
  world.report("j-worker-0", { phase: "Failed", exitCode: 1 });
  await world.settle(1000);
  await world.settle(1000);
  // Its name is taken; another that is gone waits for it, too.
  world.cluster.edit(KINDS.pod, "ml/j-worker-1", { metadata: { finalizers: null } });
  world.cluster.remove(KINDS.pod, "ml/j-worker-1");
  await world.settle(1000);
  equal(world.creations().length, length);
  await letGo(world);
  await world.settle(1000);
  equal(Object.values(countsOf(world)).join(), ",1,1,,");
  world.reportAll(RUNNING);
  await world.settle(1000);
  deepEqual(world.conditions("PyTorchJob"), ["Created", "Running"]);
  // Of the pod, and of the job.
  equal(told(world, "PyTorchJobRestarting").length, 2);
  storeRestart(world, "PyTorchJob", { count: 2 });
  await letGo(world);
  for (let second = 0; second < 3; second++) {
    await world.settle(1000);
    await letGo(world);
  }
  await world.settle(1000);
  equal(Object.values(countsOf(world)).join(), "2,2,2,2,2");
});

testInWorld("a job grows beside pods of before a restart", async (world) => {
  await endedBesideItsPods(world);
  world.edit("PyTorchJob", { pytorchReplicaSpecs: { Worker: { replicas: 6 } } });
  await world.settle(1000);
  equal(Object.values(countsOf(world)).join(), ",,,,,1,1");
});
