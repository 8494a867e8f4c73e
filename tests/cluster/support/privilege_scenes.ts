/** Scenes in which a manager uses its rights, each with the parts of the manager that it needs. */
import assert from "node:assert/strict";
import type { ManagerPart } from "../../../app/manager/rights.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, childNames, LABELS, MANAGER, OPTIMIZATION } from "../../../crds/names.ts";
import { isConditionTrue } from "../../../platform/kube/conditions.ts";
import { isForbidden, isInvalid, isNotFound } from "../../../platform/kube/errors.ts";
import { controllerOf } from "../../../platform/kube/owner_references.ts";
import { shellRuntime, trainJob, trainJobThat } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import type { Cluster } from "./installation.ts";
import { reporterOf, statusOf } from "./pushing.ts";
import { trialStopsEarly } from "./trial_scene.ts";

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

/** Waits until a TrainJob has no pods. */
function podsAreGone({ plane: { client } }: Pick<Cluster, "plane">, job: string): Promise<unknown> {
  const labelSelector = `${LABELS.trainJobName}=${job}`;
  return until(
    `the pods of ${job} to be gone`,
    async () =>
      (await client.list(KINDS.pod, { namespace: "default", labelSelector })).items.length === 0,
  );
}

const suspend = ({ plane: { client } }: Pick<Cluster, "plane">, job: string, value: boolean) =>
  client.patch(KINDS.trainJob, inDefault(job), {
    type: "merge",
    body: { spec: { suspend: value } },
  });
const runs = ({ plane: { client } }: Pick<Cluster, "plane">, job: string) =>
  trainJobThat(client, job, "runs", ({ status }) => status?.state === "Running");

/** A job from its creation to its deletion, paused and resumed twice meanwhile. */
async function jobRests(cluster: Cluster): Promise<void> {
  const { plane: { client }, kubectl } = cluster;
  await client.create(KINDS.trainJob, trainJob("rests", "long"));
  for (let round = 0; round < 2; round++) {
    await runs(cluster, "rests");
    await suspend(cluster, "rests", true);
    await trainJobThat(client, "rests", "rests", ({ status }) => status?.state === "Suspended");
    await podsAreGone(cluster, "rests");
    await suspend(cluster, "rests", false);
  }
  await runs(cluster, "rests");
  await kubectl(["delete", "trainjob", "rests", "--cascade=background"]);
  await podsAreGone(cluster, "rests");
}

/** A job reports; its CA is changed; and pushes of those that are gone are refused. */
async function jobReports(cluster: Cluster): Promise<void> {
  const { plane, manager } = cluster;
  const { client } = plane;
  await client.create(KINDS.trainJob, trainJob("reports", "long"));
  await runs(cluster, "reports");
  using reporter = await reporterOf(client, { trainJob: "reports" });
  assert.equal(await reporter.send(manager.statusUrl, statusOf(50)), 200, reporter.lastAnswer);
  await trainJobThat(
    client,
    "reports",
    "has progress",
    ({ status }) => status?.trainerStatus?.progressPercentage === 50,
  );
  await caIsKept({ plane });
  await reportersAreGone(cluster);
}

/** The CA of the job is changed, and taken away. */
async function caIsKept({ plane: { client } }: Pick<Cluster, "plane">): Promise<void> {
  const key = inDefault(childNames.tlsConfig("reports"));
  const { data } = await client.get(KINDS.configMap, key);
  const isBack = async () =>
    (await client.get(KINDS.configMap, key)).data?.["ca.crt"] === data?.["ca.crt"];
  await client.patch(KINDS.configMap, key, { type: "merge", body: { data: { "ca.crt": "x" } } });
  await until("the CA to be as it was", isBack);
  await client.delete(KINDS.configMap, key);
  await until("the CA to be there again", isBack);
}

/** Pushes of a pod whose service account is gone, and of a pod that is gone. */
async function reportersAreGone(cluster: Cluster): Promise<void> {
  const { plane: { client }, manager, kubectl } = cluster;
  using reporter = await reporterOf(client, { trainJob: "reports" });
  await kubectl(["delete", "serviceaccount", "default"]);
  await until(
    "the push to be refused",
    async () => await reporter.send(manager.statusUrl, statusOf(60)) === 403,
  );
  await until(
    "the account to be there again",
    () => client.get(KINDS.serviceAccount, inDefault("default")),
  );
  await kubectl(["delete", "trainjob", "reports", "--cascade=background"]);
  await podsAreGone(cluster, "reports");
  assert.ok([403, 404].includes(await reporter.send(manager.statusUrl, statusOf(70)) ?? 0));
}

