/** Kubernetes' own gang scheduling (alpha in 1.36): TrainJobs need nothing of Milepost for it. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod } from "../../crds/kubernetes.ts";
import { until } from "../support/until.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { apply, kubectl, withCluster } from "./support/installation.ts";
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

Deno.test("a TrainJob is a gang of Kubernetes itself: no pod is bound until all can be", async () => {
  await withCluster(async ({ plane }) => {
    const { client } = plane;
    await addNode(plane, "one", "2");
    const runtime = shellRuntime("gang", "true");
    const [job] = runtime.spec?.template.spec?.replicatedJobs ?? [];
    const [container] = job?.template.spec?.template.spec?.containers ?? [];
    Object.assign(container ?? {}, { resources: { requests: { cpu: "1" } } });
    await client.create(KINDS.clusterTrainingRuntime, runtime);
    const three = trainJob("tj", "gang");
    await client.create(KINDS.trainJob, {
      ...three,
      spec: { ...three.spec, trainer: { numNodes: 3 } },
    });
    const pods = async (): Promise<Pod[]> =>
      (await client.list(KINDS.pod, { namespace: "default" })).items;
    await until("three pods that the scheduler has looked at", async () => {
      const all = await pods();
      return all.length === 3 &&
        all.every(({ status }) =>
          status?.conditions?.some(({ type, status }) =>
            type === "PodScheduled" && status === "False"
          )
        );
    }, { timeoutMs: 60_000 });
    const bound = async () => (await pods()).filter(({ spec }) => spec?.nodeName).length;
    assert.equal(await bound(), 0, "two would fit");
    await addNode(plane, "two", "2");
    await until("all are bound", async () => await bound() === 3, { timeoutMs: 60_000 });
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
  });
});
