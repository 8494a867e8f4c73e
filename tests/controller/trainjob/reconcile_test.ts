/** Tests of `controller/trainjob/reconcile.ts` against a cluster in memory. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { parse } from "yaml";
import { KINDS } from "../../../crds/kinds.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { jobSet, nodeJob, replicatedJob, runtime, trainJob } from "../builders.ts";
import { invalid } from "../memory_cluster.ts";
import { KEY, START, World } from "./world.ts";

const SNAPSHOT = "ml/tj-runtime-snapshot";
const TLS = "ml/tj-tls-config";
const COUNTERS = { ready: 0, succeeded: 0, failed: 0, active: 0, suspended: 0 };

function begin(spec: Parameters<typeof trainJob>[0] = {}, rt = runtime()): World {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, rt);
  world.cluster.put(KINDS.trainJob, trainJob(spec));
  return world;
}

async function running(spec: Parameters<typeof trainJob>[0] = {}): Promise<World> {
  const world = begin(spec);
  await world.settle();
  world.report({ replicatedJobsStatus: [{ name: "node", ...COUNTERS, ready: 1, active: 1 }] });
  await world.settle();
  return world;
}

/** Pauses a running job as far as the executor's report. */
async function paused(): Promise<World> {
  const world = await running();
  world.edit({ suspend: true });
  await world.settle();
  world.report({
    conditions: [world.condition("Suspended")],
    replicatedJobsStatus: [{ name: "node", ...COUNTERS, suspended: 1 }],
  });
  await world.settle();
  return world;
}

function patchOf(podSpec: Record<string, unknown>) {
  return [{
    manager: "acme.io/x",
    trainingRuntimeSpec: {
      template: {
        spec: {
          replicatedJobs: [{ name: "node", template: { spec: { template: { spec: podSpec } } } }],
        },
      },
    },
  }];
}

Deno.test("reconcileTrainJob() makes snapshot, CA and JobSet, and writes nothing more", async () => {
  const world = begin();
  world.ca = "PEM";
  await world.settle();
  const creates = world.cluster.writes.map(({ verb, kind, key }) => `${verb} ${kind} ${key}`);
  deepEqual(creates, [
    `create ConfigMap ${SNAPSHOT}`,
    `create ConfigMap ${TLS}`,
    `create JobSet ${KEY}`,
    `patch TrainJob ${KEY}`,
  ]);
  deepEqual(world.cluster.peek(KINDS.configMap, TLS)?.data, { "ca.crt": "PEM" });
  equal(world.jobSet?.metadata.ownerReferences?.[0]?.uid, "uid-of-tj");
  deepEqual(world.trainJob.status, { state: "Created" });
  deepEqual(world.events.map(({ message }) => message), ['Created JobSet "tj"']);
});

Deno.test("reconcileTrainJob() keeps the whole runtime as YAML in the snapshot", async () => {
  const world = begin();
  await world.settle();
  const snapshot = world.cluster.peek(KINDS.configMap, SNAPSHOT);
  const live = world.cluster.peek(KINDS.clusterTrainingRuntime, "rt");
  deepEqual(parse(snapshot?.data?.runtime ?? ""), live);
  equal(snapshot?.metadata?.ownerReferences?.[0]?.controller, true);
});

Deno.test("reconcileTrainJob() keeps to the snapshot when the runtime changes or is deleted", async () => {
  const world = await paused();
  world.cluster.edit(KINDS.clusterTrainingRuntime, "rt", { spec: { mlPolicy: { rings: {} } } });
  await world.settle();
  world.cluster.remove(KINDS.clusterTrainingRuntime, "rt");
  world.edit({ suspend: false, runtimePatches: patchOf({ nodeSelector: { a: "b" } }) });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, false);
  const pod = world.jobSet?.spec?.replicatedJobs?.[0]?.template.spec?.template;
  deepEqual(pod?.spec?.nodeSelector, { a: "b" });
  deepEqual(world.conditions, []);
  deepEqual(world.warnings, []);
});

Deno.test("reconcileTrainJob() writes nothing for a job that another controller manages", async () => {
  const world = begin({ managedBy: "kueue.x-k8s.io/multikueue", suspend: true });
  await world.reconcile();
  deepEqual(world.cluster.writes, []);
});

