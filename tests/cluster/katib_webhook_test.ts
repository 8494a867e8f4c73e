/** Tests beside Katib's webhook on a real API server: both give the same pod, and the shipped patch keeps it away. */
import assert from "node:assert/strict";
import { KATIB, KATIB_KEPT_OUT } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { LABELS } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { shellRuntime } from "../support/standalone.ts";
import { createTrial, createTrialsJob, installTrials } from "../support/trials.ts";
import { until } from "../support/until.ts";
import { type Cluster } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import {
  type KatibsTrial,
  type KatibsWebhook,
  startKatibsWebhook,
} from "./support/katib_webhook.ts";

const withSharedCluster = shareCluster();

const PATCH = new URL("../../deploy/katib/patch.yaml", import.meta.url).pathname;
const INJECTION = "katib.kubeflow.org/metrics-collector-injection=enabled";
const TRIAL: KatibsTrial = {
  name: "t1",
  labels: { "katib.kubeflow.org/experiment": "e" },
  primaryContainerName: "node",
};
const trialPodLabels = { [LABELS.trainJobName]: "t1", [LABELS.trial]: "t1" };

function podOf(name: string, container: string, labels: Record<string, string>): Pod {
  return {
    metadata: { name, namespace: "default", labels },
    spec: { containers: [{ name: container, image: "none", env: [{ name: "A", value: "1" }] }] },
  };
}

async function installTrial({ plane }: Pick<Cluster, "plane">): Promise<void> {
  await installTrials(plane.client);
  const { name, labels, primaryContainerName } = TRIAL;
  await plane.client.create(KINDS.trial, {
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Trial",
    metadata: { name, namespace: "default", labels },
    spec: { primaryContainerName, metricsCollector: { collector: { kind: "Push" } } },
  });
}

/** What two admissions come to: without what the API server makes new each time. */
const injected = ({ metadata, spec }: Pod) => ({
  labels: metadata?.labels,
  annotations: metadata?.annotations,
  env: spec?.containers.map(({ name, env }) => ({ name, env })),
  mounts: spec?.containers.map(({ volumeMounts }) => volumeMounts?.map((it) => it.mountPath)),
});

/** Returns the admitted pod, which is not stored. */
async function tried(client: KubeClient, pod: Pod): Promise<Pod> {
  const made = await client.create(KINDS.pod, pod);
  const key = { namespace: "default", name: made.metadata?.name ?? "" };
  await client.delete(KINDS.pod, key, { gracePeriodSeconds: 0 });
  return made;
}

/** Tries the pod until it becomes what is wanted: webhooks are called some time after they were registered. */
function createsLater(client: KubeClient, pod: Pod, isSo: (pod: Pod) => boolean): Promise<Pod> {
  return until(`pod ${pod.metadata?.name} as wanted`, async () => {
    const made = await tried(client, pod);
    return isSo(made) ? made : undefined;
  });
}

const isOurs = (pod: Pod) =>
  pod.spec?.containers[0]?.env?.some(({ name }) => name.startsWith("KUBEFLOW_TRAINER")) ?? false;

Deno.test("a trial's pod is the same with Katib's webhook before Milepost's, after it, and without it", () =>
  withSharedCluster(async ({ plane }) => {
    const { client } = plane;
    await installTrial({ plane });
    const pod = podOf("p", "node", trialPodLabels);
    const alone = injected(await createsLater(client, pod, isOurs));
    assert.equal(alone.env?.[0]?.env?.at(-1)?.name, "KATIB_TRIAL_NAME");
    await client.patch(KINDS.namespace, { name: "default" }, {
      type: "merge",
      body: {
        metadata: { labels: Object.fromEntries([INJECTION.split("=")]) },
      },
    });
    // Configurations are asked in the order of their names, and ours is named `milepost-mutating`.
    for (const name of ["katib.kubeflow.org", "zzz.katib.kubeflow.org"]) {
      const katib = await startKatibsWebhook(plane, TRIAL, name);
      try {
        const beside = await createsLater(client, pod, () => katib.asked.length > 0);
        assert.deepEqual(injected(beside), alone, name);
        await client.delete(KINDS.mutatingWebhookConfiguration, { name });
        await until("it is not asked any more", async () => {
          const asked = katib.asked.length;
          await tried(client, pod);
          return katib.asked.length === asked;
        });
      } finally {
        await katib.close();
      }
    }
  }, { node: false, inProcess: true }));

