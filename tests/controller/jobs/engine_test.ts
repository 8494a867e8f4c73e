/** Tests of the engine of the v1 kinds: lives of jobs, with the conditions, objects and events they leave. */
import { deepEqual, equal, match, ok, partialDeepStrictEqual } from "node:assert/strict";
import { gangScheduler } from "../../../controller/jobs/gang.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { JobWorld, pyTorchSpec, replicas, START, tfSpec } from "./job_world.ts";

const PODS_KIND = KINDS.pod;
const RUNNING = { phase: "Running" };
const DONE = { phase: "Succeeded", exitCode: 0 };

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

test("a TFJob of two workers: pods and Services, one master, Created first", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2 }, {}, { restartPolicy: "OnFailure" }));
  await world.settle();
  deepEqual(world.pods, ["j-worker-0", "j-worker-1"]);
  deepEqual(world.services, ["j-worker-0", "j-worker-1"]);
  equal(world.pod("j-worker-0").metadata?.labels?.[V1_LABELS.jobRole], "master");
  equal(world.pod("j-worker-1").metadata?.labels?.[V1_LABELS.jobRole], undefined);
  equal(world.pod("j-worker-1").spec?.restartPolicy, "OnFailure");
  const { status } = world.job("TFJob");
  deepEqual(status?.conditions?.map(({ type, reason, message }) => ({ type, reason, message })), [
    { type: "Created", reason: "TFJobCreated", message: "TFJob j is created." },
  ]);
  equal(status?.startTime, "2026-01-01T00:00:00Z");
  deepEqual(status?.replicaStatuses, { Worker: {} });
  deepEqual(world.events.map(({ message }) => message).sort(), [
    "Created pod: j-worker-0",
    "Created pod: j-worker-1",
    "Created service: j-worker-0",
    "Created service: j-worker-1",
  ]);
  deepEqual(world.reasons.sort(), ["SuccessfulCreatePod", "SuccessfulCreateService"]);
});

test("a TFJob runs, succeeds with its first worker, and its active pods count as succeeded", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 4, PS: 2 }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  deepEqual(world.job("TFJob").status?.replicaStatuses, {
    PS: { active: 2 },
    Worker: { active: 4 },
  });
  world.report("j-worker-0", DONE);
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Succeeded"]);
  ok(world.job("TFJob").status?.completionTime);
  deepEqual(world.job("TFJob").status?.replicaStatuses, {
    PS: { succeeded: 2 },
    Worker: { succeeded: 4 },
  });
  equal(world.pods.length, 6, "the default policy keeps the pods");
});

test("only what is missing is created", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 4, PS: 2 }));
  await world.settle();
  for (const name of ["j-worker-2", "j-worker-3", "j-ps-1"]) {
    world.cluster.remove(PODS_KIND, `ml/${name}`);
  }
  const before = world.creations().length;
  await world.settle();
  deepEqual(world.creations().slice(before).sort(), [
    "ml/j-ps-1",
    "ml/j-worker-2",
    "ml/j-worker-3",
  ]);
});

test("a pod that vanishes is created again under its name, and its Service stays", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 4, PS: 2 }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  const services = world.creations("Service").length;
  world.cluster.remove(PODS_KIND, "ml/j-worker-3");
  await world.settle();
  equal(world.pod("j-worker-3").metadata?.labels?.[V1_LABELS.replicaIndex], "3");
  equal(world.creations("Service").length, services);
});

test("a worker that fails for good ends the job, and its pod stays", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 1 }, {}, { restartPolicy: "ExitCode" }));
  await world.settle();
  world.report("j-worker-0", { phase: "Failed", exitCode: 1 });
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Failed"]);
  equal(
    world.job("TFJob").status?.conditions?.at(-1)?.message,
    'job "j" is failing because "Worker" replica(s) failed.',
  );
  ok(world.job("TFJob").status?.completionTime);
  deepEqual(world.pods, ["j-worker-0"]);
  equal(world.creations().length, 1);
});

