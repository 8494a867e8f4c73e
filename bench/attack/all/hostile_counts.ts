/** Counts of 2³¹-1 by strangers: reviews of jobs that ask for so many pods, and a JobSet that no webhook sees. */
import { MILEPOST_JOBSET_CONTROLLER } from "../../../crds/jobset_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { v1Job } from "../../../tests/controller/jobs/v1_jobs.ts";
import { replicatedJob, review, runtimeSpec, trainJob } from "../../../tests/webhook/builders.ts";
import { v1WebhookPaths, WEBHOOK_PATHS } from "../../../webhook/webhook_paths.ts";
import type { LoadPlan } from "../../generator/plan.ts";
import { ATTACKERS, urlOf, type Webhook } from "../webhook.ts";

const MOST = 2 ** 31 - 1;
/** A runtime whose policy makes a text with the address of each pod. */
const RUNTIME = "tensorflow";

/** Creates the runtime that the reviews name, and the JobSet. */
export async function createHostileCounts(client: KubeClient, namespace: string): Promise<void> {
  await client.create(KINDS.clusterTrainingRuntime, {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "ClusterTrainingRuntime",
    metadata: { name: RUNTIME },
    spec: runtimeSpec(undefined, { mlPolicy: { tensorflow: {} } }),
  });
  const { template } = replicatedJob("node");
  await client.create(KINDS.jobSet, {
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { namespace, name: "counts" },
    spec: {
      managedBy: MILEPOST_JOBSET_CONTROLLER,
      replicatedJobs: [{ name: "node", replicas: MOST, template }],
    },
  });
}

/** Returns the plans of the reviews: of a TrainJob, and of a TFJob. */
export function hostileCounts(webhook: Webhook, durationMs: number): LoadPlan[] {
  const runtimeRef = { name: RUNTIME, kind: "ClusterTrainingRuntime" };
  const kind = V1_KINDS.TFJob;
  const ofKind = { kind: { group: "kubeflow.org", version: "v1", kind: kind.kind } };
  const bodies = {
    [WEBHOOK_PATHS.validateTrainJobs]: review(
      trainJob({ runtimeRef, trainer: { numNodes: MOST } }),
    ),
    [v1WebhookPaths(kind).validate]: review(v1Job(kind.kind, { Worker: MOST }), ofKind),
  };
  return Object.entries(bodies).map(([path, body]): LoadPlan => ({
    name: `counts at ${path}`,
    targets: [{ url: urlOf(webhook, path) }],
    caPem: webhook.caPem,
    connections: 8,
    rate: 40,
    durationMs,
    timeoutMs: 5_000,
    sources: ATTACKERS,
    body: JSON.stringify(body),
  }));
}
