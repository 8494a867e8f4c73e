/** Tests of the engine of the v1 kinds under faults: late watches, conflicts, foreign objects, killed managers. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { controllerOf } from "../../../platform/kube/owner_references.ts";
import { type Call, conflict } from "../memory_cluster.ts";
import { JobWorld, pyTorchSpec, replicas, tfSpec } from "./job_world.ts";

const RUNNING = { phase: "Running" };
const DONE = { phase: "Succeeded", exitCode: 0 };

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

/** The keys that were created more than once. */
function twice(keys: readonly string[]): string[] {
  return keys.filter((key, index) => keys.indexOf(key) !== index);
}

test("200 replicas are created once while the watches are ten seconds late", async (world) => {
  const key = world.put("TFJob", tfSpec({ Worker: 150, PS: 50 }));
  world.cluster.hold(KINDS.pod, KINDS.service);
  await world.settle();
  equal(world.creations().length, 200);
  for (let second = 0; second < 10; second++) {
    // The cache of jobs is not late: each of these changes makes a pass.
    world.cluster.edit(V1_RESOURCES.TFJob, key, { metadata: { labels: { at: String(second) } } });
    await world.settle(1000);
  }
  const { length } = world.cluster.calls;
  world.cluster.catchUp();
  await world.settle();
  deepEqual(twice(world.creations()), []);
  deepEqual(twice(world.creations("Service")), []);
  equal(world.creations("Service").length, 200);
  ok(world.cluster.calls.slice(length).every(({ verb }) => verb !== "create"));
});

test("pods that the watch never shows are looked up, and none is made twice", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2 }));
  world.cluster.hold();
  await world.settle();
  await world.settle(4 * 60_000);
  const before = world.cluster.calls.length;
  await world.settle(60_000);
  const lookedUp = world.cluster.calls.slice(before).filter(({ kind }) => kind === "Pod");
  deepEqual([...new Set(lookedUp.map(({ verb }) => verb))], ["get"]);
  equal(world.pods.length, 2);
  deepEqual(world.events.filter(({ type }) => type === "Warning"), []);
});

test("a status patch that always conflicts creates nothing twice, and is tried again", async (world) => {
  let conflicts = 0;
  let stays = true;
  world.fault((call, phase) => {
    if (!stays || call.subresource !== "status" || phase !== "before") return undefined;
    conflicts++;
    return conflict("j");
  });
  world.put("TFJob", tfSpec({ Worker: 3 }));
  await world.settle();
  for (let pass = 0; pass < 10; pass++) await world.settle(60_000);
  ok(conflicts > 5);
  deepEqual(world.creations().length, 3);
  equal(world.job("TFJob").status, undefined);
  stays = false;
  await world.settle(600_000);
  deepEqual(world.conditions("TFJob"), ["Created"]);
});

test("a status patch that always conflicts is tried again later and later", async (world) => {
  const times: number[] = [];
  world.fault((call, phase) => {
    if (call.subresource !== "status" || phase !== "before") return undefined;
    times.push(world.clock.now());
    return conflict("j");
  });
  world.put("TFJob", tfSpec({ Worker: 1 }));
  for (let tick = 0; tick < 600; tick++) await world.settle(1000);
  const waits = times.map((time, n) => time - (times[n - 1] ?? time)).filter((ms) => ms > 2000);
  ok(waits.length >= 3 && waits.length < 20, `waits of ${waits} ms`);
  ok((waits.at(-1) ?? 0) > 4 * (waits[0] ?? 0), `waits of ${waits} ms`);
});

