/**
 * Nodes without kubelets: objects to which the scheduler binds pods, and a loop that sets the status of
 * the pods, as the test says, and removes those that are deleted.
 */
import type { Node, Pod } from "../../../platform/kube/kubernetes.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { KubeError } from "../../../platform/kube/errors.ts";

const EVERY_MS = 100;

/** The end of a pod. */
export type Fate = "Succeeded" | "Failed";

/** Creates a node that is ready. */
export async function createNode(
  client: KubeClient,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const node: Node = { metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } } };
  await client.create(KINDS.node, node);
  const capacity = { cpu: "8", memory: "32Gi", pods: "110" };
  const ready = { type: "Ready", status: "True", reason: "Played", message: "by the test" };
  const status = { capacity, allocatable: capacity, conditions: [ready] };
  const patch = { type: "merge", body: { status } } as const;
  await client.patch(KINDS.node, { name }, patch, { subresource: "status" });
  // A new node has the taint of one that is not ready.
  await client.patch(KINDS.node, { name }, { type: "merge", body: { spec: { taints: null } } });
}

/** A player of pods. */
export interface Player {
  /** Ends the pods of a replicated job of a TrainJob, or of a type of a v1 job, those that run and those to come. */
  end(trainJob: string, replicatedJob: string, fate?: Fate): void;
  /** Lets the pods to come of a TrainJob run. */
  keep(trainJob: string): void;
  stop(): Promise<void>;
}

function statusOf(fate: Fate | undefined, now: string) {
  const isReady = fate === undefined;
  const ready = { type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: now };
  return { phase: fate ?? "Running", conditions: [ready] };
}

/** Starts to play the pods of all TrainJobs and v1 jobs that the scheduler has bound. */
export function playPods(client: KubeClient): Player {
  const fates = new Map<string, Fate>();
  const ending = new AbortController();

  async function play(pod: Pod): Promise<void> {
    const { name = "", namespace, labels = {}, deletionTimestamp } = pod.metadata ?? {};
    const key = { namespace, name };
    if (deletionTimestamp !== undefined) {
      return await client.delete(KINDS.pod, key, { gracePeriodSeconds: 0 });
    }
    const of = labels[LABELS.trainJobName] ?? labels[V1_LABELS.jobName];
    const part = labels[JOBSET_KEYS.replicatedJobName] ?? labels[V1_LABELS.replicaType];
    const job = `${of}/${part}`;
    const fate = fates.get(job);
    const { phase = "Pending" } = pod.status ?? {};
    const isDone = phase === "Succeeded" || phase === "Failed" || phase === (fate ?? "Running");
    if (!pod.spec?.nodeName || isDone) return;
    const body = { status: statusOf(fate, new Date().toISOString()) };
    await client.patch(KINDS.pod, key, { type: "merge", body }, { subresource: "status" });
  }

  async function playAll(): Promise<void> {
    const lists = [LABELS.trainJobName, V1_LABELS.jobName].map((labelSelector) =>
      client.list(KINDS.pod, { namespace: "default", labelSelector })
    );
    for (const pod of (await Promise.all(lists)).flatMap(({ items }) => items)) {
      try {
        await play(pod);
      } catch (error) {
        // The pod has changed or is gone; what is still to do is done in the next round.
        if (!(error instanceof KubeError)) throw error;
      }
    }
  }

  async function loop(): Promise<void> {
    while (!ending.signal.aborted) {
      await playAll();
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }

  const running = loop();
  return {
    end: (trainJob, replicatedJob, fate = "Succeeded") =>
      void fates.set(`${trainJob}/${replicatedJob}`, fate),
    keep(trainJob) {
      for (const job of [...fates.keys()]) {
        if (job.startsWith(`${trainJob}/`)) fates.delete(job);
      }
    },
    async stop() {
      ending.abort();
      await running;
    },
  };
}
