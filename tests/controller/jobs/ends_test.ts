/** Tests of how v1 jobs end or go on when replicas fail or finish: pods, counters and events of the whole engine. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { V1Job } from "../../../crds/v1/job.ts";
import type { V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { JobWorld, pyTorchSpec, replicas, tfSpec } from "./job_world.ts";

const RUNNING = { phase: "Running" };
const DONE = { phase: "Succeeded", exitCode: 0 };
const LOST = { phase: "Failed", exitCode: 1 };

/** Runs the test in a world whose controllers work, and ends them. */
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

/** What the engine writes from now on: counters of replicas, and types of conditions that hold. */
function written(world: JobWorld, kind: V1KindName = "TFJob") {
  const counts: string[] = [];
  const held = new Set<string>();
  world.cluster.informer<V1Job>(V1_RESOURCES[kind]).onChange(({ object: current }) => {
    counts.push(JSON.stringify(current?.status?.replicaStatuses));
    for (const { type, status } of current?.status?.conditions ?? []) {
      if (status === "True") held.add(type);
    }
  });
  return { counts, held };
}

const lastOf = (world: JobWorld) => world.job("TFJob").status?.conditions?.at(-1);

/** A TFJob whose workers all have to succeed, and run. */
async function runAllWorkers(world: JobWorld): Promise<void> {
  world.put("TFJob", tfSpec({ Worker: 4, PS: 2 }, { successPolicy: "AllWorkers" }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
}

test("a TFJob of one worker succeeds when its pod exits with 0", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  deepEqual([world.pods, world.services], [["j-worker-0"], ["j-worker-0"]]);
  world.report("j-worker-0", DONE);
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Succeeded"]);
  deepEqual(
    world.events.filter(({ reason }) => reason === "ExitedWithCode").map((it) => it.message),
    ["Pod: ml.j-worker-0 exited with code 0"],
  );
});

test("with AllWorkers the status shows one that is done, then servers that still run beside success", async (world) => {
  await runAllWorkers(world);
  world.report("j-worker-0", DONE);
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  deepEqual(world.job("TFJob").status?.replicaStatuses, {
    PS: { active: 2 },
    Worker: { active: 3, succeeded: 1 },
  });
  const { counts } = written(world);
  for (const index of [1, 2, 3]) world.report(`j-worker-${index}`, DONE);
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Succeeded"]);
  ok(counts.includes(JSON.stringify({ PS: { active: 2 }, Worker: { succeeded: 4 } })));
  deepEqual(world.job("TFJob").status?.replicaStatuses, {
    PS: { succeeded: 2 },
    Worker: { succeeded: 4 },
  });
});

test("with AllWorkers a worker that failed under Never ends the job, and its pod stays", async (world) => {
  await runAllWorkers(world);
  world.report("j-worker-0", DONE);
  world.report("j-worker-3", LOST);
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Failed"]);
  equal(world.pods.length, 6);
  equal(world.creations().length, 6);
});

test("the status counts a pod that is deleted to be made again", async (world) => {
  world.put("TFJob", tfSpec({ Chief: 1, Worker: 1 }, {}, { restartPolicy: "ExitCode" }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  const { counts } = written(world);
  world.report("j-chief-0", { phase: "Failed", exitCode: 130 });
  await world.settle();
  ok(counts.includes(JSON.stringify({ Chief: { failed: 1 }, Worker: { active: 1 } })));
  equal(world.creations().length, 3);
  deepEqual(world.conditions("TFJob"), ["Created", "Restarting"]);
});

test("a pod that was evicted under OnFailure is made again, and the job runs on", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2 }, {}, { restartPolicy: "OnFailure" }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  const { held } = written(world);
  const { uid } = world.pod("j-worker-1").metadata ?? {};
  world.cluster.edit(KINDS.pod, "ml/j-worker-1", {
    status: { phase: "Failed", reason: "Evicted", containerStatuses: [] },
  });
  await world.settle();
  ok(world.pod("j-worker-1").metadata?.uid !== uid);
  ok(held.has("Restarting"));
  deepEqual(world.conditions("TFJob"), ["Created", "Running"], "the other worker runs");
});

test("workers that are added beside dynamic ones leave those as they are", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2 }, { enableDynamicWorker: true }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  const uids = () => ["j-worker-0", "j-worker-1"].map((name) => world.pod(name).metadata?.uid);
  const before = uids();
  world.edit("TFJob", tfSpec({ Worker: 4 }));
  await world.settle();
  deepEqual(world.pods, ["j-worker-0", "j-worker-1", "j-worker-2", "j-worker-3"]);
  deepEqual(world.services, world.pods);
  deepEqual(uids(), before);
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
});