test("a pod that may be retried is deleted and made again", async (world) => {
  world.put("TFJob", tfSpec({ Chief: 1, Worker: 1 }, {}, { restartPolicy: "ExitCode" }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  const { uid } = world.pod("j-chief-0").metadata ?? {};
  world.report("j-chief-0", { phase: "Failed", exitCode: 130 });
  await world.settle();
  ok(world.pod("j-chief-0").metadata?.uid !== uid);
  deepEqual(world.conditions("TFJob"), ["Created", "Restarting"]);
  ok(world.events.some(({ reason, message }) =>
    reason === "TFJobRestarting" &&
    message === "job j is restarting because Chief replica(s) failed."
  ));
  world.report("j-chief-0", RUNNING);
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
});

test("replicas beyond the number go, new ones come", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 3 }));
  await world.settle();
  world.edit("TFJob", tfSpec({ Worker: 2 }));
  await world.settle();
  deepEqual(world.pods, ["j-worker-0", "j-worker-1"]);
  deepEqual(world.services, world.pods);
  world.edit("TFJob", tfSpec({ Worker: 4 }));
  await world.settle();
  equal(world.pods.length, 4);
});

test("restarts in place beyond the limit end the job, and nothing is left of it", async (world) => {
  const spec = tfSpec({ Worker: 4, PS: 2 }, { runPolicy: { backoffLimit: 4 } }, {
    restartPolicy: "OnFailure",
  });
  world.put("TFJob", spec);
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  world.reportAll({ ...RUNNING, restarts: 1 }, "j-worker");
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Failed"]);
  equal(
    world.job("TFJob").status?.conditions?.at(-1)?.message,
    "Job j has failed because it has reached the specified backoff limit",
  );
  deepEqual([world.pods, world.services], [[], []]);
});

test("the deadline ends the job without any event from outside", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2 }, { runPolicy: { activeDeadlineSeconds: 2 } }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle(1999);
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  await world.settle(1);
  deepEqual(world.conditions("TFJob"), ["Created", "Running=False", "Failed"]);
  deepEqual([world.pods, world.services], [[], []]);
});

for (const end of [DONE, { phase: "Failed", exitCode: 1 }]) {
  test(`a job that ended with ${end.phase} is deleted after its time to live`, async (world) => {
    world.put("TFJob", tfSpec({ Worker: 1 }, { runPolicy: { ttlSecondsAfterFinished: 3 } }));
    await world.settle();
    world.report("j-worker-0", end);
    await world.settle();
    await world.settle(2999);
    ok(world.job("TFJob"));
    await world.settle(1);
    equal(world.cluster.peek(V1_RESOURCES.TFJob, "ml/j"), undefined);
    ok(world.reasons.includes("SuccessfulDeleteJob"));
  });
}

for (
  const [policy, left] of [
    ["All", []],
    ["Running", ["j-worker-0"]],
    ["None", ["j-ps-0", "j-worker-0", "j-worker-1"]],
  ] as const
) {
  test(`the clean-up policy ${policy} leaves ${left.length} pods`, async (world) => {
    world.put("TFJob", tfSpec({ Worker: 2, PS: 1 }, { runPolicy: { cleanPodPolicy: policy } }));
    await world.settle();
    world.report("j-ps-0", RUNNING);
    world.report("j-worker-1", { phase: "Pending" });
    world.report("j-worker-0", DONE);
    await world.settle();
    deepEqual(world.pods, left);
    deepEqual(world.services, left);
  });
}

test("a job that is created suspended has no pods and no start", async (world) => {
  world.put("PyTorchJob", pyTorchSpec(1, { runPolicy: { suspend: true } }));
  await world.settle();
  deepEqual(world.pods, []);
  deepEqual(world.conditions("PyTorchJob"), ["Created", "Suspended"]);
  const { startTime, replicaStatuses } = world.job("PyTorchJob").status ?? {};
  deepEqual({ startTime, replicaStatuses }, { startTime: undefined, replicaStatuses: {} });
});

