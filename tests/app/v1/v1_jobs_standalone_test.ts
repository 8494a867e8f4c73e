/** Test of jobs of the Training Operator's kinds in `standalone`, from their creation to their end. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { V1Job } from "../../../crds/v1/job.ts";
import type { V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { withStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { podLog } from "../../support/pod_log.ts";

function replicas(container: string, count: number, script: string) {
  const command = ["sh", "-c", script];
  return {
    replicas: count,
    template: { spec: { containers: [{ name: container, image: "acme/train:1", command }] } },
  };
}

async function create(client: KubeClient, kind: V1KindName, name: string, spec: unknown) {
  const job = V1_RESOURCES[kind].parse({
    apiVersion: "kubeflow.org/v1",
    kind,
    metadata: { name, namespace: "default" },
    spec,
  });
  return await client.create(V1_RESOURCES[kind], job);
}

async function ended(client: KubeClient, kind: V1KindName, name: string): Promise<V1Job> {
  return await until(`${kind} ${name} has ended`, async () => {
    const job = await client.get(V1_RESOURCES[kind], { namespace: "default", name });
    const types = job.status?.conditions?.map(({ type }) => type) ?? [];
    return types.some((type) => type === "Succeeded" || type === "Failed") ? job : undefined;
  });
}

async function logOf(client: KubeClient, pod: string): Promise<string> {
  return (await podLog(client, pod) ?? "").trim();
}

Deno.test("a TFJob and a PyTorchJob run in standalone as they are, and a failing one fails", () =>
  withStandalone(async ({ client }) => {
    await create(client, "TFJob", "mnist", {
      tfReplicaSpecs: {
        PS: replicas("tensorflow", 1, "exec sleep 600"),
        Worker: replicas("tensorflow", 2, 'echo "$TF_CONFIG"'),
      },
    });
    await create(client, "PyTorchJob", "ddp", {
      runPolicy: { cleanPodPolicy: "All" },
      pytorchReplicaSpecs: {
        Master: replicas("pytorch", 1, 'echo "$RANK of $WORLD_SIZE"'),
        Worker: replicas("pytorch", 2, 'echo "$RANK of $WORLD_SIZE"'),
      },
    });
    await create(client, "XGBoostJob", "bad", {
      xgbReplicaSpecs: { Master: replicas("xgboost", 1, "exit 3") },
    });
    const stored = await client.get(V1_RESOURCES.TFJob, { namespace: "default", name: "mnist" });
    assert.deepEqual(stored.spec.runPolicy, { suspend: false });

    const mnist = await ended(client, "TFJob", "mnist");
    assert.equal(mnist.status?.conditions?.at(-1)?.reason, "TFJobSucceeded");
    const config: unknown = JSON.parse(await logOf(client, "mnist-worker-0"));
    assert.deepEqual(config, {
      cluster: {
        ps: ["mnist-ps-0.default.svc:2222"],
        worker: ["mnist-worker-0.default.svc:2222", "mnist-worker-1.default.svc:2222"],
      },
      task: { type: "worker", index: 0 },
      environment: "cloud",
    });

    const ddp = await ended(client, "PyTorchJob", "ddp");
    assert.equal(ddp.status?.conditions?.at(-1)?.reason, "PyTorchJobSucceeded");
    await until("the pods of the PyTorchJob are gone", async () => {
      const labelSelector = `${V1_LABELS.jobName}=ddp`;
      const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
      return items.length === 0 ? true : undefined;
    });

    const bad = await ended(client, "XGBoostJob", "bad");
    assert.equal(
      bad.status?.conditions?.at(-1)?.message,
      "XGBoostJob bad is failed because 1 Master replica(s) failed.",
    );
  }));