test("a back-off limit of 0 lets a job run until its first restart", async (world) => {
  const spec = tfSpec({ Worker: 2 }, { runPolicy: { backoffLimit: 0 } }, {
    restartPolicy: "OnFailure",
  });
  world.put("TFJob", spec);
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  world.report("j-worker-1", { ...RUNNING, restarts: 1 });
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Failed"]);
  equal(
    lastOf(world)?.message,
    "Job j has failed because it has reached the specified backoff limit",
  );
  deepEqual([world.pods, world.services], [[], []]);
});

for (
  const [restartPolicy, conditions, made] of [
    ["Never", ["Created", "Running=False", "Failed"], 2],
    ["OnFailure", ["Created", "Running"], 3],
  ] as const
) {
  test(`a PyTorchJob's worker that fails under ${restartPolicy}`, async (world) => {
    world.put("PyTorchJob", pyTorchSpec(1, {}, { restartPolicy }));
    await world.settle();
    world.reportAll(RUNNING);
    await world.settle();
    const { held } = written(world, "PyTorchJob");
    world.report("j-worker-0", LOST);
    await world.settle();
    deepEqual(world.conditions("PyTorchJob"), conditions);
    equal(held.has("Restarting"), restartPolicy === "OnFailure");
    equal(world.creations().length, made);
  });
}

test("an MXJob's server and worker may be done long before its scheduler", async (world) => {
  world.put("MXJob", {
    jobMode: "MXTrain",
    mxReplicaSpecs: {
      Scheduler: replicas("mxnet", 1),
      Server: replicas("mxnet", 1),
      Worker: replicas("mxnet", 1),
    },
  });
  await world.settle();
  world.report("j-scheduler-0", RUNNING);
  world.report("j-server-0", DONE);
  world.report("j-worker-0", DONE);
  await world.settle();
  deepEqual(world.conditions("MXJob"), ["Created", "Running"]);
  world.report("j-scheduler-0", DONE);
  await world.settle();
  deepEqual(world.conditions("MXJob"), ["Created", "Running=False", "Succeeded"]);
});

test("events of a job come from the controller that upstream names", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 1 }));
  world.put("MPIJob", { mpiReplicaSpecs: { Launcher: replicas("mpi", 1) } }, "q");
  await world.settle();
  deepEqual([...new Set(world.events.map((it) => `${it.about} ${it.component}`))].sort(), [
    "ml/j tfjob-controller",
    "ml/q mpijob-controller",
  ]);
});

test("a kind of child that the API server does not serve is named, and the job runs", async (world) => {
  const absent = new KubeError("the server could not find the requested resource", {
    code: 404,
    reason: "NotFound",
    details: {},
  });
  const { kind } = KINDS.horizontalPodAutoscaler;
  world.fault((call) => call.kind === kind ? absent : undefined);
  const elasticPolicy = { minReplicas: 1, maxReplicas: 2, metrics: [{ type: "Resource" }] };
  world.put("PyTorchJob", pyTorchSpec(1, { elasticPolicy }, { master: false }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  deepEqual(world.conditions("PyTorchJob"), ["Created", "Running"]);
  const about = world.events.find(({ reason }) => reason === `FailedCreate${kind}`);
  equal(
    about?.message,
    "Error creating: the API server does not serve HorizontalPodAutoscaler of autoscaling/v2",
  );
});

test("a job that is being deleted in the foreground takes its pods with it", async (world) => {
  const key = world.put("TFJob", tfSpec({ Worker: 2 }));
  await world.settle();
  equal(world.cluster.all(KINDS.pod).length, 2);
  world.cluster.edit(V1_RESOURCES.TFJob, key, {
    metadata: {
      deletionTimestamp: "2026-01-01T00:00:00Z",
      finalizers: ["foregroundDeletion"],
    },
  });
  await world.settle();
  deepEqual(world.cluster.all(KINDS.pod), [], "nobody else has deleted them");
});

test("a job that is being deleted is left alone", async (world) => {
  const key = world.put("TFJob", tfSpec({ Worker: 2 }));
  await world.settle();
  world.cluster.edit(V1_RESOURCES.TFJob, key, {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
  });
  await world.settle();
  const { length } = world.cluster.calls;
  world.cluster.remove(KINDS.pod, "ml/j-worker-1");
  world.report("j-worker-0", LOST);
  await world.settle(60_000);
  deepEqual(world.cluster.calls.slice(length), []);
});