Deno.test("reconcileTrainJob() writes nothing for a job that is being deleted", async () => {
  const world = begin();
  world.cluster.edit(KINDS.trainJob, KEY, {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["a/b"] },
  });
  await world.reconcile();
  deepEqual(world.cluster.writes, []);
});

Deno.test("reconcileTrainJob() mirrors counters and says Running once a trainer is ready", async () => {
  const world = await running();
  equal(world.trainJob.status?.state, "Running");
  deepEqual(world.trainJob.status?.jobsStatus, [{
    name: "node",
    ...COUNTERS,
    ready: 1,
    active: 1,
  }]);
  deepEqual(world.conditions, []);
});

Deno.test("reconcileTrainJob() says Running for every counter of a Job whose pods ran, whatever the others are", async () => {
  const counters: [Partial<typeof COUNTERS>, string][] = [
    [{ active: 3, suspended: 1 }, "Created"],
    [{ ready: 1 }, "Running"],
    [{ succeeded: 1 }, "Running"],
    [{ failed: 1 }, "Running"],
    [{ ready: 1, failed: 3 }, "Running"],
    [{ succeeded: 1, failed: 1 }, "Running"],
    [{ ready: 1, succeeded: 1, failed: 2 }, "Running"],
    [{ ready: 3, succeeded: 1, failed: 1 }, "Running"],
  ];
  for (const [some, want] of counters) {
    const world = begin();
    await world.settle();
    world.report({ replicatedJobsStatus: [{ name: "node", ...COUNTERS, ...some }] });
    await world.settle();
    equal(world.trainJob.status?.state, want, JSON.stringify(some));
  }
});

Deno.test("reconcileTrainJob() says Running once a pod of the trainer runs, not of another step or an earlier job", async () => {
  const pod = (name: string, step: string, jobSetUid?: string) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "ml",
      labels: {
        "trainer.kubeflow.org/trainjob-name": "tj",
        "jobset.sigs.k8s.io/replicatedjob-name": step,
        ...(jobSetUid && { "jobset.sigs.k8s.io/jobset-uid": jobSetUid }),
      },
    },
    status: { phase: "Running" },
  });
  const jobs = [replicatedJob("dataset-initializer", "dataset-initializer"), nodeJob()];
  const world = begin({}, runtime({}, { replicatedJobs: jobs }));
  await world.settle();
  world.cluster.put(KINDS.pod, pod("a", "dataset-initializer"));
  world.cluster.put(KINDS.pod, pod("b", "node", "uid-of-an-earlier-jobset"));
  await world.settle();
  equal(world.trainJob.status?.state, "Created");
  world.cluster.put(KINDS.pod, pod("c", "node", world.jobSet?.metadata.uid));
  await world.settle();
  equal(world.trainJob.status?.state, "Running");
});

Deno.test("reconcileTrainJob() copies the end of the JobSet word for word and never renders again", async () => {
  for (
    const [from, to, reason, message] of [
      ["Completed", "Complete", "AllJobsCompleted", "jobset completed successfully"],
      ["Failed", "Failed", "FailedJobs", "jobset failed (first failed job: tj-node-0)"],
    ]
  ) {
    const world = await running();
    world.now = START + 60_000;
    world.report({ conditions: [world.condition(from ?? "", "True", reason, message)] });
    await world.settle();
    deepEqual(world.conditions, [`${to}=True/${reason}: ${message}`]);
    equal(world.trainJob.status?.state, to);
    equal(world.trainJob.status?.conditions?.[0]?.lastTransitionTime, "2026-01-01T00:01:00Z");
    world.cluster.remove(KINDS.jobSet, KEY);
    world.cluster.remove(KINDS.configMap, SNAPSHOT);
    await world.settle();
    equal(world.jobSet, undefined);
    equal(world.cluster.peek(KINDS.configMap, SNAPSHOT), undefined);
  }
});

Deno.test("reconcileTrainJob() creates a deleted JobSet again", async () => {
  const world = await running();
  world.cluster.remove(KINDS.jobSet, KEY);
  await world.settle();
  ok(world.jobSet);
});