/** A pod is taken away, and its push is refused. */
async function podGoes(cluster: Cluster): Promise<void> {
  const { plane: { client }, manager } = cluster;
  await client.create(KINDS.trainJob, trainJob("loses", "long"));
  await runs(cluster, "loses");
  using reporter = await reporterOf(client, { trainJob: "loses" });
  const labelSelector = `${LABELS.trainJobName}=loses`;
  const { items: [pod] } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
  await client.delete(KINDS.pod, inDefault(pod?.metadata?.name ?? ""), { gracePeriodSeconds: 0 });
  await until(
    "the push of a pod that is gone to be refused",
    async () =>
      await reporter.send(manager.statusUrl, statusOf(10)) === 403 &&
      POD_IS_GONE.test(reporter.lastAnswer),
  );
  await client.delete(KINDS.trainJob, inDefault("loses"), { propagationPolicy: "Background" });
}

/** A pod of an ordinary Job, which no cache holds, pushes for a TrainJob that is not its own. */
async function strangerPushes({ plane: { client }, manager, kubectl }: Cluster): Promise<void> {
  await client.create(KINDS.trainJob, trainJob("victim", "long", { spec: { suspend: true } }));
  await until(
    "its CA",
    () => client.get(KINDS.configMap, inDefault(childNames.tlsConfig("victim"))),
  );
  await kubectl(["create", "job", "victim-no", "--image=none", "--", "sleep", "600"]);
  await until("the Job's pod", async () => {
    const { items } = await client.list(KINDS.pod, {
      namespace: "default",
      labelSelector: "job-name=victim-no",
    });
    return items.length === 1;
  });
  using reporter = await reporterOf(client, { trainJob: "victim" });
  assert.equal(await reporter.send(manager.statusUrl, statusOf(10)), 403, reporter.lastAnswer);
  await kubectl(["delete", "job", "victim-no", "--cascade=background"]);
}

/** A job rests so shortly that the Job controller sees nothing of it. */
async function jobBlinks(cluster: Cluster): Promise<void> {
  const { plane: { client, controllerManager } } = cluster;
  await client.create(KINDS.trainJob, trainJob("blinks", "long"));
  await runs(cluster, "blinks");
  // A Job controller before Kubernetes 1.35 leaves the start time when a Job is suspended.
  await controllerManager.stop("SIGKILL");
  for (const value of [true, false]) {
    await suspend(cluster, "blinks", value);
    await until(
      `its Job to be ${value ? "suspended" : "resumed"}`,
      async () => (await client.get(KINDS.job, inDefault("blinks-node-0"))).spec?.suspend === value,
    );
  }
  await controllerManager.start();
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

/** It is deleted as soon as it has failed. */
async function timePasses({ plane: { client } }: Cluster): Promise<void> {
  const brief = {
    annotations: { [ANNOTATIONS.timeToLive]: "0" },
    spec: { activeDeadlineSeconds: 1 },
  };
  await client.create(KINDS.trainJob, trainJob("brief", "long", brief));
  await until(
    "it to be gone",
    () => client.get(KINDS.trainJob, inDefault("brief")).then(() => false, isNotFound),
  );
}

/** Waits for a warning about that object. */
async function warned({ plane: { client } }: Cluster, name: string): Promise<void> {
  await until(`a warning about ${name}`, async () => {
    const { items } = await client.list(KINDS.event, { namespace: "default" });
    return items.some(({ type, involvedObject }) =>
      type === "Warning" && involvedObject.name === name
    );
  });
}

/** The name of its JobSet is taken, which is reported and checked again. */
async function jobSetIsTaken(cluster: Cluster): Promise<void> {
  const { client } = cluster.plane;
  const container = { name: "main", image: "none" };
  const pods = { spec: { restartPolicy: "Never", containers: [container] } };
  const jobSet = KINDS.jobSet.parse({
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: inDefault("taken"),
    spec: {
      suspend: true,
      managedBy: "example.com/somebody",
      replicatedJobs: [{ name: "node", template: { spec: { template: pods } } }],
    },
  });
  await client.create(KINDS.jobSet, jobSet);
  await client.create(KINDS.trainJob, trainJob("taken", "long"));
  await warned(cluster, "taken");
}

/** The name of its Job is taken. */
async function jobIsTaken(cluster: Cluster): Promise<void> {
  await cluster.kubectl(["create", "job", "crossed-node-0", "--image=none", "--", "true"]);
  await cluster.plane.client.create(KINDS.trainJob, trainJob("crossed", "long"));
  await warned(cluster, "crossed");
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

/** A search whose only trial takes longer than it may. */
async function searchFails({ plane: { client } }: Cluster): Promise<void> {
  const search = KINDS.optimizationJob.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: KINDS.optimizationJob.kind,
    metadata: inDefault("search"),
    spec: {
      objectives: [{ metric: "loss" }],
      parameters: [{ name: "lr", searchSpace: { uniform: { min: "0", max: "1" } } }],
      trainJobTemplate: { spec: { runtimeRef: { name: "long" }, activeDeadlineSeconds: 1 } },
    },
  });
  await client.create(KINDS.optimizationJob, search);
  await until("the search to have failed", async () => {
    const { status } = await client.get(KINDS.optimizationJob, inDefault("search"));
    return isConditionTrue(status?.conditions, "Failed");
  });
  await client.delete(KINDS.optimizationJob, inDefault("search"), {
    propagationPolicy: "Background",
  });
}

