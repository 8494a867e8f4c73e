/**
 * Test of least privilege of the parts of v1 jobs that have roles of their own: MPIJobs, elastic PyTorchJobs and
 * gangs use exactly the rights of their part, and name what is missing without it.
 */
import assert from "node:assert/strict";
import { clusterRulesOf, type ManagerPart } from "../../app/manager/rights.ts";
import { KINDS } from "../../crds/kinds.ts";
import {
  V1_ELASTIC_PART,
  V1_GANGS_PART,
  V1_JOBS_PART,
  V1_LABELS,
  V1_MPI_PART,
} from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import type { Kind } from "../../platform/kube/resource.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { until } from "../support/until.ts";
import { MANAGER_USER } from "./support/conserved.ts";
import { apply, type Cluster } from "./support/installation.ts";
import { allows, privilegesOf, textOf, useOf } from "./support/privileges.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster("v1");
const NAMESPACE = "default";
const keyOf = (name: string) => ({ namespace: NAMESPACE, name });
const PATIENT = { timeoutMs: 60_000 };

/** Replicas of a type; their pods name a priority class. */
function replicas(container: string, count: number) {
  const containers = [{ name: container, image: "none" }];
  return { replicas: count, template: { spec: { containers, priorityClassName: "urgent" } } };
}

async function create(cluster: Cluster, kind: "MPIJob" | "PyTorchJob", spec: unknown) {
  const resource = V1_RESOURCES[kind];
  const job = { apiVersion: "kubeflow.org/v1", kind, metadata: keyOf("j"), spec };
  await cluster.plane.client.create(resource, resource.parse(job));
}

async function change(cluster: Cluster, kind: "MPIJob" | "PyTorchJob", spec: unknown) {
  const patch = { type: "merge", body: { spec } } as const;
  await cluster.plane.client.patch(V1_RESOURCES[kind], keyOf("j"), patch);
}

/** Waits until an object is as wanted. */
async function thatIs<T>(
  { plane: { client } }: Cluster,
  kind: Kind<T>,
  name: string,
  isSo: (object: T | undefined) => boolean,
): Promise<void> {
  await until(
    `${kind.kind} ${name} is as wanted`,
    async () => isSo(await getOrUndefined(client, kind, keyOf(name))),
    PATIENT,
  );
}

/** Plays the kubelet: the pods of the job are in that phase. */
async function report({ plane: { client } }: Cluster, phase: string): Promise<void> {
  const labelSelector = `${V1_LABELS.jobName}=j`;
  const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
  for (const { metadata: { name = "" } = {} } of items) {
    const patch = { type: "merge", body: { status: { phase } } } as const;
    await client.patch(KINDS.pod, keyOf(name), patch, { subresource: "status" });
  }
}

/** Part of a manager, and the life of a job that needs all its rights. */
interface Scene {
  readonly part: ManagerPart;
  readonly gangSchedulerName?: string;
  readonly live: (cluster: Cluster) => Promise<void>;
  /** Creates the job, and lets it come to what a manager without the part may not do. */
  readonly begin: (cluster: Cluster) => Promise<void>;
  /** The reason of the event that tells of the missing right, and what it names. */
  readonly missing: { readonly reason: string; readonly right: RegExp };
  /** Privileges that no request shows. */
  readonly unseen?: readonly string[];
}

const workers = (count: number) => ({ mpiReplicaSpecs: { Worker: replicas("mpi", count) } });
const beginMpi = (cluster: Cluster) =>
  create(cluster, "MPIJob", {
    mpiReplicaSpecs: { Launcher: replicas("mpi", 1), Worker: replicas("mpi", 1) },
  });

async function liveMpi(cluster: Cluster): Promise<void> {
  await beginMpi(cluster);
  await thatIs(cluster, KINDS.roleBinding, "j-launcher", (it) => it !== undefined);
  await until("the worker is there", async () => {
    await report(cluster, "Running");
    const { data } = await cluster.plane.client.get(KINDS.configMap, keyOf("j-config"));
    return data?.["discover_hosts.sh"]?.includes("j-worker-0");
  }, PATIENT);
  await change(cluster, "MPIJob", workers(2));
  await thatIs(
    cluster,
    KINDS.role,
    "j-launcher",
    (it) => JSON.stringify(it).includes("j-worker-1"),
  );
}

const METRICS = [{
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
}];
const elastic = (maxReplicas: number) => ({
  pytorchReplicaSpecs: { Worker: replicas("pytorch", 1) },
  elasticPolicy: { minReplicas: 1, maxReplicas, metrics: METRICS },
});
const beginElastic = (cluster: Cluster) => create(cluster, "PyTorchJob", elastic(2));

async function liveElastic(cluster: Cluster): Promise<void> {
  const { horizontalPodAutoscaler: kind } = KINDS;
  const has = (most: number) => (it: unknown) =>
    JSON.stringify(it ?? {}).includes(`"maxReplicas":${most}`);
  await beginElastic(cluster);
  await thatIs(cluster, kind, "j", has(2));
  await change(cluster, "PyTorchJob", elastic(3));
  await thatIs(cluster, kind, "j", has(3));
  await change(cluster, "PyTorchJob", { runPolicy: { suspend: true } });
  await thatIs(cluster, kind, "j", (it) => it === undefined);
}