test("a job is suspended and resumed under the same names", async (world) => {
  world.put("PyTorchJob", pyTorchSpec(1));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  const names = world.pods;
  world.edit("PyTorchJob", { runPolicy: { suspend: true } });
  await world.settle(1000);
  deepEqual([world.pods, world.services], [[], []]);
  deepEqual(world.conditions("PyTorchJob"), ["Created", "Running=False", "Suspended"]);
  equal(world.job("PyTorchJob").status?.conditions?.[1]?.reason, "PyTorchJobSuspended");
  equal(world.job("PyTorchJob").status?.startTime, "2026-01-01T00:00:00Z");
  const selector = (type: string) =>
    `training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=pytorchjob-controller,training.kubeflow.org/replica-type=${type}`;
  deepEqual(world.job("PyTorchJob").status?.replicaStatuses, {
    Master: { selector: selector("master") },
    Worker: { selector: selector("worker") },
  });
  equal(world.events.filter(({ reason }) => reason === "PyTorchJobSuspended").length, 1);
  world.edit("PyTorchJob", { runPolicy: { suspend: false } });
  await world.settle(1000);
  deepEqual(world.pods, names);
  world.reportAll(RUNNING);
  await world.settle();
  deepEqual(world.conditions("PyTorchJob"), ["Created", "Suspended=False", "Running"]);
  equal(world.job("PyTorchJob").status?.conditions?.[1]?.reason, "PyTorchJobResumed");
  equal(world.job("PyTorchJob").status?.startTime, "2026-01-01T00:00:02Z");
});

test("a job that another controller runs is left alone", async (world) => {
  const runPolicy = { managedBy: "kueue.x-k8s.io/multikueue" };
  world.put("PyTorchJob", pyTorchSpec(1, { runPolicy }));
  await world.settle();
  world.edit("PyTorchJob", { runPolicy: { ...runPolicy, suspend: true } });
  await world.settle();
  deepEqual(world.cluster.calls, []);
  deepEqual(world.events, []);
});

test("a PyTorchJob succeeds with its master, or with all workers", async (world) => {
  world.put("PyTorchJob", pyTorchSpec(2));
  world.put("PyTorchJob", pyTorchSpec(2, {}, { master: false }), "k");
  await world.settle();
  equal(world.pods.length, 5);
  world.reportAll(RUNNING);
  world.report("j-master-0", DONE);
  world.report("k-worker-0", DONE);
  await world.settle();
  deepEqual(world.conditions("PyTorchJob"), ["Created", "Succeeded"]);
  deepEqual(world.conditions("PyTorchJob", "ml/k"), ["Created", "Running"]);
  world.report("k-worker-1", DONE);
  await world.settle();
  deepEqual(world.conditions("PyTorchJob", "ml/k"), ["Created", "Running=False", "Succeeded"]);
});

test("an MXJob of three roles, an XGBoostJob, and the other kinds run by the same engine", async (world) => {
  world.put("MXJob", {
    jobMode: "MXTrain",
    mxReplicaSpecs: {
      Scheduler: replicas("mxnet", 1),
      Server: replicas("mxnet", 1),
      Worker: replicas("mxnet", 1),
    },
  }, "m");
  world.put("XGBoostJob", {
    xgbReplicaSpecs: { Master: replicas("xgboost", 1), Worker: replicas("xgboost", 2) },
  }, "x");
  world.put("PaddleJob", { paddleReplicaSpecs: { Worker: replicas("paddle", 2) } }, "d");
  world.put("JAXJob", { jaxReplicaSpecs: { Worker: replicas("jax", 2) } }, "k");
  await world.settle();
  equal(world.pods.length, 10);
  deepEqual(world.services, world.pods);
  world.reportAll(RUNNING);
  await world.settle();
  for (
    const [kind, name] of [["MXJob", "m"], ["XGBoostJob", "x"], ["PaddleJob", "d"], [
      "JAXJob",
      "k",
    ]] as const
  ) {
    deepEqual(world.conditions(kind, `ml/${name}`), ["Created", "Running"]);
  }
  for (const name of ["m-scheduler-0", "x-master-0", "d-worker-0", "d-worker-1"]) {
    world.report(name, DONE);
  }
  await world.settle();
  for (const [kind, name] of [["MXJob", "m"], ["XGBoostJob", "x"], ["PaddleJob", "d"]] as const) {
    deepEqual(world.conditions(kind, `ml/${name}`), ["Created", "Running=False", "Succeeded"]);
  }
  deepEqual(world.conditions("JAXJob", "ml/k"), ["Created", "Running"]);
});