Deno.test("reconcileTrainJob() suspends, and resumes once the JobSet reports the pause", async () => {
  const world = await running();
  const suspended = ["Suspended=True/Suspended: TrainJob is suspended"];
  world.edit({ suspend: true });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, true);
  deepEqual(world.conditions, suspended);
  equal(world.trainJob.status?.state, "Suspended");
  world.edit({ suspend: false });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, true);
  deepEqual(world.conditions, suspended);
  world.report({
    conditions: [world.condition("Suspended")],
    replicatedJobsStatus: [{ name: "node", ...COUNTERS, suspended: 1 }],
  });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, false);
  deepEqual(world.conditions, []);
  equal(world.trainJob.status?.state, "Created");
});

Deno.test("reconcileTrainJob() removes the Suspended=False that upstream left", async () => {
  const world = begin();
  world.cluster.edit(KINDS.trainJob, KEY, {
    status: { conditions: [world.condition("Suspended", "False", "Resumed")] },
  });
  await world.settle();
  deepEqual(world.conditions, []);
});

Deno.test("reconcileTrainJob() takes a patch of a paused job away again", async () => {
  const world = await paused();
  const pod = () => world.jobSet?.spec?.replicatedJobs?.[0]?.template.spec?.template.spec;
  const tolerations = [{ key: "k", operator: "Exists" }];
  world.edit({ runtimePatches: patchOf({ nodeSelector: { a: "b" }, tolerations }) });
  await world.settle();
  deepEqual([pod()?.nodeSelector, pod()?.tolerations], [{ a: "b" }, tolerations]);
  world.edit({ runtimePatches: null });
  await world.settle();
  deepEqual([pod()?.nodeSelector, pod()?.tolerations], [undefined, undefined]);
  equal(world.cluster.writes.filter(({ verb }) => verb === "delete").length, 0);
});

Deno.test("reconcileTrainJob() never touches a running JobSet", async () => {
  const world = await running();
  const before = world.jobSet;
  world.edit({ runtimePatches: patchOf({ nodeSelector: { a: "b" } }) });
  await world.settle();
  deepEqual(world.jobSet, before);
});

Deno.test("reconcileTrainJob() creates a paused JobSet again for a change of a frozen field", async () => {
  const world = await paused();
  const uid = world.jobSet?.metadata.uid;
  world.edit({ suspend: false, runtimePatches: patchOf({ serviceAccountName: "sa" }) });
  await world.settle();
  const anew = world.jobSet;
  ok(anew?.metadata.uid !== uid);
  equal(anew?.spec?.suspend, false);
  equal(anew?.spec?.replicatedJobs?.[0]?.template.spec?.template.spec?.serviceAccountName, "sa");
  deepEqual(world.conditions, []);
});

Deno.test("reconcileTrainJob() waits for the last pods before it creates a JobSet again", async () => {
  const world = await paused();
  world.report({ replicatedJobsStatus: [{ name: "node", ...COUNTERS, active: 1 }] });
  const uid = world.jobSet?.metadata.uid;
  world.edit({ runtimePatches: patchOf({ serviceAccountName: "sa" }) });
  await world.settle();
  equal(world.jobSet?.metadata.uid, uid);
});

Deno.test("reconcileTrainJob() surfaces a frozen change that upstream's executor cannot follow (G14)", async () => {
  const world = new World();
  world.executor = "external";
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob({ suspend: true }));
  await world.settle();
  world.report({ conditions: [world.condition("Suspended")] });
  world.edit({ suspend: false, runtimePatches: patchOf({ serviceAccountName: "sa" }) });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, true);
  match(world.conditions.join(), /ResourcesCreated=False.*cannot follow the change/);
  equal(world.warnings.length, 1);
  world.edit({ runtimePatches: null });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, false);
  deepEqual(world.conditions, []);
});

Deno.test("reconcileTrainJob() refuses a JobSet of another owner (G12) and recovers when that is deleted", async () => {
  const world = begin();
  world.cluster.put(KINDS.jobSet, {
    ...jobSet({ suspend: true }),
    status: { conditions: [world.condition("Completed")] },
  });
  await world.settle();
  match(
    world.conditions.join(),
    /ResourcesCreated=False.*JobSet "tj" exists and is owned by no controller; delete it, or give/,
  );
  equal(world.trainJob.status?.state, "Created");
  equal(world.events[0]?.reason, "TrainJobResourcesCreationFailed");
  match(world.events[0]?.message ?? "", /^TrainJob resources reconciliation failed: JobSet "tj"/);
  equal(world.events.length, 1);
  world.cluster.remove(KINDS.jobSet, KEY);
  await world.settle();
  deepEqual(world.conditions, []);
  ok(world.jobSet);
});

