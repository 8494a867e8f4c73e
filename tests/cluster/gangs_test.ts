/** Pod groups on a real control plane: the CRD that comes late, the turns of a job, and its end. */
import assert from "node:assert/strict";
import { COSCHEDULING } from "../../crds/gang_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { until } from "../support/until.ts";
import { installPodGroupCrds } from "./parity/pod_group_crds.ts";
import { type Cluster } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

const KEY = { namespace: "default", name: "tj" };
const STEP = "trainer.kubeflow.org/trainjob-ancestor-step";

function job(name: string, step: string, container: string, more: Record<string, unknown> = {}) {
  const resources = { requests: { cpu: "1" } };
  const spec = { containers: [{ name: container, image: "none", resources }] };
  return {
    name,
    ...more,
    template: { metadata: { labels: { [STEP]: step } }, spec: { template: { spec } } },
  };
}

/** An initializer, and the trainers behind it. */
const GANG = KINDS.clusterTrainingRuntime.parse({
  apiVersion: "trainer.kubeflow.org/v1alpha1",
  kind: "ClusterTrainingRuntime",
  metadata: { name: "gang" },
  spec: {
    mlPolicy: { numNodes: 3 },
    podGroupPolicy: { coscheduling: {} },
    template: {
      spec: {
        replicatedJobs: [
          job("dataset-initializer", "dataset-initializer", "dataset-initializer"),
          job("node", "trainer", "node", {
            dependsOn: [{ name: "dataset-initializer", status: "Complete" }],
          }),
        ],
      },
    },
  },
});

const TRAINJOB = KINDS.trainJob.parse({
  apiVersion: "trainer.kubeflow.org/v1alpha1",
  kind: "TrainJob",
  metadata: KEY,
  spec: { runtimeRef: { name: "gang" } },
});

async function minMember(client: KubeClient): Promise<number | undefined> {
  const path =
    `/apis/${COSCHEDULING.group}/${COSCHEDULING.version}/namespaces/default/podgroups/tj`;
  const { spec } = JSON.parse((await client.read(path)).text);
  return spec?.minMember;
}

async function podIs({ plane }: Cluster, prefix: string, phase: string): Promise<void> {
  const pod = await until(`a pod ${prefix}`, async () => {
    const { items } = await plane.client.list(KINDS.pod, { namespace: "default" });
    return items.find(({ metadata }) => metadata?.name?.startsWith(prefix));
  });
  const key = { namespace: "default", name: pod.metadata?.name ?? "" };
  const body = { status: { phase } };
  await plane.client.patch(KINDS.pod, key, { type: "merge", body }, { subresource: "status" });
}

Deno.test("a TrainJob in a gang waits for the scheduler's CRD, counts its members by turns, and takes its group along", async () => {
  await withSharedCluster(async (cluster) => {
    const { plane } = cluster;
    const { client } = plane;
    await client.create(KINDS.clusterTrainingRuntime, GANG);
    await client.create(KINDS.trainJob, TRAINJOB);
    const told = await until("the condition", async () => {
      const { status } = await client.get(KINDS.trainJob, KEY);
      return status?.conditions?.find(({ type }) => type === "ResourcesCreated");
    });
    assert.match(told.message, /install the CRD podgroups\.scheduling\.x-k8s\.io/);
    assert.equal(await getOrUndefined(client, KINDS.jobSet, KEY), undefined);
    const snapshot = { ...KEY, name: "tj-runtime-snapshot" };
    assert.equal(await getOrUndefined(client, KINDS.configMap, snapshot), undefined);

    await installPodGroupCrds(plane);
    await until("the group of the initializer", async () => await minMember(client) === 1);
    await until("no condition", async () => {
      const { status } = await client.get(KINDS.trainJob, KEY);
      return (status?.conditions ?? []).length === 0;
    });
    await podIs(cluster, "tj-dataset-initializer-0", "Running");
    await until("the group of the trainers", async () => await minMember(client) === 3);
    await podIs(cluster, "tj-dataset-initializer-0", "Succeeded");
    await until("the pods of the trainers", async () => {
      const { items } = await client.list(KINDS.pod, { namespace: "default" });
      return items.filter(({ metadata }) => metadata?.name?.startsWith("tj-node-0")).length === 3;
    });
    assert.equal(await minMember(client), 3);

    await client.delete(KINDS.trainJob, KEY);
    await until(
      "the group is gone",
      async () => await getOrUndefined(client, KINDS.coschedulingPodGroup, KEY) === undefined,
    );
    const asked = (await plane.auditLog()).filter(({ objectRef, user }) =>
      objectRef?.apiGroup === "scheduling.volcano.sh" && user.username.includes("serviceaccount")
    );
    assert.deepEqual(asked.map(({ verb }) => verb), [], "nobody asks for what no runtime names");
  }, {
    node: false,
    flags: { featureGates: "TrainJobProgress=false" },
  });
});
