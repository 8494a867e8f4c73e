/**
 * Tests of v1 jobs of somebody hostile on a real control plane: which pods the launcher of an MPIJob may run commands in,
 * as the API server's authorizer says, and counts that no webhook sees.
 */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { V1_KINDS, type V1KindName } from "../../crds/v1/kinds.ts";
import { v1CrdManifests } from "../../crds/v1/manifests.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { until } from "../support/until.ts";
import { apply, type Cluster, crdsServed } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

const NAMESPACE = "default";
/** The account that the author of a job names for its launcher. */
const AUTHOR = "author";
const MOST = 2 ** 31 - 1;

/** A job of these types. */
function job(kind: V1KindName, name: string, types: Readonly<Record<string, number>>) {
  const { specsKey, container } = V1_KINDS[kind];
  const containers = [{ name: container, image: "none" }];
  const specs = Object.entries(types).map(([type, replicas]) => {
    const spec = type === "Launcher" ? { containers, serviceAccountName: AUTHOR } : { containers };
    return [type, { replicas, template: { spec } }];
  });
  return V1_RESOURCES[kind].parse({
    apiVersion: "kubeflow.org/v1",
    kind,
    metadata: { name, namespace: NAMESPACE },
    spec: { [specsKey]: Object.fromEntries(specs) },
  });
}

async function create({ plane }: Cluster, ...args: Parameters<typeof job>): Promise<void> {
  await plane.client.create(V1_RESOURCES[args[0]], job(...args));
}

/** Returns whether the API server lets the author's account run commands in a pod. */
async function mayRunIn({ plane }: Cluster, pod: string): Promise<boolean> {
  const review = await plane.client.create(KINDS.subjectAccessReview, {
    spec: {
      user: `system:serviceaccount:${NAMESPACE}:${AUTHOR}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${NAMESPACE}`],
      resourceAttributes: {
        namespace: NAMESPACE,
        verb: "create",
        resource: "pods",
        subresource: "exec",
        name: pod,
      },
    },
  });
  return review.status?.allowed ?? false;
}

async function podsOf({ plane }: Cluster, kind: V1KindName, name: string): Promise<string[]> {
  const { operatorName } = V1_KINDS[kind];
  const labelSelector = `${V1_LABELS.jobName}=${name},${V1_LABELS.operatorName}=${operatorName}`;
  const { items } = await plane.client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
  return items.map(({ metadata }) => metadata?.name ?? "").sort();
}

async function awaitPods(cluster: Cluster, kind: V1KindName, name: string, want: string[]) {
  await until(
    `the pods of ${name} are ${want.join()}`,
    async () => (await podsOf(cluster, kind, name)).join() === want.join(),
  );
}

async function awaitRight(cluster: Cluster, pod: string, want: boolean): Promise<void> {
  await until(
    `running commands in ${pod} is ${want ? "allowed" : "forbidden"}`,
    async () => await mayRunIn(cluster, pod) === want,
  );
}

/** A launcher without workers has no right but to look. */
async function reachesNobody(cluster: Cluster): Promise<void> {
  await create(cluster, "MPIJob", "alone", { Launcher: 1 });
  await create(cluster, "MPIJob", "none", { Launcher: 1, Worker: 0 });
  await awaitPods(cluster, "MPIJob", "alone", ["alone-launcher"]);
  await awaitPods(cluster, "MPIJob", "none", ["none-launcher"]);
  for (const pod of ["victim", "alone-worker-0", "none-launcher", ""]) {
    assert.equal(await mayRunIn(cluster, pod), false, pod);
  }
}

