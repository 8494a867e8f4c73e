/** Kubernetes' own gang scheduling (alpha in 1.36): TrainJobs need nothing of Milepost for it. */
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod, PodSpec } from "../../platform/kube/kubernetes.ts";
import { until } from "../support/until.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { apply, type Cluster, kubectl, withCluster } from "./support/installation.ts";
import type { ControlPlane } from "./control_plane/control_plane.ts";

const GATES = ["GenericWorkload", "GangScheduling", "WorkloadWithJob"];
const gates = `--feature-gates=${GATES.map((gate) => `${gate}=true`).join(",")}`;
const SERVED = "--runtime-config=scheduling.k8s.io/v1alpha2=true";

/** A node that nothing runs on. */
async function addNode(plane: ControlPlane, name: string, cpu: string): Promise<void> {
  await apply(plane, [{ apiVersion: "v1", kind: "Node", metadata: { name } }]);
  const resources = { cpu, memory: "8Gi", pods: "20" };
  const conditions = [{ type: "Ready", status: "True", reason: "Test", message: "" }];
  const status = { capacity: resources, allocatable: resources, conditions };
  await kubectl(plane, [
    "patch",
    "node",
    name,
    "--subresource=status",
    "--type=merge",
    "-p",
    JSON.stringify({ status }),
  ]);
  const taints = ["patch", "node", name, "--type=merge", "-p", '{"spec":{"taints":null}}'];
  await kubectl(plane, taints);
}

/** A runtime whose pods ask for a processor each, and for what `more` says. */
async function addRuntime({ plane }: Cluster, name: string, more: Partial<PodSpec>): Promise<void> {
  const runtime = shellRuntime(name, "true");
  const [job] = runtime.spec?.template.spec?.replicatedJobs ?? [];
  const spec = job?.template.spec?.template.spec;
  const [container] = spec?.containers ?? [];
  Object.assign(container ?? {}, { resources: { requests: { cpu: "1" } } });
  Object.assign(spec ?? {}, more);
  await plane.client.create(KINDS.clusterTrainingRuntime, runtime);
}

async function createJob(
  { plane }: Cluster,
  name: string,
  runtime: string,
  spec: { readonly suspend?: boolean } = {},
): Promise<void> {
  const job = trainJob(name, runtime);
  const three = { ...job.spec, ...spec, trainer: { numNodes: 3 } };
  await plane.client.create(KINDS.trainJob, { ...job, spec: three });
}

async function podsOf({ plane }: Cluster, name: string): Promise<Pod[]> {
  const labelSelector = `${JOBSET_KEYS.jobSetName}=${name}`;
  return (await plane.client.list(KINDS.pod, { namespace: "default", labelSelector })).items;
}

const isBound = ({ spec }: Pod) => spec?.nodeName !== undefined;

const isLeft = ({ status }: Pod) =>
  status?.conditions?.some((one) => one.type === "PodScheduled" && one.status === "False") ?? false;

/** Waits until the scheduler has bound so many of three pods, and has looked at the others. */
async function areBound(cluster: Cluster, name: string, count: number): Promise<void> {
  await until(`${count} of three pods of ${name} are bound`, async () => {
    const pods = await podsOf(cluster, name);
    const bound = pods.filter(isBound).length;
    const left = pods.filter((pod) => !isBound(pod) && isLeft(pod)).length;
    if (bound > count) throw new Error(`${bound} are bound`);
    return bound === count && bound + left === 3;
  });
}

async function takenByKubernetes(cluster: Cluster): Promise<void> {
  await addRuntime(cluster, "plain", {});
  await createJob(cluster, "taken", "plain");
  await areBound(cluster, "taken", 0);
  await addNode(cluster.plane, "two", "2");
  await areBound(cluster, "taken", 3);
}

/** The group is the user's; one processor is free. */
async function inAGroupOfItsOwn(cluster: Cluster): Promise<void> {
  await addRuntime(cluster, "grouped", { schedulingGroup: { podGroupName: "mine" } });
  await apply(cluster.plane, [{
    apiVersion: "scheduling.k8s.io/v1alpha2",
    kind: "PodGroup",
    metadata: { name: "mine", namespace: "default" },
    spec: { schedulingPolicy: { gang: { minCount: 3 } } },
  }]);
  await createJob(cluster, "grouped", "grouped");
  await areBound(cluster, "grouped", 0);
  await addNode(cluster.plane, "three", "2");
  await areBound(cluster, "grouped", 3);
}

/** Its Job is taken when it is created, before it is found to be suspended. */
async function createdSuspended(cluster: Cluster): Promise<void> {
  const { client } = cluster.plane;
  await addNode(cluster.plane, "four", "2");
  await createJob(cluster, "late", "plain", { suspend: true });
  await until("a suspended Job", async () => {
    const { status } = await client.get(KINDS.job, { namespace: "default", name: "late-node-0" });
    return status?.conditions?.some(({ type }) => type === "Suspended");
  });
  await client.patch(KINDS.trainJob, { namespace: "default", name: "late" }, {
    type: "merge",
    body: { spec: { suspend: false } },
  });
  await areBound(cluster, "late", 0);
  await addNode(cluster.plane, "five", "1");
  await areBound(cluster, "late", 3);
}

Deno.test("a TrainJob is a gang of Kubernetes itself: no pod is bound until all can be", (t) =>
  withCluster(async (cluster) => {
    await addNode(cluster.plane, "one", "2");
    await t.step("by the gate WorkloadWithJob", () => takenByKubernetes(cluster));
    await t.step("in a group that its runtime names", () => inAGroupOfItsOwn(cluster));
    await t.step("also if it was created suspended", () => createdSuspended(cluster));
  }, {
    node: false,
    plane: {
      flags: {
        apiServer: [gates, SERVED],
        controllerManager: [gates],
        scheduler: [gates],
      },
    },
    flags: { featureGates: "TrainJobProgress=false" },
  }));
