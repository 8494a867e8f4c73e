/** Katib's Trials in a cluster without Katib: the CRD, a Trial and its TrainJob, and pods that push for it. */
import assert from "node:assert/strict";
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { apiVersionOf, type Kind, type KubeMeta } from "../../platform/kube/resource.ts";
import type { CoreEvent } from "../../platform/kube/kubernetes.ts";
import { LABELS, PUSH_AUDIENCE } from "../../crds/names.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../crds/trainjob.ts";
import { trialCrd } from "../../crds/trial_manifest.ts";
import type { Trial } from "../../crds/trial.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isNotFound } from "../../platform/kube/errors.ts";
import type { Standalone } from "../../app/standalone/standalone.ts";
import { push, type PushAnswer, requestToken } from "./standalone.ts";
import { until } from "./until.ts";

/** CustomResourceDefinitions, whatever is in them. */
const CRD: Kind<{ metadata?: KubeMeta }> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
  parse: (value) => Object(value),
};

/** Installs the CRD of Trials, and waits until Trials can be listed. */
export async function installTrials(client: KubeClient): Promise<void> {
  await client.create(CRD, trialCrd());
  await until("Trials are served", async () => {
    try {
      await client.list(KINDS.trial, { namespace: "default" });
      return true;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  });
}

/** Options of a trial of the tests. */
export interface TrialOptions {
  /** Over the spec of a Trial of Push that makes the loss small, without rules. */
  readonly spec?: Record<string, unknown>;
  /** Of its TrainJob, besides the runtime. */
  readonly job?: Partial<TrainJobSpec>;
  readonly annotations?: Record<string, string>;
  readonly labels?: Record<string, string>;
}

/** A rule of early stopping: loss above a value at a report. */
export function lossAbove(value: string, startStep = 0): Record<string, unknown> {
  return { name: "loss", value, comparison: "greater", startStep };
}

/** Makes a Trial as Katib does, in the namespace default. */
export function createTrial(
  client: KubeClient,
  name: string,
  runtime: string,
  { spec, job, annotations, labels }: TrialOptions = {},
): Promise<Trial> {
  return client.create(
    KINDS.trial,
    KINDS.trial.parse({
      apiVersion: KATIB.apiVersion,
      kind: KATIB.trialKind,
      metadata: { name, namespace: "default", annotations, labels },
      spec: {
        objective: {
          type: "minimize",
          objectiveMetricName: "loss",
          metricStrategies: [{ name: "loss", value: "min" }],
        },
        runSpec: {
          apiVersion: apiVersionOf(KINDS.trainJob),
          kind: "TrainJob",
          metadata: { name, namespace: "default" },
          spec: { runtimeRef: { name: runtime }, ...job },
        },
        metricsCollector: { collector: { kind: "Push" } },
        primaryPodLabels: {
          "batch.kubernetes.io/job-completion-index": "0",
          "jobset.sigs.k8s.io/replicatedjob-name": "node",
        },
        primaryContainerName: "node",
        successCondition: 'status.conditions.#(type=="Complete")#|#(status=="True")#',
        failureCondition: 'status.conditions.#(type=="Failed")#|#(status=="True")#',
        retainRun: true,
        ...spec,
      },
    }),
  );
}

/** Makes the TrainJob of a Trial as Katib does; `metadata` over what it would say. */
export function createTrialsJob(
  client: KubeClient,
  { metadata: { name = "", uid = "" }, spec }: Trial,
  metadata: KubeMeta = {},
): Promise<TrainJob> {
  const owner = { apiVersion: KATIB.apiVersion, kind: KATIB.trialKind, name, uid };
  return client.create(
    KINDS.trainJob,
    KINDS.trainJob.parse({
      ...spec?.runSpec,
      metadata: {
        name,
        namespace: "default",
        ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
        ...metadata,
      },
    }),
  );
}

/** Reads the Trial until it is as wanted. */
export function trialThat(
  client: KubeClient,
  name: string,
  what: string,
  isSo: (trial: Trial) => boolean,
): Promise<Trial> {
  return until(`Trial ${name} ${what}`, async () => {
    const trial = await client.get(KINDS.trial, { namespace: "default", name });
    return isSo(trial) ? trial : undefined;
  }, { timeoutMs: 60_000 });
}

/** Waits for events of that reason about an object, and returns their messages. */
export function eventsAbout(
  client: KubeClient,
  about: { readonly kind: string; readonly name: string },
  reason: string,
): Promise<string[]> {
  return until(`an event ${reason} about ${about.kind} ${about.name}`, async () => {
    const { items } = await client.list(KINDS.event, { namespace: "default" });
    const isMeant = (it: CoreEvent) =>
      it.reason === reason && it.involvedObject.kind === about.kind &&
      it.involvedObject.name === about.name;
    const messages = items.filter(isMeant).map((it) => it.message ?? "");
    return messages.length > 0 ? messages : undefined;
  }, { timeoutMs: 60_000 });
}

/** A pod of a job that can push. */
export interface PushingPod {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  push(
    metrics: Record<string, string>,
    more?: { readonly container?: string },
  ): Promise<PushAnswer>;
}

let lastMs = 0;

/** Now, and later at each call: a pod's times increase. */
function nextTime(): string {
  lastMs = Math.max(Date.now(), lastMs + 1);
  return new Date(lastMs).toISOString();
}

/** The pods of a job once there are so many, by their names; their tokens are asked for. */
export async function pushingPods(
  standalone: Standalone,
  job: string,
  count: number,
): Promise<PushingPod[]> {
  const { client } = standalone;
  const pods = await until(`${count} pods of ${job}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${job}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items.length === count ? items : undefined;
  }, { timeoutMs: 60_000 });
  const sorted = pods.toSorted((a, b) =>
    (a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1
  );
  return await Promise.all(sorted.map(async ({ metadata }): Promise<PushingPod> => {
    const { name = "", uid = "", labels = {} } = metadata ?? {};
    const account = { namespace: "default", name: "default" };
    const pod = { name, uid };
    const token = await requestToken(client, account, { audience: PUSH_AUDIENCE, pod });
    return {
      name,
      labels,
      push: (metrics, more) =>
        push(standalone, { name: job }, token, {
          ...more,
          trainerStatus: {
            metrics: Object.entries(metrics).map(([key, value]) => ({ name: key, value })),
            lastUpdatedTime: nextTime(),
          },
        }),
    };
  }));
}

/** Pushes, and expects a 200. Returns the other content of the answer. */
export async function accepted(
  answer: Promise<PushAnswer>,
): Promise<
  { control?: { stop?: boolean; reason?: string; message?: string }; warnings?: string[] }
> {
  const { status, body } = await answer;
  assert.equal(status, 200, JSON.stringify(body));
  return Object(body);
}

/** A runtime whose first step is an initializer, in pods without the container that trains. */
export function withInitializer(runtime: ClusterTrainingRuntime): ClusterTrainingRuntime {
  const copy = structuredClone(runtime);
  copy.spec?.template?.spec?.replicatedJobs?.unshift({
    name: "dataset-initializer",
    template: {
      metadata: { labels: { [LABELS.ancestorStep]: "dataset-initializer" } },
      spec: {
        template: {
          spec: {
            restartPolicy: "Never",
            containers: [{ name: "dataset-initializer", image: "none", command: ["true"] }],
          },
        },
      },
    },
  });
  return copy;
}