Deno.test("reconcileTrainJob() fails a job of an unsupported runtime until the cause is gone (G1)", async () => {
  const world = begin({}, runtime({ mlPolicy: { rings: {} } }));
  await world.settle();
  deepEqual(world.conditions, [
    "Failed=True/TrainingRuntimeNotSupported: unsupported runtime: spec.mlPolicy.rings: ML policy rings is not supported yet",
  ]);
  equal(world.trainJob.status?.state, "Failed");
  equal(world.cluster.peek(KINDS.configMap, SNAPSHOT), undefined);
  equal(world.events.length, 1);
  world.cluster.edit(KINDS.clusterTrainingRuntime, "rt", { spec: { mlPolicy: { rings: null } } });
  await world.settle();
  deepEqual(world.conditions, []);
  equal(world.trainJob.status?.state, "Created");
  ok(world.jobSet);
});

Deno.test("reconcileTrainJob() checks an object in the way periodically, since not every cause is watched", async () => {
  const jobs = {
    replicatedJobs: [nodeJob()],
    failurePolicy: { restartStrategy: "InPlaceRestart" as const },
  };
  const world = begin({}, runtime({}, jobs));
  await world.settle();
  match(world.conditions.join(), /^Failed=True\/TrainingRuntimeNotSupported/);
  deepEqual(await world.reconcile(), { requeueAfterMs: 300_000 });
  world.executor = "external";
  await world.settle();
  deepEqual(world.conditions, []);
  // What is left is the wait for the first pod.
  world.now += 300_001;
  await world.reconcile();
  deepEqual(await world.reconcile(), { requeueAfterMs: undefined });
});

Deno.test("reconcileTrainJob() fails a job of an unknown kind of runtime", async () => {
  const world = begin({ runtimeRef: { name: "rt", kind: "Foo", apiGroup: "acme.io" } });
  await world.settle();
  deepEqual(world.conditions, [
    "Failed=True/TrainingRuntimeNotSupported: unsupported runtime: Foo.acme.io",
  ]);
});

Deno.test("reconcileTrainJob() reports a missing runtime and recovers when it is created", async () => {
  const texts = {
    ClusterTrainingRuntime:
      'not found ClusterTrainingRuntime specified in TrainJob: ClusterTrainingRuntime.trainer.kubeflow.org "no" not found',
    TrainingRuntime:
      'TrainingRuntime specified in TrainJob is not found: TrainingRuntime.trainer.kubeflow.org "no" not found',
  };
  for (const [kind, text] of Object.entries(texts)) {
    const world = begin({ runtimeRef: { name: "no", kind } });
    await world.settle();
    deepEqual(world.conditions, [
      `ResourcesCreated=False/TrainJobResourcesCreationFailed: ${text}`,
    ]);
    equal(world.events[0]?.message, `TrainJob resources reconciliation failed: ${text}`);
    const found = runtime();
    found.metadata = { name: "no", ...(kind === "TrainingRuntime" && { namespace: "ml" }) };
    if (kind === "TrainingRuntime") {
      world.cluster.put(KINDS.trainingRuntime, { ...found, kind: "TrainingRuntime" });
    } else world.cluster.put(KINDS.clusterTrainingRuntime, found);
    await world.settle();
    deepEqual(world.conditions, []);
    ok(world.jobSet);
  }
});

Deno.test("reconcileTrainJob() reads a runtime that its cache lacks", async () => {
  const world = new World();
  world.cluster.put(KINDS.trainJob, trainJob());
  world.cluster.hold();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  await world.reconcile();
  ok(world.jobSet);
  deepEqual(world.warnings, []);
});