/** Somebody edits the manager's own objects, and takes them away. */
async function ownObjectsAreKept({ plane: { client } }: Cluster): Promise<void> {
  const mutating = { name: MANAGER.mutatingConfiguration };
  const validating = { name: MANAGER.validatingConfiguration };
  const secret = { ...ours, name: MANAGER.certificateSecret };
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
  const { data } = await client.get(KINDS.secret, secret);
  // The second event about the same is a change of the first one.
  for (let round = 0; round < 2; round++) {
    await client.patch(KINDS.secret, secret, { type: "merge", body: { data: { "tls.crt": "" } } });
    await until(
      "a new certificate",
      async () => ((await client.get(KINDS.secret, secret)).data?.["tls.crt"] ?? "") !== "",
    );
  }
  await client.delete(KINDS.secret, secret);
  await until(
    "the Secret to be there again",
    async () => (await client.get(KINDS.secret, secret)).data?.["ca.crt"] === data?.["ca.crt"],
  );
}

/** The Lease is deleted. */
async function leaseIsKept({ plane: { client } }: Cluster): Promise<void> {
  const lease = { ...ours, name: MANAGER.lease };
  await client.delete(KINDS.lease, lease);
  await until("the Lease to be there again", () => client.get(KINDS.lease, lease));
}

/** A job whose pods mount a claim, which goes with it. */
async function jobClaims({ plane: { client } }: Cluster): Promise<void> {
  await client.create(KINDS.trainJob, trainJob("claims", "claims"));
  const key = inDefault("data-claims");
  const claim = await until("the claim", () => client.get(KINDS.persistentVolumeClaim, key));
  assert.equal(controllerOf(claim.metadata)?.kind, "JobSet");
  await client.delete(KINDS.trainJob, inDefault("claims"), { propagationPolicy: "Background" });
}

/** A runtime whose pods mount a claim. */
function claimingRuntime() {
  const runtime = shellRuntime("claims", "sleep 600");
  const [node] = runtime.spec?.template.spec?.replicatedJobs ?? [];
  const pod = node?.template.spec?.template.spec;
  for (const container of pod?.containers ?? []) {
    container.volumeMounts = [{ name: "data", mountPath: "/data" }];
  }
  const template = runtime.spec?.template ?? {};
  const volumeClaimPolicies = [{
    templates: [{
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    }],
  }];
  return KINDS.clusterTrainingRuntime.parse({
    ...runtime,
    spec: {
      ...runtime.spec,
      template: { ...template, spec: { ...template.spec, volumeClaimPolicies } },
    },
  });
}

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

/** One scene. */
interface Scene {
  readonly needs: readonly ManagerPart[];
  readonly run: (cluster: Cluster) => Promise<void>;
}

const SCENES: Readonly<Record<string, Scene>> = {
  "runtimes are missing": { needs: [], run: runtimesAreMissing },
  "a job runs, rests and is deleted": { needs: [], run: jobRests },
  "a job reports": { needs: ["progress"], run: jobReports },
  "a pod is taken away": { needs: ["progress"], run: podGoes },
  "a pod of others pushes": { needs: ["progress"], run: strangerPushes },
  "a job rests for a moment": { needs: ["executor"], run: jobBlinks },
  "a job fails after a second attempt": { needs: ["executor"], run: jobFails },
  "a job claims a volume": { needs: ["volume-claims"], run: jobClaims },
  "a deadline passes": { needs: [], run: deadlinePasses },
  "a time to live passes": { needs: [], run: timePasses },
  "the name of a JobSet is taken": { needs: [], run: jobSetIsTaken },
  "the name of a Job is taken": { needs: ["executor"], run: jobIsTaken },
  "a snapshot is lost": { needs: [], run: snapshotIsKept },
  "a trial is stopped early, and read": {
    needs: ["trials"],
    run: (cluster) => trialStopsEarly(cluster, "long"),
  },
  "a search fails": { needs: [OPTIMIZATION.role], run: searchFails },
  "own objects are edited and deleted": { needs: [], run: ownObjectsAreKept },
  "the Lease is deleted": { needs: ["election"], run: leaseIsKept },
};

/** Returns the scenes that a manager of those parts plays, by their names. */
export function scenesOf(parts: readonly ManagerPart[]): [string, Scene["run"]][] {
  return Object.entries(SCENES)
    .filter(([, { needs }]) => needs.every((part) => parts.includes(part)))
    .map(([name, { run }]) => [name, run]);
}

/** Creates the runtimes of the scenes. */
export async function createRuntimes({ plane: { client } }: Cluster): Promise<void> {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("long", "sleep 600"));
  await client.create(KINDS.clusterTrainingRuntime, failingRuntime());
  await client.create(KINDS.clusterTrainingRuntime, claimingRuntime());
}
