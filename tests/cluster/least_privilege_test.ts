/**
 * Test of least privilege: the product does everything under the shipped role, with the audit log on.
 * Nothing is forbidden, and no privilege is unused.
 */
import assert from "node:assert/strict";
import { CLUSTER_RULES, NAMESPACE_RULES } from "../../app/manager/cluster_role.ts";
import { KINDS } from "../../crds/kinds.ts";
import { childNames, MANAGER } from "../../crds/names.ts";
import { isForbidden, isInvalid, isNotFound } from "../../kube/errors.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { MANAGER_USER } from "./support/conserved.ts";
import { type Cluster, withCluster } from "./support/installation.ts";
import { allows, privilegesOf, textOf, useOf } from "./support/privileges.ts";
import { reporterOf, statusOf } from "./support/pushing.ts";
import { trialStopsEarly } from "./support/trial_scene.ts";

/** Privileges that no request shows, each with why it is needed all the same. */
const NEVER_SEEN: Readonly<Record<string, string>> = {
  "update trainjobs/finalizers.trainer.kubeflow.org":
    "asked for by the plugin OwnerReferencesPermissionEnforcement, which is on in this test",
  "update jobsets/finalizers.jobset.x-k8s.io":
    "asked for by the plugin OwnerReferencesPermissionEnforcement, which is on in this test",
};

/** The answer to a push of a pod that does not exist. */
const POD_IS_GONE = /bound to no longer exists/;
const inDefault = (name: string) => ({ namespace: "default", name });
const ours = { namespace: MANAGER.namespace };

/** Asks for a runtime, of either scope, that a cache cannot have. */
async function runtimesAreMissing({ plane: { client } }: Cluster): Promise<void> {
  for (const kind of [KINDS.trainingRuntime.kind, KINDS.clusterTrainingRuntime.kind]) {
    const spec = { runtimeRef: { name: "missing", kind } };
    const job = trainJob("orphan", "missing", { spec });
    await assert.rejects(
      client.create(KINDS.trainJob, job),
      (error) => isInvalid(error) || isForbidden(error),
    );
  }
}

/** A job from its creation to its end, reporting; paused and resumed twice meanwhile. */
async function jobRunsAndRests({ plane, manager, kubectl }: Cluster): Promise<void> {
  const { client } = plane;
  await client.create(KINDS.trainJob, trainJob("rests", "long"));
  const suspend = (value: boolean) =>
    client.patch(KINDS.trainJob, inDefault("rests"), {
      type: "merge",
      body: { spec: { suspend: value } },
    });
  const becomes = (state: string) =>
    trainJobThat(client, "rests", `is ${state}`, ({ status }) => status?.state === state);
  for (let round = 0; round < 2; round++) {
    await becomes("Running");
    await suspend(true);
    await becomes("Suspended");
    await until(
      "its pods to be gone",
      async () => (await client.list(KINDS.pod, { namespace: "default" })).items.length === 0,
    );
    await suspend(false);
  }
  await becomes("Running");
  using reporter = await reporterOf(client, { trainJob: "rests" });
  assert.equal(await reporter.send(manager.statusUrl, statusOf(50)), 200, reporter.lastAnswer);
  await trainJobThat(
    client,
    "rests",
    "has progress",
    ({ status }) => status?.trainerStatus?.progressPercentage === 50,
  );
  await caIsKept({ plane });
  await whoReportsIsGone({ plane, manager, kubectl });
}

/** The CA of the job is changed, and taken away. */
async function caIsKept({ plane: { client } }: Pick<Cluster, "plane">): Promise<void> {
  const key = inDefault(childNames.tlsConfig("rests"));
  const { data } = await client.get(KINDS.configMap, key);
  const isBack = async () =>
    (await client.get(KINDS.configMap, key)).data?.["ca.crt"] === data?.["ca.crt"];
  await client.patch(KINDS.configMap, key, { type: "merge", body: { data: { "ca.crt": "x" } } });
  await until("the CA to be as it was", isBack);
  await client.delete(KINDS.configMap, key);
  await until("the CA to be there again", isBack);
}

/** Pushes of a pod whose service account is gone, and of a pod that is gone. */
async function whoReportsIsGone(
  { plane, manager, kubectl }: Pick<Cluster, "plane" | "manager" | "kubectl">,
): Promise<void> {
  const { client } = plane;
  using reporter = await reporterOf(client, { trainJob: "rests" });
  await kubectl(["delete", "serviceaccount", "default"]);
  await until(
    "the push to be refused",
    async () => await reporter.send(manager.statusUrl, statusOf(60)) === 403,
  );
  await until(
    "the account to be there again",
    () => client.get(KINDS.serviceAccount, inDefault("default")),
  );
  await kubectl(["delete", "trainjob", "rests", "--cascade=background"]);
  await until(
    "its pods to be gone",
    async () => (await client.list(KINDS.pod, { namespace: "default" })).items.length === 0,
  );
  assert.ok([403, 404].includes(await reporter.send(manager.statusUrl, statusOf(70)) ?? 0));
}

