/** Trials in a whole Milepost, and pushes of their pods. */
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import type { Trial } from "../../../crds/trial.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { push, requestToken, shellRuntime } from "../../support/standalone.ts";
import { createTrial, createTrialsJob, installTrials } from "../../support/trials.ts";
import { until } from "../../support/until.ts";

/** Program of pods for which tests push: it runs until SIGTERM. */
const IDLE = "trap 'exit 0' TERM; while true; do sleep 0.1; done";

/** Installs the Trial CRD and a runtime whose pods wait. */
export async function prepareTrials(client: KubeClient): Promise<void> {
  await installTrials(client);
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", IDLE));
}

/** Creates a Trial with rules, and its TrainJob, as Katib's controller does. */
export async function startTrial(
  client: KubeClient,
  name: string,
  ...earlyStoppingRules: readonly Record<string, unknown>[]
): Promise<Trial> {
  const trial = await createTrial(client, name, "idle", { spec: { earlyStoppingRules } });
  await createTrialsJob(client, trial);
  return trial;
}

/** The job's one pod, once it runs, and a token of it. Where no pods run it is marked as started a minute ago. */
export async function podToken(
  client: KubeClient,
  name: string,
  { runs = true } = {},
): Promise<{ pod: Pod; token: string }> {
  const namespace = "default";
  const pod = await until(`the pod of ${name} runs`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items } = await client.list(KINDS.pod, { namespace, labelSelector });
    return items.find(({ status }) => !runs || status?.phase === "Running");
  });
  const { name: podName = "", uid = "" } = pod.metadata ?? {};
  if (!runs) {
    const body = { status: { startTime: new Date(Date.now() - 60_000).toISOString() } };
    const patch = { type: "merge", body } as const;
    await client.patch(KINDS.pod, { namespace, name: podName }, patch, { subresource: "status" });
  }
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
export function pushLoss(standalone: Standalone, name: string, token: string, loss: string) {
  return push(standalone, { name }, token, metricsBody({ loss }));
}

/** Whether a condition of that type is true. */
export function has(
  { status }: {
    status?: { conditions?: readonly { type: string; status: string }[] | undefined } | undefined;
  },
  type: string,
): boolean {
  return status?.conditions?.some((it) => it.type === type && it.status === "True") ?? false;
}