test("each change of a job, a pod or a Service makes one pass of its job, and of no other", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 1 }));
  world.put("PyTorchJob", pyTorchSpec(1));
  await world.settle();
  const made = {
    pod: world.pod("j-worker-0"),
    service: world.cluster.peek(KINDS.service, "ml/j-master-0"),
  };
  ok(made.service);
  // Passes of kinds that are not run do nothing, and so change nothing that makes a pass.
  world.runs.clear();
  const metadata = { annotations: { changed: "yes" } };
  const { pod, service } = made;
  const changes: [string, () => unknown][] = [
    ["tfjob", () => world.cluster.edit(KINDS.pod, "ml/j-worker-0", { metadata })],
    ["tfjob", () => world.cluster.remove(KINDS.pod, "ml/j-worker-0")],
    ["tfjob", () => world.cluster.put(KINDS.pod, pod)],
    ["pytorchjob", () => world.cluster.edit(KINDS.service, "ml/j-master-0", { metadata })],
    ["pytorchjob", () => world.cluster.remove(KINDS.service, "ml/j-master-0")],
    ["pytorchjob", () => world.cluster.put(KINDS.service, service)],
    ["tfjob", () => world.cluster.edit(V1_RESOURCES.TFJob, "ml/j", { metadata })],
    ["tfjob", () => world.cluster.remove(V1_RESOURCES.TFJob, "ml/j")],
    ["tfjob", () => world.put("TFJob", tfSpec({ Worker: 1 }))],
  ];
  await world.settle();
  for (const [index, [owner, change]] of changes.entries()) {
    world.passes.length = 0;
    change();
    await world.settle();
    deepEqual(world.passes, [owner], `change ${index}`);
  }
});

test("progress that is written at the same time is kept", async (world) => {
  const key = world.put("TFJob", tfSpec({ Worker: 1 }));
  const trainerStatus = { progressPercentage: 7, lastUpdatedTime: "2026-01-01T00:00:00Z" };
  let pushes = 1;
  world.fault((call, phase) => {
    if (call.subresource === "status" && phase === "before" && pushes-- > 0) {
      world.cluster.edit(V1_RESOURCES.TFJob, key, { status: { trainerStatus } });
    }
    return undefined;
  });
  await world.settle();
  await world.settle(1000);
  deepEqual(world.conditions("TFJob"), ["Created"]);
  deepEqual(world.job("TFJob").status?.trainerStatus, trainerStatus);
});

test("a foreign pod of a replica's name is left alone, and the other replicas are made", async (world) => {
  const foreign = {
    metadata: { name: "j-worker-0", namespace: "ml", labels: { app: "another" } },
    spec: { containers: [] },
  };
  world.cluster.put(KINDS.pod, foreign);
  world.cluster.put(KINDS.service, { metadata: { name: "j-worker-1", namespace: "ml" } });
  world.put("TFJob", tfSpec({ Worker: 3 }));
  await world.settle();
  deepEqual(world.pods, ["j-worker-0", "j-worker-1", "j-worker-2"]);
  deepEqual(world.services, ["j-worker-0", "j-worker-1", "j-worker-2"]);
  deepEqual(world.pod("j-worker-0").metadata?.labels, { app: "another" });
  equal(controllerOf(world.pod("j-worker-0").metadata), undefined);
  ok(
    world.events.some(({ reason, message }) =>
      reason === "FailedCreatePod" && message === 'Error creating: pods "j-worker-0" already exists'
    ),
  );
  ok(world.reasons.includes("FailedCreateService"));
  deepEqual(world.conditions("TFJob"), ["Created"]);
  world.cluster.remove(KINDS.pod, "ml/j-worker-0");
  await world.settle(600_000);
  await world.settle(600_000);
  equal(controllerOf(world.pod("j-worker-0").metadata)?.kind, "TFJob");
});

test("orphans with the job's labels are adopted, after the job was read again", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  world.cluster.edit(KINDS.pod, "ml/j-worker-0", { metadata: { ownerReferences: null } });
  world.cluster.edit(KINDS.service, "ml/j-worker-0", { metadata: { ownerReferences: null } });
  const { length } = world.cluster.calls;
  await world.settle();
  const { uid } = world.job("TFJob").metadata;
  const owners = [
    ...world.pod("j-worker-0").metadata?.ownerReferences ?? [],
    ...world.cluster.peek(KINDS.service, "ml/j-worker-0")?.metadata?.ownerReferences ?? [],
  ];
  deepEqual(owners.map((it) => [it.uid, it.controller]), [[uid, true], [uid, true]]);
  const calls = world.cluster.calls.slice(length).map(({ verb, kind }) => `${verb} ${kind}`);
  deepEqual(calls, ["get TFJob", "patch Pod", "patch Service"]);
});