/** It rests so shortly that the Job controller sees nothing of it; and its pod is taken away. */
async function jobBlinksAndPodGoes({ plane, manager }: Cluster): Promise<void> {
  const { client, controllerManager } = plane;
  await client.create(KINDS.trainJob, trainJob("blinks", "long"));
  await trainJobThat(client, "blinks", "runs", ({ status }) => status?.state === "Running");
  // A Job controller before Kubernetes 1.35 leaves the start time when a Job is suspended.
  await controllerManager.stop("SIGKILL");
  for (const suspend of [true, false]) {
    const body = { spec: { suspend } };
    await client.patch(KINDS.trainJob, inDefault("blinks"), { type: "merge", body });
    await until(
      `its Job to be ${suspend ? "suspended" : "resumed"}`,
      async () =>
        (await client.get(KINDS.job, inDefault("blinks-node-0"))).spec?.suspend === suspend,
    );
  }
  await controllerManager.start();
  using reporter = await reporterOf(client, { trainJob: "blinks" });
  const { items: [pod] } = await client.list(KINDS.pod, { namespace: "default" });
  await client.delete(KINDS.pod, inDefault(pod?.metadata?.name ?? ""), { gracePeriodSeconds: 0 });
  await until(
    "the push of a pod that is gone to be refused",
    async () =>
      await reporter.send(manager.statusUrl, statusOf(10)) === 403 &&
      POD_IS_GONE.test(reporter.lastAnswer),
  );
  await client.delete(KINDS.trainJob, inDefault("blinks"), { propagationPolicy: "Background" });
}

/** Fails, is tried again from the beginning, and fails for good. */
async function jobFails({ plane: { client } }: Cluster): Promise<void> {
  await client.create(KINDS.trainJob, trainJob("fails", "fails"));
  await trainJobThat(client, "fails", "has failed", ({ status }) => status?.state === "Failed");
}

/** It may take a second, and takes longer: its JobSet is deleted. */
async function deadlinePasses({ plane: { client } }: Cluster): Promise<void> {
  const spec = { activeDeadlineSeconds: 1 };
  await client.create(KINDS.trainJob, trainJob("late", "long", { spec }));
  await trainJobThat(client, "late", "has failed", ({ status }) => status?.state === "Failed");
  await until(
    "its JobSet to be gone",
    () => client.get(KINDS.jobSet, inDefault("late")).then(() => false, isNotFound),
  );
}

/** The names of its children are taken, which is reported and checked again. */
async function namesAreTaken({ plane: { client }, kubectl }: Cluster): Promise<void> {
  const jobSet = KINDS.jobSet.parse({
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: inDefault("taken"),
    spec: { suspend: true, managedBy: "example.com/somebody", replicatedJobs: [] },
  });
  await client.create(KINDS.jobSet, jobSet);
  await client.create(KINDS.trainJob, trainJob("taken", "long"));
  await kubectl(["create", "job", "crossed-node-0", "--image=none", "--", "true"]);
  await client.create(KINDS.trainJob, trainJob("crossed", "long"));
  await until("events about both", async () => {
    const { items } = await client.list(KINDS.event, { namespace: "default" });
    const told = (name: string) =>
      items.some(({ type, involvedObject }) => type === "Warning" && involvedObject.name === name);
    return told("taken") && told("crossed");
  });
}

/** A runtime in the namespace, and a snapshot that is taken away while the job rests. */
async function snapshotIsKept({ plane: { client } }: Cluster): Promise<void> {
  const { metadata, spec } = shellRuntime("local", "true");
  const runtime = KINDS.trainingRuntime.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainingRuntime",
    metadata: { ...metadata, namespace: "default" },
    spec,
  });
  await client.create(KINDS.trainingRuntime, runtime);
  const runtimeRef = { name: "local", kind: "TrainingRuntime" };
  const job = trainJob("local", "local", { spec: { runtimeRef, suspend: true } });
  await client.create(KINDS.trainJob, job);
  const key = inDefault(childNames.runtimeSnapshot("local"));
  const stored = await until("the snapshot", () => client.get(KINDS.configMap, key));
  await client.delete(KINDS.configMap, key);
  await until(
    "the snapshot to be there again",
    async () => (await client.get(KINDS.configMap, key)).metadata?.uid !== stored.metadata?.uid,
  );
  await client.patch(KINDS.trainJob, inDefault("local"), {
    type: "merge",
    body: { spec: { suspend: false } },
  });
  await trainJobThat(client, "local", "is complete", ({ status }) => status?.state === "Complete");
}