const gang = (minAvailable: number) => ({
  pytorchReplicaSpecs: { Worker: replicas("pytorch", 2) },
  runPolicy: { schedulingPolicy: { minAvailable } },
});
const beginGang = (cluster: Cluster) => create(cluster, "PyTorchJob", gang(2));

/** The rights of TrainJobs' gangs suffice to make a group, and not to delete it. */
const GROUP_STAYS = { reason: "FailedDeletePodGroup", right: /cannot delete resource "podgroups"/ };

async function endGang(cluster: Cluster): Promise<void> {
  await beginGang(cluster);
  await thatIs(cluster, V1_RESOURCES.PyTorchJob, "j", (it) => it?.status !== undefined);
  await change(cluster, "PyTorchJob", { runPolicy: { suspend: true } });
}

/** The life of a gang under a scheduler that makes pod groups of that kind. */
const liveGang =
  (kind: typeof KINDS.volcanoPodGroup | typeof KINDS.coschedulingPodGroup) =>
  async (cluster: Cluster): Promise<void> => {
    const has = (members: number) => (group: unknown) =>
      JSON.stringify(group ?? {}).includes(`"minMember":${members}`);
    await beginGang(cluster);
    await thatIs(cluster, kind, "j", has(2));
    await change(cluster, "PyTorchJob", gang(1));
    await thatIs(cluster, kind, "j", has(1));
    await change(cluster, "PyTorchJob", { runPolicy: { suspend: true } });
    await thatIs(cluster, kind, "j", (it) => it === undefined);
  };

const SCENES: Readonly<Record<string, Scene>> = {
  "MPIJobs": {
    part: V1_MPI_PART,
    live: liveMpi,
    begin: beginMpi,
    missing: {
      reason: "FailedCreateServiceAccount",
      right: /cannot get resource "serviceaccounts"/,
    },
    // Needed to give it to the launcher.
    unseen: ["create pods/exec", "get pods"],
  },
  "elastic PyTorchJobs": {
    part: V1_ELASTIC_PART,
    live: liveElastic,
    begin: beginElastic,
    missing: {
      reason: "FailedCreateHorizontalPodAutoscaler",
      right: /cannot get resource "horizontalpodautoscalers"/,
    },
  },
  "gangs of Volcano": {
    part: V1_GANGS_PART,
    gangSchedulerName: "volcano",
    live: liveGang(KINDS.volcanoPodGroup),
    begin: endGang,
    missing: GROUP_STAYS,
    unseen: ["get", "create", "patch", "delete"].map((it) => `${it} podgroups.scheduling.x-k8s.io`),
  },
  "gangs of a scheduler with coscheduling": {
    part: V1_GANGS_PART,
    gangSchedulerName: "coscheduler",
    live: liveGang(KINDS.coschedulingPodGroup),
    begin: endGang,
    missing: GROUP_STAYS,
    unseen: ["get", "create", "patch", "delete"].map((it) =>
      `${it} podgroups.scheduling.volcano.sh`
    ),
  },
};

const PRIORITY_CLASS = {
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name: "urgent" },
  value: 10,
};

/** Runs `work` with a manager that has the rights of those parts alone. */
function withParts(
  { gangSchedulerName }: Scene,
  parts: readonly ManagerPart[],
  work: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  return withSharedCluster(work, {
    node: false,
    flags: {
      featureGates: "TrainJobProgress=false",
      jobset: "external",
      leaderElect: "false",
      optimizationJobs: "false",
      ...(gangSchedulerName !== undefined && { gangSchedulerName }),
    },
    parts: ["controller", V1_JOBS_PART, ...parts],
    beforeManager: ({ plane }) => apply(plane, [PRIORITY_CLASS]),
  });
}

for (const [what, scene] of Object.entries(SCENES)) {
  Deno.test(`${what} use exactly the rights of their part`, () =>
    withParts(scene, [scene.part], async (cluster) => {
      await scene.live(cluster);
      await cluster.manager.kill();
      const events = (await cluster.plane.auditLog())
        .filter(({ user }) => user.username === MANAGER_USER);
      const refused = events.filter(({ responseStatus }) => responseStatus?.code === 403);
      assert.deepEqual(refused.map((event) => `${event.verb} ${event.requestURI}`), []);
      const uses = events.map(useOf);
      const unused = clusterRulesOf(scene.part).flatMap(privilegesOf)
        .filter((it) => !uses.some((use) => allows(it, use))).map(textOf);
      assert.deepEqual(unused.filter((it) => !scene.unseen?.includes(it)), []);
    }));

  Deno.test(`without the rights of their part an event names what ${what} miss`, () =>
    withParts(scene, [], async (cluster) => {
      await scene.begin(cluster);
      const { reason, right } = scene.missing;
      await until(`an event ${reason}`, async () => {
        const { items } = await cluster.plane.client.list(KINDS.event, { namespace: NAMESPACE });
        return items.some((it) => it.reason === reason && right.test(it.message ?? ""));
      }, PATIENT);
    }));
}