Deno.test("reconcileTrainJob() reports the problem of a snapshot in upstream's words", async () => {
  const prefix = "unable to get runtime snapshot: invalid runtime snapshot: ";
  const owner = { apiVersion: "v1", kind: "X", name: "x", uid: "other", controller: true };
  const mine = {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    name: "tj",
    uid: "uid-of-tj",
    controller: true,
  };
  const wrong =
    "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: other}";
  const cases = [
    [
      [owner],
      { runtime: "" },
      'a snapshot configmap exists but is owned by another object: it is owned by X "x"',
    ],
    [[mine], {}, 'snapshot ConfigMap missing "runtime" data key'],
    [[mine], { runtime: "{" }, "unable to unmarshal the snapshot: "],
    [
      [mine],
      { runtime: wrong },
      "the snapshot refers to the wrong runtime: expecting a runtime with name, api group and kind " +
      'of "rt", "trainer.kubeflow.org", "ClusterTrainingRuntime" but found runtime with name, api ' +
      'group and kind of "other", "trainer.kubeflow.org", "TrainingRuntime"',
    ],
  ] as const;
  for (const [ownerReferences, data, text] of cases) {
    const world = begin();
    const metadata = { name: "tj-runtime-snapshot", namespace: "ml" };
    world.cluster.put(KINDS.configMap, {
      metadata: { ...metadata, ownerReferences: [...ownerReferences] },
      data: { ...data },
    });
    await world.settle();
    ok(world.conditions.join().includes(prefix + text), world.conditions.join());
    equal(world.jobSet, undefined);
    world.cluster.remove(KINDS.configMap, SNAPSHOT);
    await world.settle();
    ok(world.jobSet);
  }
});

Deno.test("reconcileTrainJob() reports a refusal of the API server in 950 characters, and throws", async () => {
  const world = begin();
  const text = `denied: ${"x%s".repeat(400)}`;
  world.cluster.admission.push((_verb, kind) => kind === "JobSet" ? invalid(text) : undefined);
  await rejects(world.reconcile(), /denied/);
  await rejects(world.reconcile(), /denied/);
  const cut = `${text.slice(0, 950)} ...`;
  deepEqual(world.conditions, [`ResourcesCreated=False/TrainJobResourcesCreationFailed: ${cut}`]);
  deepEqual(world.events.map(({ message }) => message), [
    `TrainJob resources reconciliation failed: ${cut}`,
  ]);
  world.cluster.admission.length = 0;
  await world.settle();
  deepEqual(world.conditions, []);
});

Deno.test("reconcileTrainJob() reports no refusal of a JobSet that it has created already", async () => {
  const world = begin();
  world.cluster.hold();
  await world.reconcile();
  // As upstream's webhook does when the JobSet's claims exist: it does not see that the JobSet does, too.
  world.cluster.admission.push((verb, kind) =>
    verb === "create" && kind === "JobSet" ? invalid("its claim exists") : undefined
  );
  await world.reconcile();
  deepEqual(world.conditions, []);
  deepEqual(world.warnings, []);
});

Deno.test("reconcileTrainJob() leaves the status alone when the API server is not well", async () => {
  const world = begin();
  const error = new KubeError("failed calling webhook", { code: 500, reason: "InternalError" });
  world.cluster.faults.push(({ verb, kind }) =>
    verb === "create" && kind === "JobSet" ? error : undefined
  );
  await rejects(world.reconcile(), /failed calling webhook/);
  equal(world.trainJob.status, undefined);
  equal(world.events.length, 1);
});

Deno.test("reconcileTrainJob() keeps the CA of a job in step and restores it", async () => {
  const world = begin();
  world.ca = "ONE";
  await world.settle();
  world.ca = "ONE\nTWO";
  await world.settle();
  deepEqual(world.cluster.peek(KINDS.configMap, TLS)?.data, { "ca.crt": "ONE\nTWO" });
  world.cluster.remove(KINDS.configMap, TLS);
  await world.settle();
  ok(world.cluster.peek(KINDS.configMap, TLS));
});

Deno.test("reconcileTrainJob() continues without a CA whose ConfigMap has another owner, and reports it once", async () => {
  const world = begin();
  world.ca = "PEM";
  const metadata = { name: "tj-tls-config", namespace: "ml" };
  world.cluster.put(KINDS.configMap, { metadata, data: { "ca.crt": "evil" } });
  await world.settle();
  await world.settle();
  ok(world.jobSet);
  deepEqual(world.conditions, []);
  equal(world.warnings.length, 1);
  match(
    world.warnings[0]?.message ?? "",
    /ConfigMap "tj-tls-config" exists and is owned by no controller; pods get no CA/,
  );
  deepEqual(world.cluster.peek(KINDS.configMap, TLS)?.data, { "ca.crt": "evil" });
});

