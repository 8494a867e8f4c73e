/** Tests of the v1 kinds on a real API server: their definitions, and which of them the manager runs. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import { V1_KIND_LIST, V1_KINDS, v1CrdName, type V1KindName } from "../../crds/v1/kinds.ts";
import { v1CrdManifests, v1CrdPatch } from "../../crds/v1/manifests.ts";
import { V1_API_VERSION, V1_LABELS, V1_RUN_BY, V1_RUN_BY_ANNOTATION } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { until } from "../support/until.ts";
import {
  apply,
  type Cluster,
  crdsServed,
  tryKubectl,
  withCluster,
} from "./support/installation.ts";

const PYTORCH = v1CrdName(V1_KINDS.PyTorchJob);
/** A change of the annotation is seen within this time, in milliseconds. */
const SEEN_MS = 30_000;

/** Our definition of PyTorchJobs as upstream's is: without annotation, our fields and our column. */
function upstreamCrd() {
  const copy = structuredClone(v1CrdManifests().find(({ metadata }) => metadata.name === PYTORCH));
  assert.ok(copy);
  delete copy.metadata.annotations;
  const [version] = copy.spec.versions;
  assert.ok(version);
  const schema = JSON.parse(JSON.stringify(version.schema));
  const { properties } = schema.openAPIV3Schema;
  delete properties.spec.properties.runPolicy.default;
  delete properties.status.properties.trainerStatus;
  delete properties.status.properties.stop;
  version.schema = schema;
  version.additionalPrinterColumns = version.additionalPrinterColumns?.filter(({ name }) =>
    name !== "Progress %"
  );
  return copy;
}

/** The least job of a kind. */
function job(kind: V1KindName, name: string, spec: Record<string, unknown> = {}) {
  const { specsKey, container } = V1_KINDS[kind];
  const replica = { template: { spec: { containers: [{ name: container, image: "none" }] } } };
  const types: Partial<Record<V1KindName, Record<string, unknown>>> = {
    XGBoostJob: { Master: replica },
    MPIJob: { Launcher: replica, Worker: replica },
    MXJob: { Scheduler: replica, Worker: replica },
  };
  return {
    apiVersion: "kubeflow.org/v1",
    kind,
    metadata: { name, namespace: "default" },
    spec: {
      [specsKey]: types[kind] ?? { Worker: { replicas: 2, ...replica } },
      ...kind === "MXJob" ? { jobMode: "MXTrain" } : {},
      ...spec,
    },
  };
}

const managed = (managedBy: string) => ({ runPolicy: { managedBy } });

async function createBy({ plane }: Cluster, object: unknown) {
  const args = ["create", "--validate=strict", "-f", "-"];
  return await tryKubectl(plane, args, JSON.stringify(object));
}

const RUNNING = { namespace: "default", name: "running" };

/** Labels of a worker as the Training Operator writes them. */
const workerLabels = (index: number) => ({
  [V1_LABELS.jobName]: RUNNING.name,
  [V1_LABELS.operatorName]: V1_KINDS.PyTorchJob.operatorName,
  [V1_LABELS.replicaType]: "worker",
  [V1_LABELS.replicaIndex]: String(index),
});

/** A job of two workers, of which an operator has made the first one, with its Service. */
async function createHalfMade({ plane: { client } }: Cluster): Promise<void> {
  const { metadata: { uid = "" } } = await client.create(
    V1_RESOURCES.PyTorchJob,
    job("PyTorchJob", RUNNING.name),
  );
  const metadata = {
    namespace: RUNNING.namespace,
    name: `${RUNNING.name}-worker-0`,
    labels: workerLabels(0),
    ownerReferences: [{
      apiVersion: V1_API_VERSION,
      kind: "PyTorchJob",
      name: RUNNING.name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    }],
  };
  const ports = [{ name: "pytorchjob-port", port: 23456 }];
  const spec = { containers: [{ name: "pytorch", image: "none" }] };
  await client.create(KINDS.pod, { metadata, spec });
  await client.create(KINDS.service, {
    metadata,
    spec: { clusterIP: "None", ports, selector: workerLabels(0) },
  });
}

/** The UIDs of the running job's pods, by their names. */
async function podsOfRunning({ plane }: Cluster): Promise<Record<string, string>> {
  const labelSelector = `${V1_LABELS.jobName}=${RUNNING.name}`;
  const { items } = await plane.client.list(KINDS.pod, { namespace: "default", labelSelector });
  return Object.fromEntries(items.map(({ metadata }) => [metadata?.name, metadata?.uid ?? ""]));
}

