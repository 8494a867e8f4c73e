/**
 * Tests of the admission policy on a real API server with real tokens: only the Job controller, JobSet
 * controllers and the manager can make a pod look like part of a TrainJob.
 */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS, MANAGER } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { KubeError } from "../../platform/kube/errors.ts";
import type { KubeMeta, OwnerRef } from "../../platform/kube/resource.ts";
import { parts } from "../../deploy/parts.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { withControlPlane } from "./control_plane/control_plane.ts";
import {
  controlledBy,
  createWorld,
  freshName,
  jobOf,
  jobSetOf,
  NAMESPACE,
  podOf,
  type World,
} from "./support/admission_world.ts";
import { apply, tryKubectl } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

const JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name";

const key = (object: { metadata?: KubeMeta }) => ({
  namespace: NAMESPACE,
  name: object.metadata?.name ?? "",
});
const merge = (metadata: KubeMeta) => ({ type: "merge" as const, body: { metadata } });
const byJob = ({ job }: World) => controlledBy(KINDS.job, job);
const byJobSet = ({ jobSet }: World) => controlledBy(KINDS.jobSet, jobSet);
const byTrainJob = ({ trainJob }: World) => controlledBy(KINDS.trainJob, trainJob);
const uidOf = ({ job }: World) => job.metadata?.uid ?? "";

/** An owner that controls nothing. */
const harmless = (name: string, uid: string): OwnerRef => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name,
  uid,
});

const createPod = (metadata: (world: World) => KubeMeta) => (world: World) =>
  world.mallory.create(KINDS.pod, podOf(metadata(world)));
const createLabelled = (labels: (world: World) => Record<string, string>) =>
  createPod((world) => ({ labels: labels(world) }));
const patchPod =
  (metadata: (world: World) => KubeMeta, subresource?: string) => async (world: World) =>
    await world.mallory.patch(
      KINDS.pod,
      key(await world.ownPod()),
      merge(metadata(world)),
      subresource === undefined ? {} : { subresource },
    );

async function bind(
  world: World,
  path: (pod: string) => string,
  { user = world.mallory, ownerReferences = [] }: {
    readonly user?: KubeClient;
    readonly ownerReferences?: readonly OwnerRef[];
  } = {},
) {
  const { name } = key(await world.ownPod());
  const labels = { "controller-uid": uidOf(world) };
  await user.read(path(name), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name, namespace: NAMESPACE, labels, ownerReferences },
      target: { kind: "Node", name: "node" },
    }),
  });
}

/** A Job that chooses its pods itself, so that they could carry labels of another Job. */
const withOwnSelector = (labels: Record<string, string>) => {
  const job = jobOf({}, { mine: "yes", ...labels });
  const selector = { matchLabels: { mine: "yes" } };
  return {
    ...job,
    spec: { ...job.spec, template: job.spec?.template ?? {}, manualSelector: true, selector },
  };
};

const core = `/api/v1/namespaces/${NAMESPACE}`;