test("a pod that has the job's labels, but was not made for a job, is not adopted", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  const labels = { [LABELS.jobKind]: null };
  world.cluster.edit(KINDS.pod, "ml/j-worker-0", { metadata: { labels, ownerReferences: null } });
  await world.settle();
  equal(controllerOf(world.pod("j-worker-0").metadata), undefined);
  ok(world.reasons.includes("FailedCreatePod"));
});

test("an orphan of a job that is being deleted is not adopted", async (world) => {
  const key = world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  world.cluster.hold();
  world.cluster.edit(V1_RESOURCES.TFJob, key, {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
  });
  world.cluster.edit(KINDS.pod, "ml/j-worker-0", { metadata: { ownerReferences: null } });
  world.cluster.catchUp();
  await world.settle();
  equal(controllerOf(world.pod("j-worker-0").metadata), undefined);
});

test("an owned pod whose labels name another job is released, and its name stays its own", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2 }));
  await world.settle();
  world.cluster.edit(KINDS.pod, "ml/j-worker-1", {
    metadata: { labels: { [V1_LABELS.jobName]: "another" } },
  });
  await world.settle();
  equal(controllerOf(world.pod("j-worker-1").metadata), undefined);
  ok(world.reasons.includes("FailedCreatePod"));
});

test("pods of an earlier job of the same name are waited for without a word", async (world) => {
  const key = world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  const old = world.pod("j-worker-0");
  const service = world.cluster.peek(KINDS.service, "ml/j-worker-0");
  ok(service);
  world.cluster.remove(V1_RESOURCES.TFJob, key);
  world.cluster.put(KINDS.pod, old);
  world.cluster.put(KINDS.service, service);
  await world.settle();
  world.events.length = 0;
  world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  await world.settle(5000);
  deepEqual(world.events.filter(({ type }) => type === "Warning"), []);
  equal(world.pod("j-worker-0").metadata?.uid, old.metadata?.uid);
  world.cluster.remove(KINDS.pod, "ml/j-worker-0");
  world.cluster.remove(KINDS.service, "ml/j-worker-0");
  await world.settle(5000);
  equal(controllerOf(world.pod("j-worker-0").metadata)?.uid, world.job("TFJob").metadata.uid);
});

test("objects of an earlier job of the same name are waited for without a word", async (world) => {
  const spec = { mpiReplicaSpecs: { Launcher: replicas("mpi", 1), Worker: replicas("mpi", 1) } };
  const key = world.put("MPIJob", spec);
  await world.settle();
  const old = world.cluster.peek(KINDS.configMap, "ml/j-config");
  ok(old);
  world.cluster.remove(V1_RESOURCES.MPIJob, key);
  world.cluster.put(KINDS.configMap, old);
  await world.settle();
  world.events.length = 0;
  world.put("MPIJob", spec);
  await world.settle();
  equal(world.cluster.peek(KINDS.configMap, "ml/j-config")?.metadata?.uid, old.metadata?.uid);
  world.cluster.calls.length = 0;
  // Each pass comes after two seconds, however many there were: a name that is not free is no failure.
  for (let pass = 0; pass < 10; pass++) await world.settle(2000);
  const reads = world.cluster.calls.filter(({ verb, kind }) =>
    verb === "get" && kind === "ConfigMap"
  );
  equal(reads.length, 10);
  const creations = world.cluster.calls.filter(({ verb }) => verb === "create");
  deepEqual(creations.filter(({ kind }) => kind === "ConfigMap"), []);
  world.cluster.remove(KINDS.configMap, "ml/j-config");
  await world.settle(2000);
  const { uid } = world.job("MPIJob").metadata;
  const made = world.cluster.peek(KINDS.configMap, "ml/j-config");
  equal(controllerOf(made?.metadata)?.uid, uid);
  deepEqual(world.events.filter(({ reason }) => reason === "FailedCreateConfigMap"), []);
});

test("what has ended does not start again because the cache of jobs is late", async (world) => {
  const key = world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  world.report("j-worker-0", RUNNING);
  await world.settle();
  const { length } = world.creations();
  world.lateJobs = true;
  world.cluster.edit(V1_RESOURCES.TFJob, key, {
    status: { conditions: [{ type: "Succeeded", status: "True", reason: "TFJobSucceeded" }] },
  });
  world.cluster.remove(KINDS.pod, "ml/j-worker-0");
  for (let second = 0; second < 5; second++) await world.settle(1000);
  deepEqual(world.creations().slice(length), []);
});