/** The kinds of kubeflow.org that the webhook configurations name. */
async function askedAbout({ plane }: Cluster): Promise<string[]> {
  const configuration = await plane.client.get(KINDS.validatingWebhookConfiguration, {
    name: MANAGER.validatingConfiguration,
  });
  return (configuration.webhooks ?? []).flatMap(({ rules = [] }) => rules)
    .filter(({ apiGroups = [] }) => apiGroups.includes("kubeflow.org"))
    .flatMap(({ resources = [] }) => resources);
}

/** Upstream's definition is there: nobody has asked Milepost to run the kind. */
async function isLeftAlone(cluster: Cluster): Promise<void> {
  const { plane, manager } = cluster;
  await apply(plane, [upstreamCrd()]);
  await crdsServed(plane, [`crd/${PYTORCH}`]);
  const { code, stderr } = await createBy(cluster, job("PyTorchJob", "foreign", managed("x")));
  assert.equal(code, 0, stderr);
  assert.deepEqual(await askedAbout(cluster), []);
  assert.equal(await manager.isReady(), true);
  await createHalfMade(cluster);
}

/** The patch can be applied again, and the columns and fields are there. */
async function isPatched({ plane, kubectl }: Cluster): Promise<void> {
  const patch = JSON.stringify(v1CrdPatch(V1_KINDS.PyTorchJob));
  for (let time = 0; time < 2; time++) {
    await kubectl(["patch", "crd", PYTORCH, "--type=json", `--patch=${patch}`]);
  }
  const status = {
    trainerStatus: { progressPercentage: 42, lastUpdatedTime: "2026-01-01T00:00:00Z" },
  };
  await until("the field to be kept", async () => {
    const stored = await plane.client.patch(
      V1_RESOURCES.PyTorchJob,
      { namespace: "default", name: "foreign" },
      { type: "merge", body: { status } },
      { subresource: "status" },
    );
    return stored.status?.trainerStatus?.progressPercentage === 42;
  });
  await until("the column to be there", async () => {
    const [head = "", row = ""] = (await kubectl(["get", "pytorchjobs"])).split("\n");
    return /^NAME +STATE +PROGRESS % +AGE$/.test(head.trimEnd()) && /^foreign +42 /.test(row);
  });
}

/** The annotation hands the kind over: the pods that are there go on, and what is missing is made. */
async function isTakenOver(cluster: Cluster): Promise<void> {
  const { plane, kubectl } = cluster;
  const before = await podsOfRunning(cluster);
  assert.deepEqual(Object.keys(before), ["running-worker-0"]);
  await kubectl(["annotate", "crd", PYTORCH, `${V1_RUN_BY_ANNOTATION}=${V1_RUN_BY}`]);
  await until("the second worker to be there", async () => {
    const pods = await podsOfRunning(cluster);
    assert.equal(pods["running-worker-0"], before["running-worker-0"]);
    return Object.keys(pods).length === 2;
  }, { timeoutMs: SEEN_MS });
  const { items: events } = await plane.client.list(KINDS.event, { namespace: "default" });
  const failed = events.filter(({ reason }) => reason?.startsWith("Failed"));
  assert.deepEqual(failed.map(({ message }) => message), []);
}

/** New jobs get the default, and are validated. */
async function isValidated(cluster: Cluster): Promise<void> {
  const { plane, kubectl } = cluster;
  await until(
    "the webhooks to be there",
    async () => (await askedAbout(cluster)).join() === "pytorchjobs",
    { timeoutMs: SEEN_MS },
  );
  await until("a job to be refused", async () => {
    const { code, stderr } = await createBy(cluster, job("PyTorchJob", "refused", managed("x")));
    if (code === 0) await kubectl(["delete", "pytorchjob", "refused"]);
    return stderr.includes(
      'admission webhook "validator.pytorchjob.training-operator.kubeflow.org" denied the request: ' +
        'spec.runPolicy.managedBy: Unsupported value: "x": supported values: ' +
        '"kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"',
    );
  });
  const created = await plane.client.create(
    V1_RESOURCES.PyTorchJob,
    job("PyTorchJob", "own", { runPolicy: undefined }),
  );
  assert.deepEqual(created.spec.runPolicy, { suspend: false });
  await kubectl(["scale", "pytorchjob/own", "--replicas=3"]);
  const scaled = await kubectl([
    "get",
    "pytorchjob/own",
    "-o=jsonpath={.spec.pytorchReplicaSpecs.Worker.replicas}",
  ]);
  assert.equal(scaled, "3");
  const refusal = await tryKubectl(plane, [
    "patch",
    "pytorchjob/own",
    "--type=merge",
    `--patch=${JSON.stringify({ spec: managed("kueue.x-k8s.io/multikueue") })}`,
  ]);
  assert.match(refusal.stderr, /spec\.runPolicy\.managedBy: .*: field is immutable/);
}