test("an invalid job that admission did not see is told of, and begins when it is mended", async (world) => {
  world.put("TFJob", { tfReplicaSpecs: { Worker: { replicas: 1 } } });
  await world.settle();
  await world.settle();
  deepEqual(world.pods, []);
  deepEqual(world.conditions("TFJob"), ["Created=False"]);
  const [condition] = world.job("TFJob").status?.conditions ?? [];
  equal(condition?.reason, "TFJobFailedValidation");
  match(condition?.message ?? "", /^TFJob failed validation because .*must be specified/);
  deepEqual(world.reasons, ["TFJobFailedValidation"]);
  world.edit("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created"]);
  deepEqual(world.pods, ["j-worker-0"]);
});

test("a pass that finds nothing changed writes nothing", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2, PS: 1 }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  const { length } = world.cluster.calls;
  const events = world.events.length;
  const { resourceVersion } = world.job("TFJob").metadata;
  world.cluster.edit(PODS_KIND, "ml/j-ps-0", { metadata: { annotations: { a: "b" } } });
  await world.settle();
  deepEqual(world.cluster.calls.slice(length), []);
  equal(world.events.length, events);
  equal(world.job("TFJob").metadata.resourceVersion, resourceVersion);
});

test("a Service that vanishes is created again, and its pod stays", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2 }));
  await world.settle();
  const { uid } = world.pod("j-worker-1").metadata ?? {};
  world.cluster.remove(KINDS.service, "ml/j-worker-1");
  await world.settle();
  deepEqual(world.services, ["j-worker-0", "j-worker-1"]);
  equal(world.pod("j-worker-1").metadata?.uid, uid);
  equal(world.creations().length, 2);
});

test("the spec of a job stays as its user wrote it, whatever its pods get", async (world) => {
  const spec = tfSpec({ worker: 2 });
  world.put("TFJob", spec);
  const before = JSON.stringify(world.job("TFJob").spec);
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  equal(JSON.stringify(world.job("TFJob").spec), before);
  ok(world.pod("j-worker-0").spec?.containers[0]?.env?.length);
});

test("progress wakes no pass, in the status or in an annotation", async (world) => {
  const key = world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  const before = world.passes.length;
  const trainerStatus = { progressPercentage: 7, lastUpdatedTime: "2026-01-01T00:00:00Z" };
  world.cluster.edit(V1_RESOURCES.TFJob, key, { status: { trainerStatus } });
  await world.settle();
  const annotations = { [ANNOTATIONS.trainerStatus]: JSON.stringify(trainerStatus) };
  world.cluster.edit(V1_RESOURCES.TFJob, key, { metadata: { annotations } });
  await world.settle();
  equal(world.passes.length, before);
  world.cluster.edit(V1_RESOURCES.TFJob, key, { metadata: { annotations: { other: "1" } } });
  await world.settle();
  ok(world.passes.length > before);
});

test("replica types in lower case", async (world) => {
  world.put("TFJob", tfSpec({ worker: 1, ps: 1 }));
  await world.settle();
  deepEqual(world.pods, ["j-ps-0", "j-worker-0"]);
  world.reportAll(RUNNING);
  await world.settle();
  deepEqual(world.job("TFJob").status?.replicaStatuses, {
    PS: { active: 1 },
    Worker: { active: 1 },
  });
});

test("two pods of one index count for nothing", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  const pod = world.pod("j-worker-0");
  const { uid: _, resourceVersion: _v, ...metadata } = pod.metadata ?? {};
  world.cluster.put(PODS_KIND, { ...pod, metadata: { ...metadata, name: "twin" } });
  world.reportAll(RUNNING);
  await world.settle();
  deepEqual(world.pods, ["j-worker-0", "twin"]);
  deepEqual(world.job("TFJob").status?.replicaStatuses, { Worker: {} });
  equal(world.events.filter(({ type }) => type === "Warning").length, 1);
});