/** Applies the shipped patch, as docs/guides/katib.md says. */
async function patch({ kubectl }: Pick<Cluster, "kubectl">): Promise<void> {
  const { webhookConfiguration } = KATIB;
  await kubectl(
    ["patch", "mutatingwebhookconfiguration", webhookConfiguration, "--patch-file", PATCH],
  );
}

/** Katib's webhook is called for pods that are not Milepost's, and only for them. */
async function staysAway(client: KubeClient, katib: KatibsWebhook): Promise<void> {
  await createsLater(client, podOf("initializer", "dataset-initializer", trialPodLabels), isOurs);
  const asked = katib.asked.length;
  const made = await client.create(KINDS.pod, podOf("kept", "node", trialPodLabels));
  assert.equal(katib.asked.length, asked, "not asked about a trial's pod");
  assert.equal(made.metadata?.labels?.["katib.kubeflow.org/experiment"], "e", "given by ours");
  await client.create(KINDS.pod, podOf("others", "node", {}));
  assert.equal(katib.asked.at(-1), "others", "asked about all others");
}

Deno.test("the shipped patch keeps Katib's webhook away from trial pods, and the manager notices", async (t) => {
  await withSharedCluster(async ({ plane, manager, kubectl }) => {
    const { client } = plane;
    const name = "katib.kubeflow.org";
    await installTrial({ plane });
    await kubectl(["label", "namespace", "default", INJECTION]);
    const katib = await startKatibsWebhook(plane, TRIAL);
    try {
      const initializer = podOf("initializer", "dataset-initializer", trialPodLabels);
      await until("Katib's webhook denies an initializer's pod", async () => {
        const made = tried(client, initializer);
        return await made.then(() => false, (error) => /primary container/.test(String(error)));
      });
      await t.step("without the patch the manager logs what does not work", async () => {
        await until(
          "its log says it",
          async () => /Katib's webhook is called for the pods of trials/.test(await manager.log()),
        );
        await until("an event says it", async () => {
          const { items } = await client.list(KINDS.event, { namespace: "default" });
          return items.some(({ reason, involvedObject }) =>
            reason === "NotSupported" && involvedObject.name === name
          );
        });
      });
      await t.step("with the patch Katib's webhook is not called for trial pods", async () => {
        await patch({ kubectl });
        const { webhooks } = await client.get(KINDS.mutatingWebhookConfiguration, { name });
        assert.deepEqual(webhooks?.map((it) => it.matchConditions?.map((one) => one.name)), [
          undefined,
          [KATIB_KEPT_OUT.name, "exclude-katib-controller"],
        ]);
        await staysAway(client, katib);
        await until(
          "the manager's log says it",
          async () => /Katib's webhook is no longer called/.test(await manager.log()),
        );
      });
    } finally {
      await katib.close();
    }
  }, { node: false });
});

/** The label of the trial on the pods of a TrainJob, once there is one. */
function trialLabel(client: KubeClient, trainJob: string): Promise<string> {
  return until(`a pod of ${trainJob}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${trainJob}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items[0] && (items[0].metadata?.labels?.[LABELS.trial] ?? "none");
  });
}

Deno.test("a trial whose collector is StdOut is adopted only while Katib's webhook is kept away", () =>
  withSharedCluster(async ({ plane, kubectl }) => {
    const { client } = plane;
    await installTrials(client);
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("shell", "true"));
    await kubectl(["label", "namespace", "default", INJECTION]);
    const katib = await startKatibsWebhook(plane, TRIAL);
    const begin = async (name: string) => {
      const spec = { metricsCollector: { collector: { kind: "StdOut" } } };
      await createTrialsJob(client, await createTrial(client, name, "shell", { spec }));
    };
    try {
      await until("Katib's webhook is called", async () => {
        await tried(client, podOf("any", "node", {}));
        return katib.asked.length > 0;
      });
      await begin("katibs");
      assert.equal(await trialLabel(client, "katibs"), "none");
      await patch({ kubectl });
      await until("a trial is adopted", async () => {
        const name = `adopted-${crypto.randomUUID().slice(0, 8)}`;
        await begin(name);
        return await trialLabel(client, name) === name;
      });
    } finally {
      await katib.close();
    }
  }, {
    node: false,
    inProcess: true,
    flags: { adoptCollectors: "StdOut", observationSink: "memory" },
  }));