/** A launcher reaches its workers, and none of a PyTorchJob of the same name. */
async function reachesItsOwn(cluster: Cluster): Promise<void> {
  await create(cluster, "PyTorchJob", "foo", { Worker: 1 });
  await awaitPods(cluster, "PyTorchJob", "foo", ["foo-worker-0"]);
  await create(cluster, "MPIJob", "foo", { Launcher: 1, Worker: 2 });
  await awaitRight(cluster, "foo-worker-1", true);
  assert.deepEqual(await podsOf(cluster, "MPIJob", "foo"), ["foo-worker-1"]);
  assert.equal(await mayRunIn(cluster, "foo-worker-0"), false);
  await create(cluster, "MPIJob", "own", { Launcher: 1, Worker: 2 });
  await awaitPods(cluster, "MPIJob", "own", ["own-launcher", "own-worker-0", "own-worker-1"]);
  // The launcher came last: what it reaches was written before.
  await awaitRight(cluster, "own-worker-0", true);
  await awaitRight(cluster, "own-worker-1", true);
  const body = { spec: { mpiReplicaSpecs: { Worker: { replicas: 1 } } } };
  const key = { namespace: NAMESPACE, name: "own" };
  await cluster.plane.client.patch(V1_RESOURCES.MPIJob, key, { type: "merge", body });
  await awaitPods(cluster, "MPIJob", "own", ["own-launcher", "own-worker-0"]);
  await awaitRight(cluster, "own-worker-1", false);
  assert.equal(await mayRunIn(cluster, "own-worker-0"), true);
}

/** The rule of former versions, whose empty list of names means every pod, goes with the new leader. */
async function losesFormerRules(cluster: Cluster): Promise<void> {
  const { plane, installation } = cluster;
  await installation.stop();
  const exec = { apiGroups: [""], resources: ["pods/exec"], resourceNames: [], verbs: ["create"] };
  for (const name of ["alone", "own"]) {
    const key = { namespace: NAMESPACE, name: `${name}-launcher` };
    await plane.client.patch(KINDS.role, key, { type: "merge", body: { rules: [exec] } });
  }
  await awaitRight(cluster, "victim", true);
  await installation.startManager();
  await awaitRight(cluster, "victim", false);
  assert.equal(await mayRunIn(cluster, "own-worker-0"), true);
}

/** A job that is suspended has no workers, and gives no right to what may get their names. */
async function losesItsRights(cluster: Cluster): Promise<void> {
  const patch = JSON.stringify({ spec: { runPolicy: { suspend: true } } });
  await cluster.kubectl(["patch", "mpijob", "own", "--type=merge", `--patch=${patch}`]);
  await awaitPods(cluster, "MPIJob", "own", []);
  await awaitRight(cluster, "own-worker-0", false);
}

/** The subresource `scale` passes no webhook: the pods stay, it is told, and other jobs go on. */
async function survivesScale(cluster: Cluster): Promise<void> {
  const { plane, kubectl } = cluster;
  await create(cluster, "PyTorchJob", "large", { Worker: 2 });
  await awaitPods(cluster, "PyTorchJob", "large", ["large-worker-0", "large-worker-1"]);
  await kubectl(["scale", "pytorchjob/large", `--replicas=${MOST}`]);
  await until("it is told", async () => {
    const { items } = await plane.client.list(KINDS.event, { namespace: NAMESPACE });
    return items.some(({ reason, message, involvedObject }) =>
      reason === "PyTorchJobFailedValidation" && involvedObject.name === "large" &&
      message?.includes(`makes ${MOST} pods of the job, at most 10000 are allowed`)
    );
  });
  await create(cluster, "PyTorchJob", "other", { Worker: 1 });
  await awaitPods(cluster, "PyTorchJob", "other", ["other-worker-0"]);
  assert.deepEqual(await podsOf(cluster, "PyTorchJob", "large"), [
    "large-worker-0",
    "large-worker-1",
  ]);
  await assert.rejects(
    create(cluster, "PyTorchJob", "refused", { Worker: MOST }),
    /spec\.pytorchReplicaSpecs\[Worker\]\.replicas: Invalid value: 2147483647: makes 2147483647 pods/,
  );
}

Deno.test("v1 jobs of somebody hostile get no right to other pods, and no more pods than allowed", () =>
  withSharedCluster(async (cluster) => {
    const { plane } = cluster;
    await apply(plane, v1CrdManifests());
    await crdsServed(plane, []);
    const spec = { containers: [{ name: "c", image: "none" }] };
    await plane.client.create(KINDS.pod, {
      metadata: { namespace: NAMESPACE, name: "victim" },
      spec,
    });
    await plane.client.create(KINDS.serviceAccount, {
      metadata: { namespace: NAMESPACE, name: AUTHOR },
    });
    await reachesNobody(cluster);
    await reachesItsOwn(cluster);
    await losesFormerRules(cluster);
    await losesItsRights(cluster);
    await survivesScale(cluster);
  }, { node: false }));