test("a graceful deletion of a running pod is no failure; its index is filled when it is gone", async (world) => {
  world.put("TFJob", tfSpec({ Worker: 2 }));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  world.cluster.edit(PODS_KIND, "ml/j-worker-1", {
    metadata: { deletionTimestamp: "2026-01-01T00:00:30Z" },
  });
  await world.settle();
  deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
  deepEqual(world.job("TFJob").status?.replicaStatuses, { Worker: { active: 1, failed: 1 } });
  equal(world.creations().length, 2);
  world.cluster.remove(PODS_KIND, "ml/j-worker-1");
  await world.settle();
  equal(world.creations().length, 3);
});

test("a restart policy in the template is overwritten, and said once for each pod", async (world) => {
  const template = {
    spec: { restartPolicy: "Always", containers: [{ name: "tensorflow", image: "a:1" }] },
  };
  world.put("TFJob", tfSpec({ Worker: 1 }, {}, { restartPolicy: "OnFailure", template }));
  await world.settle();
  equal(world.pod("j-worker-0").spec?.restartPolicy, "OnFailure");
  ok(world.reasons.includes("SetPodTemplateRestartPolicy"));
});

test("a kind that is not run is left alone", async (world) => {
  world.runs.delete("TFJob");
  world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  deepEqual(world.cluster.calls, []);
  equal(world.clock.now(), START);
});

test("an MPIJob has the launcher's files and account, which are kept as they are wanted", async (world) => {
  world.put("MPIJob", {
    mpiReplicaSpecs: { Launcher: replicas("mpi", 1), Worker: replicas("mpi", 2) },
  }, "q");
  await world.settle();
  deepEqual(world.pods, ["q-launcher", "q-worker-0", "q-worker-1"]);
  deepEqual(world.services, []);
  for (const kind of [KINDS.serviceAccount, KINDS.role, KINDS.roleBinding]) {
    ok(world.cluster.peek<unknown>(kind, "ml/q-launcher"), kind.kind);
  }
  const files = () => world.cluster.peek(KINDS.configMap, "ml/q-config")?.data ?? {};
  equal(files().hostfile, "q-worker-0 slots=1\nq-worker-1 slots=1\n");
  world.reportAll(RUNNING);
  await world.settle();
  ok(files()["discover_hosts.sh"]?.includes("echo q-worker-1:1"));
  deepEqual(world.conditions("MPIJob", "ml/q"), ["Created", "Running"]);
  world.report("q-launcher", DONE);
  await world.settle();
  deepEqual(world.conditions("MPIJob", "ml/q"), ["Created", "Running=False", "Succeeded"]);
});

test("what a job has beside its pods comes back within five minutes of its deletion", async (world) => {
  world.put("MPIJob", {
    mpiReplicaSpecs: { Launcher: replicas("mpi", 1), Worker: replicas("mpi", 1) },
  });
  await world.settle();
  const kinds = [KINDS.configMap, KINDS.serviceAccount, KINDS.role, KINDS.roleBinding];
  const names = () => kinds.map((kind) => world.cluster.all(kind).length);
  const before = names();
  deepEqual(before, [1, 1, 1, 1]);
  world.cluster.remove(KINDS.configMap, "ml/j-config");
  world.cluster.remove(KINDS.role, "ml/j-launcher");
  await world.settle(60_000);
  deepEqual(names(), [0, 1, 0, 1]);
  const { length } = world.cluster.calls;
  await world.settle(5 * 60_000);
  deepEqual(names(), before);
  const written = world.cluster.calls.slice(length).filter(({ verb }) => verb !== "get");
  deepEqual(written.map(({ verb, kind }) => `${verb} ${kind}`), [
    "create Role",
    "create ConfigMap",
  ]);
});

