/** Tests of Trials with adopted collectors: served by push when Katib's webhook keeps away from their pods. */
import assert from "node:assert/strict";
import { KATIB, KATIB_KEPT_OUT } from "../../../crds/katib_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { shellRuntime, withStandalone } from "../../support/standalone.ts";
import {
  accepted,
  createTrial,
  createTrialsJob,
  installTrials,
  lossAbove,
  type PushingPod,
  pushingPods,
  trialThat,
} from "../../support/trials.ts";
import { until } from "../../support/until.ts";

/** Katib's configuration as it installs it, but for no namespace at all, so that nobody is called. */
function katibsWebhook(matchConditions: { name: string; expression: string }[] = []) {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: KATIB.webhookConfiguration },
    webhooks: [{
      name: KATIB.podWebhook,
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Ignore",
      clientConfig: { url: "https://127.0.0.1:1/mutate-pod" },
      namespaceSelector: { matchLabels: { "katib.kubeflow.org/nowhere": "true" } },
      rules: [{
        apiGroups: [""],
        apiVersions: ["v1"],
        operations: ["CREATE"],
        resources: ["pods"],
      }],
      matchConditions,
    }],
  };
}

/** Returns the last event of the manager about Katib's webhook. */
async function complaints(client: KubeClient): Promise<number> {
  const { items } = await client.list(KINDS.event, { namespace: "default" });
  return items.filter((it) => it.involvedObject.name === KATIB.webhookConfiguration).length;
}

Deno.test("trials of adopted collectors are served by push, while Katib's webhook keeps out", async (t) => {
  await withStandalone(async (standalone) => {
    const { client } = standalone;
    await installTrials(client);
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
    const begin = async (name: string, kind: string): Promise<PushingPod> => {
      const trial = await createTrial(client, name, "idle", {
        spec: {
          earlyStoppingRules: [lossAbove("0.5")],
          metricsCollector: { collector: { kind } },
        },
      });
      await createTrialsJob(client, trial);
      const [pod] = await pushingPods(standalone, name, 1);
      assert.ok(pod);
      return pod;
    };
    const isServed = async (name: string, kind: string) => {
      const pod = await begin(name, kind);
      assert.equal(pod.labels[LABELS.trial], name);
      assert.equal((await accepted(pod.push({ loss: "0.6" }))).control?.stop, true);
      await trialThat(
        client,
        name,
        "is stopped early",
        (it) => it.status?.conditions?.at(-1)?.type === "EarlyStopped",
      );
    };
    const isKatibs = async (name: string, kind: string) => {
      const pod = await begin(name, kind);
      assert.equal(pod.labels[LABELS.trial], undefined);
      assert.equal((await accepted(pod.push({ loss: "0.6" }))).control, undefined);
    };

    await t.step("a collector that was asked for is adopted", () => isServed("std-out", "StdOut"));
    await t.step("another collector is not adopted", () => isKatibs("file", "File"));

    await t.step(
      "no collector is adopted while Katib's webhook injects its own into the same pods",
      async () => {
        const { mutatingWebhookConfiguration: kind } = KINDS;
        await client.create(kind, kind.parse(katibsWebhook()));
        await until(
          "the manager has seen it",
          async () => await complaints(client) > 0 || undefined,
        );
        await isKatibs("std-out-unpatched", "StdOut");
        const body = katibsWebhook([{ ...KATIB_KEPT_OUT }]);
        await client.patch(kind, { name: KATIB.webhookConfiguration }, { type: "merge", body });
      },
    );

    await t.step(
      "collectors are adopted again once the shipped condition keeps the webhook away",
      async () => {
        // The manager sees the condition in its own time: until then a trial is Katib's.
        for (let attempt = 0;; attempt++) {
          const pod = await begin(`std-out-patched-${attempt}`, "StdOut");
          if (pod.labels[LABELS.trial] !== undefined) break;
          assert.ok(attempt < 20, "the condition is never seen");
        }
        await isServed("std-out-patched", "StdOut");
      },
    );
  }, { kubelet: false, settings: { adoptCollectors: "StdOut" } });
});
