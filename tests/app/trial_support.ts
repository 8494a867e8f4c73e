/** Trials in a whole Milepost: the CRD, a Trial with its TrainJob, and its pod's token. */
import { installTrialCrd } from "../../app/standalone/bootstrap.ts";
import type { Standalone } from "../../app/standalone/standalone.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod } from "../../crds/kubernetes.ts";
import { LABELS, PUSH_AUDIENCE } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Trial, TrialSpec } from "../../crds/trial.ts";
import type { KubeClient } from "../../kube/client.ts";
import { push, requestToken, shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";

/** What pods do while tests push for them: until they are told to end. */
const IDLE = "trap 'exit 0' TERM; while true; do sleep 0.1; done";

/** Installs the Trial CRD and a runtime whose pods wait. */
export async function prepareTrials(client: KubeClient): Promise<void> {
  await installTrialCrd(client);
  await until("Trials are served", async () => {
    await client.list(KINDS.trial, { namespace: "default" });
    return true;
  });
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", IDLE));
}

/** A Trial that Katib would have made: minimize the loss, collector Push. */
export function trialOf(name: string, spec: Partial<TrialSpec> = {}, namespace = "default"): Trial {
  return KINDS.trial.parse({
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Trial",
    metadata: { name, namespace },
    spec: {
      objective: { type: "minimize", objectiveMetricName: "loss" },
      metricsCollector: { collector: { kind: "Push" } },
      runSpec: { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob" },
      primaryContainerName: "node",
      ...spec,
    },
  });
}

/** Creates a Trial and its TrainJob, as Katib's controller does. */
export async function createTrial(
  client: KubeClient,
  trial: Trial,
  job: { runtime?: string; annotations?: Record<string, string> } = {},
): Promise<{ trial: Trial; trainJob: TrainJob }> {
  const made = await client.create(KINDS.trial, trial);
  const { name = "", namespace = "default", uid = "" } = made.metadata;
  const { metadata, ...rest } = trainJob(name, job.runtime ?? "idle", { namespace });
  const created = await client.create(KINDS.trainJob, {
    ...rest,
    metadata: {
      ...metadata,
      ...(job.annotations && { annotations: job.annotations }),
      ownerReferences: [{
        apiVersion: "kubeflow.org/v1beta1",
        kind: "Trial",
        name,
        uid,
        controller: true,
        blockOwnerDeletion: true,
      }],
    },
  });
  return { trial: made, trainJob: created };
}

/** The job's one pod, once it runs (where pods run), and a token of it. */
export async function podToken(
  client: KubeClient,
  name: string,
  { namespace = "default", runs = true } = {},
): Promise<{ pod: Pod; token: string }> {
  const pod = await until(`the pod of ${name} runs`, async () => {
    const pods = await client.list(KINDS.pod, {
      namespace,
      labelSelector: `${LABELS.trainJobName}=${name}`,
    });
    return pods.items.find(({ status }) => !runs || status?.phase === "Running");
  });
  const { name: podName = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace, name: "default" };
  const bound = { audience: PUSH_AUDIENCE, pod: { name: podName, uid } };
  return { pod, token: await requestToken(client, account, bound) };
}

/** A body with metrics, taken at this moment. */
export function metricsBody(metrics: Record<string, string>, time = new Date().toISOString()) {
  return {
    trainerStatus: {
      metrics: Object.entries(metrics).map(([name, value]) => ({ name, value })),
      lastUpdatedTime: time,
    },
  };
}

/** Pushes the loss of a job. */
export function pushLoss(
  standalone: Standalone,
  name: string,
  token: string,
  loss: string,
  time?: string,
) {
  return push(standalone, { name }, token, metricsBody({ loss }, time));
}

/** Waits until a Trial is as wanted. */
export function trialThat(
  client: KubeClient,
  name: string,
  what: string,
  isSo: (trial: Trial) => boolean,
): Promise<Trial> {
  return until(`Trial ${name} ${what}`, async () => {
    const trial = await client.get(KINDS.trial, { namespace: "default", name });
    return isSo(trial) ? trial : undefined;
  });
}

/** Whether a condition of that type is true. */
export function has(
  { status }: { status?: { conditions?: readonly { type: string; status: string }[] | undefined } },
  type: string,
): boolean {
  return status?.conditions?.some((it) => it.type === type && it.status === "True") ?? false;
}