/** Attempts of Mallory, each of which the policy must refuse. */
const hostile: Record<string, (world: World) => Promise<unknown>> = {
  "a pod with a Job as its controller": createPod((w) => ({ ownerReferences: [byJob(w)] })),
  "a pod with a JobSet as its controller": createPod((w) => ({ ownerReferences: [byJobSet(w)] })),
  "a pod with a TrainJob as its controller": createPod((w) => ({
    ownerReferences: [byTrainJob(w)],
  })),
  "a pod whose second owner is the controller": createPod((w) => ({
    ownerReferences: [harmless("first", "u"), byJob(w)],
  })),
  "a pod whose controller is a Job of another version": createPod((w) => ({
    ownerReferences: [{ ...byJob(w), apiVersion: "batch/v1beta1" }],
  })),
  "an orphan with the label by which a Job adopts": createLabelled((w) => ({
    "batch.kubernetes.io/controller-uid": uidOf(w),
  })),
  "an orphan with the old label by which a Job adopts": createLabelled((w) => ({
    "controller-uid": uidOf(w),
  })),
  "the same orphan by the Job controller": (world) =>
    world.jobController.create(KINDS.pod, podOf({ labels: { "controller-uid": uidOf(world) } })),
  "a pod of one Job with the label by which another adopts, by the Job controller": (world) =>
    world.jobController.create(
      KINDS.pod,
      podOf({
        ownerReferences: [{ ...byJob(world), uid: "another" }],
        labels: { "batch.kubernetes.io/controller-uid": uidOf(world) },
      }),
    ),
  "a pod that a Job owns without controlling it, with its label": (world) =>
    world.jobController.create(
      KINDS.pod,
      podOf({
        ownerReferences: [{ ...byJob(world), controller: false }],
        labels: { "controller-uid": uidOf(world) },
      }),
    ),
  "a pod whose controller has the UID of a Job, with its label": (world) =>
    world.jobController.create(
      KINDS.pod,
      podOf({
        ownerReferences: [{ ...byJob(world), apiVersion: "example.com/v1" }],
        labels: { "controller-uid": uidOf(world) },
      }),
    ),
  "a pod with a JobSet's name": createLabelled(() => ({ [JOBSET_NAME]: "victim" })),
  "a pod with any label of JobSet's": createLabelled(() => ({ "jobset.sigs.k8s.io/new": "x" })),
  "a pod with a TrainJob's name": createLabelled(() => ({ [LABELS.trainJobName]: "victim" })),
  "a pod of a trial": createLabelled(() => ({ [LABELS.trial]: "t" })),
  "a controller added to a pod": patchPod((w) => ({ ownerReferences: [byJob(w)] })),
  "a controller added as a second owner": patchPod((w) => ({
    ownerReferences: [harmless("first", "u"), byJob(w)],
  })),
  "an owner that becomes the controller": async (world) => {
    const pod = await world.ownPod({ ownerReferences: [{ ...byJob(world), controller: false }] });
    await world.mallory.patch(KINDS.pod, key(pod), merge({ ownerReferences: [byJob(world)] }));
  },
  "labels added to a pod": patchPod((w) => ({ labels: { "controller-uid": uidOf(w) } })),
  "labels added by way of a pod's status": patchPod(
    (w) => ({ labels: { "batch.kubernetes.io/controller-uid": uidOf(w) } }),
    "status",
  ),
  "labels added by way of a binding": (world) =>
    bind(world, (pod) => `${core}/pods/${pod}/binding`),
  "labels added by way of a binding, by its old path": (world) =>
    bind(world, () => `${core}/bindings`),
  "the same by a binding that the Job controls": (world) =>
    bind(world, (pod) => `${core}/pods/${pod}/binding`, {
      user: world.jobController,
      ownerReferences: [byJob(world)],
    }),
  "a label of a Job's pod that gets another value": ({ mallory, pod }) =>
    mallory.patch(KINDS.pod, key(pod), merge({ labels: { [LABELS.trainJobName]: "other" } })),
  "a pod by server-side apply": async (world) => {
    const pod = podOf({ ownerReferences: [byJob(world)] });
    const { name } = key(pod);
    await world.mallory.read(`${core}/pods/${name}?fieldManager=mallory`, {
      method: "PATCH",
      headers: { "content-type": "application/apply-patch+yaml" },
      body: JSON.stringify({ apiVersion: "v1", kind: "Pod", ...pod }),
    });
  },
  "a Job with a JobSet as its controller": (world) =>
    world.mallory.create(KINDS.job, jobOf({ ownerReferences: [byJobSet(world)] })),
  "a Job with a TrainJob as its controller": (world) =>
    world.mallory.create(KINDS.job, jobOf({ ownerReferences: [byTrainJob(world)] })),
  "a controller added to a Job": async (world) => {
    const job = await world.mallory.create(KINDS.job, jobOf());
    await world.mallory.patch(KINDS.job, key(job), merge({ ownerReferences: [byJobSet(world)] }));
  },
  "a controller added by way of a Job's status": async (world) => {
    const job = await world.mallory.create(KINDS.job, jobOf());
    const patch = merge({ ownerReferences: [byJobSet(world)] });
    await world.mallory.patch(KINDS.job, key(job), patch, { subresource: "status" });
  },
  "a Job whose pods another Job would adopt": (world) =>
    world.mallory.create(KINDS.job, withOwnSelector({ "controller-uid": uidOf(world) })),
  "the same Job by a configured JobSet controller": (world) =>
    world.executor.create(
      KINDS.job,
      withOwnSelector({ "batch.kubernetes.io/controller-uid": uidOf(world) }),
    ),
  "a Job whose pods have a JobSet's name": ({ mallory }) =>
    mallory.create(KINDS.job, jobOf({}, { [JOBSET_NAME]: "victim" })),
  "a Job whose pods have a TrainJob's name": ({ mallory }) =>
    mallory.create(KINDS.job, jobOf({}, { [LABELS.trainJobName]: "victim" })),
  "a suspended Job whose pods get a TrainJob's name": async ({ mallory }) => {
    const job = await mallory.create(KINDS.job, jobOf());
    const labels = { [LABELS.trainJobName]: "victim" };
    const body = { spec: { template: { metadata: { labels } } } };
    await mallory.patch(KINDS.job, key(job), { type: "merge", body });
  },
  "a JobSet with a TrainJob as its controller": (world) =>
    world.mallory.create(KINDS.jobSet, jobSetOf({ ownerReferences: [byTrainJob(world)] })),
  "the same by a JobSet controller": (world) =>
    world.executor.create(KINDS.jobSet, jobSetOf({ ownerReferences: [byTrainJob(world)] })),
  "a controller added to a JobSet": async (world) => {
    const jobSet = await world.mallory.create(KINDS.jobSet, jobSetOf());
    const patch = merge({ ownerReferences: [byTrainJob(world)] });
    await world.mallory.patch(KINDS.jobSet, key(jobSet), patch);
  },
  "a JobSet whose pods have a TrainJob's name": ({ mallory }) =>
    mallory.create(KINDS.jobSet, jobSetOf({}, { [LABELS.trainJobName]: "victim" })),
  "a pod with a Job as its controller, by an administrator": (world) =>
    world.plane.client.create(KINDS.pod, podOf({ ownerReferences: [byJob(world)] })),
};