/** Without the annotation it is left alone again. */
async function isGivenBack(cluster: Cluster): Promise<void> {
  await cluster.kubectl(["annotate", "crd", PYTORCH, `${V1_RUN_BY_ANNOTATION}-`]);
  await until("the webhooks to be gone", async () => (await askedAbout(cluster)).length === 0, {
    timeoutMs: SEEN_MS,
  });
  const { code, stderr } = await createBy(cluster, job("PyTorchJob", "other", managed("y")));
  assert.equal(code, 0, stderr);
  const { "running-worker-0": first } = await podsOfRunning(cluster);
  const key = { namespace: "default", name: "running-worker-1" };
  await cluster.plane.client.delete(KINDS.pod, key, { gracePeriodSeconds: 0 });
  assert.deepEqual(await podsOfRunning(cluster), { "running-worker-0": first });
}

/** Our definitions: the API server accepts them as they are, and jobs with every field of a sort. */
async function definitionsAreSound(cluster: Cluster): Promise<void> {
  const { plane, kubectl } = cluster;
  await kubectl(["delete", "crd", PYTORCH]);
  await apply(plane, v1CrdManifests());
  const names = V1_KIND_LIST.map(v1CrdName);
  await crdsServed(plane, names.map((name) => `crd/${name}`));
  const conditions = await kubectl([
    "get",
    "crd",
    ...names,
    "-o=jsonpath={.items[*].status.conditions[*].type}",
  ]);
  assert.deepEqual([...new Set(conditions.split(" "))].sort(), ["Established", "NamesAccepted"]);
  await until(
    "every kind to be asked about",
    async () => (await askedAbout(cluster)).length === 7,
    {
      timeoutMs: SEEN_MS,
    },
  );
  for (const { kind, plural } of V1_KIND_LIST) {
    await until(`a ${kind} to be created`, async () => {
      const { code, stderr } = await createBy(cluster, job(kind, "least"));
      assert.doesNotMatch(stderr, /invalid|unknown field/i);
      return code === 0 || stderr.includes("already exists");
    });
    const [head = ""] = (await kubectl(["get", plural])).split("\n");
    const want = kind === "MPIJob"
      ? /^NAME +AGE +STATE +PROGRESS %$/
      : /^NAME +STATE +PROGRESS % +AGE$/;
    assert.match(head.trimEnd(), want);
    const policy = await kubectl(["get", plural, "least", "-o=jsonpath={.spec.runPolicy}"]);
    assert.equal(policy, '{"suspend":false}');
  }
}

/** Fields that hardly a job has. */
const RICH = {
  nprocPerNode: "2",
  elasticPolicy: {
    minReplicas: 1,
    maxReplicas: 3,
    rdzvBackend: "c10d",
    rdzvConf: [{ key: "timeout", value: "60" }],
    metrics: [{
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
    }],
  },
  runPolicy: {
    backoffLimit: 3,
    schedulingPolicy: { queue: "a", minAvailable: 2, minResources: { cpu: 1, memory: "1Gi" } },
  },
};

async function fieldsAreKept(cluster: Cluster): Promise<void> {
  const { plane } = cluster;
  const { code, stderr } = await createBy(cluster, job("PyTorchJob", "rich", RICH));
  assert.equal(code, 0, stderr);
  const key = { namespace: "default", name: "rich" };
  const { spec } = await plane.client.get(V1_RESOURCES.PyTorchJob, key);
  assert.deepEqual(spec.elasticPolicy, RICH.elasticPolicy);
  assert.deepEqual(spec.runPolicy, { ...RICH.runPolicy, suspend: false });
  const queue = { spec: { runPolicy: { schedulingPolicy: { queue: "b" } } } };
  await assert.rejects(
    plane.client.patch(V1_RESOURCES.PyTorchJob, key, { type: "merge", body: queue }),
    /spec\.runPolicy\.schedulingPolicy\.queue is immutable/,
  );
}

Deno.test("a v1 kind is run while its definition says so, and the definitions are sound", (t) =>
  withCluster(async (cluster) => {
    const open = { sanitizeOps: false, sanitizeResources: false };
    const steps = {
      "upstream's definition is left alone": isLeftAlone,
      "the patch adds progress to it": isPatched,
      "the annotation hands it over, with its pods": isTakenOver,
      "its new jobs are validated": isValidated,
      "without the annotation it is left alone again": isGivenBack,
      "our definitions are accepted by the API server": definitionsAreSound,
      "fields that are rare are kept": fieldsAreKept,
    };
    for (const [name, step] of Object.entries(steps)) {
      await t.step({ name, ...open, fn: () => step(cluster) });
    }
  }, { node: false, plane: { scheduler: false } }));