test("an elastic PyTorchJob has an autoscaler, but not while it is suspended", async (world) => {
  const metrics = [{ type: "Resource", resource: { name: "cpu" } }];
  const elasticPolicy = { minReplicas: 1, maxReplicas: 2, metrics };
  world.put("PyTorchJob", pyTorchSpec(2, { elasticPolicy }, { master: false }));
  await world.settle();
  const autoscaler = () => world.cluster.peek<unknown>(KINDS.horizontalPodAutoscaler, "ml/j");
  partialDeepStrictEqual(autoscaler(), { spec: { minReplicas: 1, maxReplicas: 2 } });
  world.edit("PyTorchJob", { elasticPolicy: { maxReplicas: 3 } });
  await world.settle();
  partialDeepStrictEqual(autoscaler(), { spec: { minReplicas: 1, maxReplicas: 3 } });
  equal(
    world.job("PyTorchJob").status?.replicaStatuses?.Worker?.selector,
    "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=pytorchjob-controller," +
      "training.kubeflow.org/replica-type=worker",
  );
  world.cluster.remove(KINDS.horizontalPodAutoscaler, "ml/j");
  await world.settle(5 * 60_000);
  ok(autoscaler(), "it comes back");
  world.edit("PyTorchJob", { runPolicy: { suspend: true } });
  await world.settle();
  equal(autoscaler(), undefined);
  world.edit("PyTorchJob", { runPolicy: { suspend: false } });
  await world.settle();
  ok(autoscaler());
  world.report("j-worker-0", DONE);
  await world.settle();
  ok(world.conditions("PyTorchJob").includes("Succeeded"));
});

test("an object of a child's name that is not the job's is left alone, and said", async (world) => {
  world.cluster.put(KINDS.configMap, {
    metadata: { name: "q-config", namespace: "ml" },
    data: { mine: "yes" },
  });
  world.put("MPIJob", { mpiReplicaSpecs: { Launcher: replicas("mpi", 1) } }, "q");
  await world.settle();
  deepEqual(world.cluster.peek(KINDS.configMap, "ml/q-config")?.data, { mine: "yes" });
  ok(world.reasons.includes("FailedCreateConfigMap"));
});

test("a job has the CA that its pods shall trust, and a newer one when that changes", async (world) => {
  world.caBundle = "first";
  world.put("TFJob", tfSpec({ Worker: 1 }));
  await world.settle();
  const ca = () => world.cluster.peek(KINDS.configMap, "ml/j-tls-config")?.data;
  deepEqual(ca(), { "ca.crt": "first" });
  const reads = () =>
    world.cluster.calls.filter(({ verb, kind }) => verb === "get" && kind === "ConfigMap").length;
  const before = reads();
  world.reportAll(RUNNING);
  await world.settle();
  equal(reads(), before, "what is kept is not read again");
  world.caBundle = "second";
  world.report("j-worker-0", DONE);
  world.edit("TFJob", { runPolicy: { ttlSecondsAfterFinished: 60 } });
  world.put("TFJob", tfSpec({ Worker: 1 }), "later");
  await world.settle();
  deepEqual(world.cluster.peek(KINDS.configMap, "ml/later-tls-config")?.data, {
    "ca.crt": "second",
  });
});

Deno.test("with Volcano a job's pods wait for their group, and the group goes with them", async () => {
  const world = new JobWorld();
  world.gang = gangScheduler("volcano");
  world.start();
  try {
    world.put("PyTorchJob", pyTorchSpec(1));
    await world.settle();
    deepEqual(world.pods, []);
    const group = () => world.cluster.peek<unknown>(KINDS.volcanoPodGroup, "ml/j");
    partialDeepStrictEqual(group(), { spec: { minMember: 2, queue: "default" } });
    ok(world.job("PyTorchJob").status?.lastReconcileTime);
    world.cluster.edit(KINDS.volcanoPodGroup, "ml/j", { status: { phase: "Inqueue" } });
    await world.settle(2000);
    deepEqual(world.pods, ["j-master-0", "j-worker-0"]);
    equal(world.pod("j-worker-0").spec?.schedulerName, "volcano");
    equal(world.job("PyTorchJob").status?.lastReconcileTime, undefined);
    world.cluster.remove(KINDS.volcanoPodGroup, "ml/j");
    await world.settle(5 * 60_000);
    partialDeepStrictEqual(group(), { spec: { minMember: 2 } });
    world.edit("PyTorchJob", { runPolicy: { suspend: true } });
    await world.settle(2000);
    equal(group(), undefined);
    ok(world.reasons.includes("SuccessfulDeletePodGroup"));
  } finally {
    await world.stop();
  }
});
