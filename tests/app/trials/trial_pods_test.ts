/** Tests of the pods of a trial in a whole Milepost without Katib: their injection and their variables. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { Container, Pod } from "../../../platform/kube/kubernetes.ts";
import { CA_KEY, childNames, LABELS } from "../../../crds/names.ts";
import type { Trial } from "../../../crds/trial.ts";
import { installTrialCrd } from "../../../app/standalone/prerequisites.ts";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { shellRuntime, trainJobThat, withStandalone } from "../../support/standalone.ts";
import { createTrial, createTrialsJob } from "../../support/trials.ts";
import { until } from "../../support/until.ts";
import { prepareTrials } from "./trial_support.ts";

const ISTIO = "sidecar.istio.io/inject";

function trial(name: string, primaryContainerName = "node"): Trial {
  return {
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Trial",
    metadata: { name, namespace: "default", labels: { "katib.kubeflow.org/experiment": "e" } },
    spec: {
      objective: { type: "minimize", objectiveMetricName: "loss" },
      metricsCollector: { collector: { kind: "Push" } },
      primaryContainerName,
    },
  };
}

/** The pod of a trial's TrainJob, as its Job makes it. */
function podOf(job: string, name: string, containers: Container[]): Pod {
  return {
    metadata: {
      name,
      namespace: "default",
      labels: { [LABELS.trainJobName]: job, [LABELS.trial]: job },
    },
    spec: { restartPolicy: "Never", containers },
  };
}

const running = (name: string, command: string): Container => ({
  name,
  image: "none",
  command: ["sh", "-c", command],
});

async function withTrialCrd({ client }: Standalone): Promise<void> {
  await installTrialCrd(client);
  await until("Trials are served", async () => {
    await client.list(KINDS.trial, { namespace: "default" });
    return true;
  });
}

function ended({ client }: Standalone, name: string): Promise<string> {
  return until(`pod ${name} has ended`, async () => {
    const { status } = await client.get(KINDS.pod, { namespace: "default", name });
    const phase = status?.phase ?? "";
    return ["Succeeded", "Failed"].includes(phase) ? phase : undefined;
  }, { timeoutMs: 60_000 });
}

Deno.test("the pods of a trial know its name where they train, and carry its labels", (t) =>
  withStandalone(async (standalone) => {
    const { client } = standalone;
    await withTrialCrd(standalone);
    await client.create(KINDS.trial, trial("t1"));
    // The token and the CA of a trial's pod must be there before it starts.
    await client.create(KINDS.configMap, {
      metadata: { name: childNames.tlsConfig("t1"), namespace: "default" },
      data: { [CA_KEY]: standalone.caBundle() },
    });

    await t.step("where they train", async () => {
      const saysIt = 'test "$KATIB_TRIAL_NAME" = t1 && test -n "$KUBEFLOW_TRAINER_STATUS_URL"';
      const made = await client.create(KINDS.pod, podOf("t1", "node", [running("node", saysIt)]));
      assert.partialDeepStrictEqual(made.metadata, {
        labels: {
          "katib.kubeflow.org/trial": "t1",
          "katib.kubeflow.org/experiment": "e",
          [ISTIO]: "false",
        },
        annotations: { [ISTIO]: "false" },
      });
      assert.equal(await ended(standalone, "node"), "Succeeded");
    });

    await t.step("an initializer's pod has no variable, and is not denied", async () => {
      const saysNothing = 'test -z "$KATIB_TRIAL_NAME" && test -n "$KUBEFLOW_TRAINER_STATUS_URL"';
      const containers = [running("dataset-initializer", saysNothing)];
      const made = await client.create(KINDS.pod, podOf("t1", "initializer", containers));
      assert.equal(made.metadata?.labels?.["katib.kubeflow.org/trial"], "t1");
      assert.equal(await ended(standalone, "initializer"), "Succeeded");
    });

    await t.step("a pod that asks for Istio's sidecar keeps its label", async () => {
      const asking = podOf("t1", "mesh", [running("node", "true")]);
      const labels = { ...asking.metadata?.labels, [ISTIO]: "true" };
      const metadata = { ...asking.metadata, labels };
      const made = await client.create(KINDS.pod, { ...asking, metadata });
      assert.equal(made.metadata?.labels?.[ISTIO], "true");
      assert.equal(made.metadata?.annotations?.[ISTIO], "true");
    });

    await t.step("a Trial that was made a moment ago is not missed", async () => {
      for (let round = 0; round < 5; round++) {
        const name = `fresh-${round}`;
        await client.create(KINDS.trial, trial(name, "main"));
        const made = await client.create(KINDS.pod, podOf(name, name, [running("main", "true")]));
        const env = made.spec?.containers[0]?.env?.find((it) => it.name === "KATIB_TRIAL_NAME");
        assert.equal(
          env?.valueFrom?.fieldRef?.fieldPath,
          "metadata.labels['katib.kubeflow.org/trial']",
        );
      }
    });
  }));

Deno.test("a trial's TrainJob trains with the trial's name, and its pods have the Trial's labels", () =>
  withStandalone(async ({ client }) => {
    await prepareTrials(client);
    const saysIt = shellRuntime("says-it", 'test "$KATIB_TRIAL_NAME" = named');
    await client.create(KINDS.clusterTrainingRuntime, saysIt);
    const labels = { "katib.kubeflow.org/experiment": "e" };
    await createTrialsJob(client, await createTrial(client, "named", "says-it", { labels }));
    const isDone = ({ status }: TrainJob) => ["Complete", "Failed"].includes(status?.state ?? "");
    const job = await trainJobThat(client, "named", "is done", isDone);
    assert.equal(job.status?.state, "Complete");
    const labelSelector = "katib.kubeflow.org/trial=named,katib.kubeflow.org/experiment=e";
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    assert.equal(items.length, 1);
  }));

Deno.test("a pod that names a Trial is created also in a cluster without the kind Trial", () =>
  withStandalone(async ({ client }) => {
    const made = await client.create(KINDS.pod, podOf("t1", "node", [running("node", "true")]));
    const { metadata, spec } = made;
    assert.equal(metadata?.labels?.["katib.kubeflow.org/trial"], undefined);
    assert.ok(spec?.containers[0]?.env?.some((it) => it.name.startsWith("KUBEFLOW_TRAINER")));
  }, { kubelet: false }));