/** Somebody edits the manager's own objects, and takes them away. */
async function ownObjectsAreKept({ plane: { client } }: Cluster): Promise<void> {
  const mutating = { name: MANAGER.mutatingConfiguration };
  const validating = { name: MANAGER.validatingConfiguration };
  const secret = { ...ours, name: MANAGER.certificateSecret };
  const lease = { ...ours, name: MANAGER.lease };
  const emptied = { type: "merge", body: { webhooks: [] } } as const;
  const hooks = async () => [
    (await client.get(KINDS.mutatingWebhookConfiguration, mutating)).webhooks?.length,
    (await client.get(KINDS.validatingWebhookConfiguration, validating)).webhooks?.length,
  ];
  const before = await hooks();
  const areBack = async () => String(await hooks()) === String(before);
  await client.patch(KINDS.mutatingWebhookConfiguration, mutating, emptied);
  await client.patch(KINDS.validatingWebhookConfiguration, validating, emptied);
  await until("both configurations to be as they were", areBack);
  await client.delete(KINDS.mutatingWebhookConfiguration, mutating);
  await client.delete(KINDS.validatingWebhookConfiguration, validating);
  await until("both configurations to be there again", areBack);
  await client.delete(KINDS.lease, lease);
  await until("the Lease to be there again", () => client.get(KINDS.lease, lease));
  const { data } = await client.get(KINDS.secret, secret);
  await client.patch(KINDS.secret, secret, { type: "merge", body: { data: { "tls.crt": "" } } });
  await until(
    "a new certificate",
    async () => ((await client.get(KINDS.secret, secret)).data?.["tls.crt"] ?? "") !== "",
  );
  await client.delete(KINDS.secret, secret);
  await until(
    "the Secret to be there again",
    async () => (await client.get(KINDS.secret, secret)).data?.["ca.crt"] === data?.["ca.crt"],
  );
}

const SCENES: Record<string, (cluster: Cluster) => Promise<void>> = {
  "runtimes are missing": runtimesAreMissing,
  "a job runs, rests, reports and is deleted": jobRunsAndRests,
  "a job rests for a moment, and its pod is taken away": jobBlinksAndPodGoes,
  "a job fails after a second attempt": jobFails,
  "a deadline passes": deadlinePasses,
  "names are taken": namesAreTaken,
  "a snapshot is lost": snapshotIsKept,
  "a trial is stopped early, and read": (cluster) => trialStopsEarly(cluster, "long"),
  "own objects are edited and deleted": ownObjectsAreKept,
};

/** A failed Job is tried once more, as a whole. */
function failingRuntime() {
  const runtime = shellRuntime("fails", "exit 1");
  const template = runtime.spec?.template ?? {};
  const failurePolicy = { maxRestarts: 1 };
  return KINDS.clusterTrainingRuntime.parse({
    ...runtime,
    spec: { ...runtime.spec, template: { ...template, spec: { ...template.spec, failurePolicy } } },
  });
}

Deno.test("the manager needs exactly the rights of its role", (t) =>
  withCluster(async (cluster) => {
    const { plane, manager } = cluster;
    await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("long", "sleep 600"));
    await plane.client.create(KINDS.clusterTrainingRuntime, failingRuntime());
    for (const [name, run] of Object.entries(SCENES)) {
      // The node and its connections live longer than a step; the whole test looks after them.
      const open = { sanitizeOps: false, sanitizeResources: false };
      await t.step({ name, ...open, fn: () => run(cluster) });
    }
    await manager.kill();
    const events = (await plane.auditLog()).filter(({ user }) => user.username === MANAGER_USER);
    const uses = events.map(useOf);
    await t.step("nothing is forbidden", () => {
      const refused = events.filter(({ responseStatus }) => responseStatus?.code === 403);
      assert.deepEqual(refused.map((event) => `${event.verb} ${event.requestURI}`), []);
    });
    await t.step("every privilege is used", () => {
      const unused = [...CLUSTER_RULES, ...NAMESPACE_RULES].flatMap(privilegesOf)
        .filter((privilege) => !uses.some((use) => allows(privilege, use)))
        .map(textOf);
      assert.deepEqual(unused, Object.keys(NEVER_SEEN));
    });
  }, {
    // Where Trials are, the log is Katib's unless somebody says otherwise; there is no Katib here.
    flags: { observationSink: "memory" },
    plane: {
      audit: [{ level: "Metadata", users: [MANAGER_USER] }, { level: "None" }],
      admissionPlugins: ["OwnerReferencesPermissionEnforcement"],
    },
  }));