/** Requests that must still be allowed. */
const honest: Record<string, (world: World) => Promise<unknown>> = {
  "the Job controller's pod has its labels and its controller": ({ pod, job }) => {
    assert.partialDeepStrictEqual(pod.metadata?.labels, {
      [LABELS.trainJobName]: "victim",
      [JOBSET_NAME]: "victim",
      "batch.kubernetes.io/controller-uid": job.metadata?.uid,
    });
    assert.equal(pod.metadata?.ownerReferences?.[0]?.uid, job.metadata?.uid);
    return Promise.resolve();
  },
  "a pod with the labels of the Job that controls it": async ({ mallory, jobController }) => {
    const job = await mallory.create(KINDS.job, jobOf());
    const uid = job.metadata?.uid ?? "";
    const labels = { "batch.kubernetes.io/controller-uid": uid, "controller-uid": uid };
    const ownerReferences = [controlledBy(KINDS.job, job)];
    await jobController.create(KINDS.pod, podOf({ ownerReferences, labels }));
  },
  "a pod with a Job's name, by which no Job adopts": createLabelled(() => ({
    "batch.kubernetes.io/job-name": "victim-node-0",
    "job-name": "victim-node-0",
  })),
  "a Job whose pods have another Job's name": ({ mallory }) =>
    mallory.create(KINDS.job, withOwnSelector({ "job-name": "victim-node-0" })),
  "a pod of anybody": (world) => world.ownPod({ labels: { app: "web" } }),
  "a pod that another kind controls": ({ mallory }) =>
    mallory.create(
      KINDS.pod,
      podOf({ ownerReferences: [{ ...harmless("it", "u"), controller: true }] }),
    ),
  "a pod that a Job owns without controlling it": (world) =>
    world.ownPod({ ownerReferences: [{ ...byJob(world), controller: false }] }),
  "other labels on a Job's pod": ({ mallory, pod }) =>
    mallory.patch(KINDS.pod, key(pod), merge({ labels: { note: "seen" } })),
  "the status of a Job's pod": ({ plane, pod }) =>
    plane.client.patch(KINDS.pod, key(pod), {
      type: "merge",
      body: { status: { message: "waits" } },
    }, { subresource: "status" }),
  "a Job of anybody, and its pods": async ({ mallory, plane }) => {
    const wanted = jobOf();
    const spec = { ...wanted.spec, suspend: false, template: wanted.spec?.template ?? {} };
    const job = await mallory.create(KINDS.job, { ...wanted, spec });
    await until("its pod is there", async () => {
      const labelSelector = `job-name=${job.metadata?.name}`;
      const { items } = await plane.client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
      return items.length === 1;
    });
  },
  "a suspended Job that is resumed": async ({ mallory }) => {
    const job = await mallory.create(KINDS.job, jobOf());
    const body = { spec: { suspend: false } };
    await mallory.patch(KINDS.job, key(job), { type: "merge", body });
  },
  "a JobSet of anybody": ({ mallory }) => mallory.create(KINDS.jobSet, jobSetOf()),
  "the manager's JobSet, resumed by its user": ({ mallory, jobSet }) =>
    mallory.patch(KINDS.jobSet, key(jobSet), { type: "merge", body: { spec: { suspend: false } } }),
  "a Deployment of anybody, and its pods": async ({ plane }) => {
    const labels = { app: freshName("web") };
    await apply(plane, [{
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: NAMESPACE, name: labels.app },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podOf().spec },
      },
    }]);
    await until("its pod is there", async () => {
      const labelSelector = `app=${labels.app}`;
      const { items } = await plane.client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
      return items.length === 1;
    });
  },
};