Deno.test("reconcileTrainJob() never writes trainerStatus", async () => {
  const world = begin();
  const trainerStatus = { progressPercentage: 5, lastUpdatedTime: "2026-01-01T00:00:00Z" };
  world.cluster.edit(KINDS.trainJob, KEY, { status: { trainerStatus } });
  await world.settle();
  deepEqual(world.trainJob.status, { trainerStatus, state: "Created" });
  const [patch] = world.cluster.writes.filter(({ kind }) => kind === "TrainJob");
  deepEqual(Object.keys(patch?.body ?? {}), ["metadata", "status"]);
  equal(patch?.subresource, "status");
});

Deno.test("reconcileTrainJob() reports a refusal of the JobSet's executor, and its end", async () => {
  const world = begin();
  await world.settle();
  world.report({
    conditions: [world.condition("Refused", "True", "NotSupported", "no such thing")],
  });
  await world.settle();
  deepEqual(world.conditions, [
    'ResourcesCreated=False/TrainJobResourcesCreationFailed: JobSet "tj" cannot be executed: no such thing',
  ]);
  equal(world.warnings.length, 1);
  world.report({ conditions: [world.condition("Refused", "False")] });
  await world.settle();
  deepEqual(world.conditions, []);
});

Deno.test("reconcileTrainJob() resumes a paused JobSet that its executor refused", async () => {
  const world = begin({ suspend: true });
  await world.settle();
  world.report({ conditions: [world.condition("Refused")] });
  world.edit({ suspend: false });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, false);
});

/** A job with Kueue's patch, as its webhook adds it to every job. */
const kueuePatches = () => [{
  manager: "kueue.x-k8s.io/manager",
  trainingRuntimeSpec: { template: { spec: {} } },
}];

Deno.test("reconcileTrainJob() warns once that Kueue needs the runtime that was deleted", async () => {
  const world = await running({ runtimePatches: kueuePatches() });
  equal(world.warnings.length, 0);
  world.cluster.remove(KINDS.clusterTrainingRuntime, "rt");
  await world.settle();
  world.report({ replicatedJobsStatus: [{ name: "node", ...COUNTERS, succeeded: 1 }] });
  await world.settle();
  deepEqual(world.warnings.map(({ reason }) => reason), ["RuntimeMissing"]);
  match(
    world.warnings[0]?.message ?? "",
    /^ClusterTrainingRuntime "rt" is gone\. .*ConfigMap "tj-runtime-snapshot"/,
  );
});

Deno.test("reconcileTrainJob() warns that Kueue refuses the end of a deletion in the foreground, and writes nothing", async () => {
  for (const [runtimePatches, warnings] of [[kueuePatches(), 1], [[], 0]] as const) {
    const world = await running({ runtimePatches: [...runtimePatches] });
    world.report({ conditions: [world.condition("Completed")] });
    await world.settle();
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    const metadata = { deletionTimestamp, finalizers: ["foregroundDeletion"] };
    world.cluster.edit(KINDS.trainJob, KEY, { metadata });
    await world.settle();
    equal(world.warnings.length, 0, "with its runtime the deletion ends");
    world.cluster.remove(KINDS.clusterTrainingRuntime, "rt");
    const before = world.cluster.writes.length;
    await world.settle();
    await world.settle();
    equal(world.warnings.length, warnings);
    if (warnings > 0) match(world.warnings[0]?.message ?? "", /again with --cascade=background$/);
    equal(world.cluster.writes.length, before);
  }
});

Deno.test("reconcileTrainJob() says nothing of a deleted runtime without Kueue, nor after the end", async () => {
  const world = await running();
  world.cluster.remove(KINDS.clusterTrainingRuntime, "rt");
  await world.settle();
  const ended = await running({ runtimePatches: kueuePatches() });
  ended.report({ conditions: [ended.condition("Completed")] });
  await ended.settle();
  ended.cluster.remove(KINDS.clusterTrainingRuntime, "rt");
  await ended.settle();
  deepEqual([...world.warnings, ...ended.warnings], []);
});