/** A job of some kind for the n-th of many. */
function specOf(n: number): [V1KindName, unknown] {
  const specs: [V1KindName, unknown][] = [
    ["TFJob", tfSpec({ Worker: 2, PS: 1 }, {}, { restartPolicy: "OnFailure" })],
    ["PyTorchJob", pyTorchSpec(2)],
    ["XGBoostJob", {
      xgbReplicaSpecs: { Master: replicas("xgboost", 1), Worker: replicas("xgboost", 1) },
      runPolicy: { cleanPodPolicy: "All" },
    }],
    ["MXJob", {
      jobMode: "MXTrain",
      mxReplicaSpecs: { Scheduler: replicas("mxnet", 1), Worker: replicas("mxnet", 1) },
    }],
    ["JAXJob", { jaxReplicaSpecs: { Worker: replicas("jax", 2) } }],
  ];
  const spec = specs[n % specs.length];
  if (spec === undefined) throw new Error("there is a kind for each number");
  return spec;
}

/** A life of 50 jobs: they start, run, lose and restart pods, are suspended and resumed, and end. */
async function live(world: JobWorld): Promise<void> {
  const jobs = Array.from({ length: 50 }, (_, n) => ({ spec: specOf(n), name: `j${n}` }));
  for (const { spec: [kind, spec], name } of jobs) world.put(kind, spec, name);
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  for (let n = 0; n < 50; n += 5) {
    if (world.pods.includes(`j${n}-worker-1`)) {
      world.report(`j${n}-worker-1`, { phase: "Failed", exitCode: 137 });
    }
    world.cluster.remove(KINDS.pod, `ml/j${n + 1}-worker-0`);
  }
  await world.settle(5000);
  world.reportAll(RUNNING);
  await world.settle();
  for (let n = 0; n < 50; n += 7) {
    const kind = specOf(n)[0];
    world.edit(kind, { runPolicy: { suspend: true } }, `ml/j${n}`);
  }
  await world.settle(5000);
  for (let n = 0; n < 50; n += 7) {
    const kind = specOf(n)[0];
    world.edit(kind, { runPolicy: { suspend: false } }, `ml/j${n}`);
  }
  await world.settle(5000);
  world.reportAll(RUNNING);
  await world.settle(5000);
  world.reportAll(DONE);
  await world.settle(5000);
}

/** What the jobs and their objects say at the end, without what differs from run to run. */
function endOf(world: JobWorld): unknown {
  const jobs = Object.values(V1_KINDS).flatMap(({ kind }) =>
    world.cluster.all(V1_RESOURCES[kind]).map(({ metadata, status }) => ({
      name: metadata.name,
      conditions: status?.conditions?.map((it) => [it.type, it.status, it.reason, it.message]),
      replicaStatuses: status?.replicaStatuses,
    }))
  );
  return { jobs, pods: world.pods, services: world.services };
}

const isWrite = ({ verb }: Call) => verb === "create" || verb === "patch" || verb === "delete";

Deno.test("50 jobs of mixed kinds converge though the manager is killed again and again", async () => {
  const undisturbed = new JobWorld();
  undisturbed.start();
  await live(undisturbed);
  await undisturbed.stop();
  const want = endOf(undisturbed);
  const writes = undisturbed.cluster.writes.length;
  ok(writes > 500, `${writes} writes`);
  const world = new JobWorld();
  let count = 0;
  let killed = 0;
  let restart: Promise<void> = Promise.resolve();
  // Every 37th write is lost before it takes effect, and of every 53rd the response.
  world.fault((call, phase) => {
    if (!isWrite(call)) return undefined;
    if (phase === "before") count++;
    if (phase === "before" ? count % 37 !== 3 : count % 53 !== 11) return undefined;
    killed++;
    restart = restart.then(() => world.stop()).then(() => world.start());
    return new Error("killed");
  });
  world.start();
  await live(world);
  await restart;
  await world.settle(600_000);
  await world.stop();
  ok(killed > 20, `killed ${killed} times`);
  deepEqual(endOf(world), want);
  deepEqual(twice(world.pods), []);
});