/** A ReplicaSet's controller acts for whoever wrote the template, and is refused like them. */
async function replicaSetMakesNoPod(world: World): Promise<void> {
  const name = freshName("replicas");
  const labels = { app: name, "controller-uid": uidOf(world) };
  await apply(world.plane, [{
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { namespace: NAMESPACE, name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels }, spec: podOf().spec },
    },
  }]);
  await until("the ReplicaSet is refused", async () => {
    const { items } = await world.plane.client.list(KINDS.event, { namespace: NAMESPACE });
    return items.some((it) =>
      it.involvedObject?.name === name && it.message?.includes(MANAGER.admissionPolicy)
    );
  });
  const { items } = await world.plane.client.list(KINDS.pod, {
    namespace: NAMESPACE,
    labelSelector: `app=${name}`,
  });
  assert.equal(items.length, 0);
}

/** When a Job is deleted and its pods stay, the garbage collector takes its reference away. */
async function podsCanBeOrphaned({ plane, job, pod }: World): Promise<void> {
  await plane.client.delete(KINDS.job, key(job), { propagationPolicy: "Orphan" });
  await until("the pod has no owner", async () => {
    const { metadata } = await plane.client.get(KINDS.pod, key(pod));
    return (metadata?.ownerReferences ?? []).length === 0;
  });
}

Deno.test("the admission policy refuses forged objects and nothing else", (t) =>
  withControlPlane(async (plane) => {
    const world = await createWorld(plane);
    await t.step("every CEL expression compiles", async () => {
      const path = "jsonpath={.status.typeChecking.expressionWarnings}";
      const get = ["get", "validatingadmissionpolicy", MANAGER.admissionPolicy, "-o", path];
      assert.equal((await tryKubectl(plane, get)).stdout, "");
    });
    for (const [sentence, attempt] of Object.entries(honest)) {
      await t.step(`it lets pass: ${sentence}`, async () => void await attempt(world));
    }
    for (const [sentence, attempt] of Object.entries(hostile)) {
      await t.step(`it refuses: ${sentence}`, () =>
        assert.rejects(
          attempt(world),
          (error) => {
            assert.ok(error instanceof KubeError, String(error));
            assert.equal(error.code, 403, error.message);
            assert.match(error.message, new RegExp(MANAGER.admissionPolicy));
            return true;
          },
        ));
    }
    await t.step(
      "it refuses: pods of a ReplicaSet with a Job's labels",
      () => replicaSetMakesNoPod(world),
    );
    await t.step("it lets pass: pods that are orphaned", () => podsCanBeOrphaned(world));
  }));

Deno.test("a TrainJob trains under the admission policy", () =>
  withSharedCluster(async ({ plane: { client } }) => {
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("shell", "true"));
    await client.create(KINDS.trainJob, trainJob("honest", "shell"));
    const ended = await trainJobThat(
      client,
      "honest",
      "has ended",
      ({ status }) => status?.state === "Complete" || status?.state === "Failed",
    );
    assert.equal(ended.status?.state, "Complete");
  }, {
    beforeManager: ({ plane }) => apply(plane, parts(DEFAULTS).admission_policy),
  }));
