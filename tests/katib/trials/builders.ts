/** Builders of small Trials and their TrainJobs. */
import { KATIB } from "../../../crds/katib_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { TRAINER_API_VERSION } from "../../../crds/names.ts";
import { controllerReference } from "../../../platform/kube/owner_references.ts";
import type { JobSet } from "../../../crds/jobset.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { Trial } from "../../../crds/trial.ts";
import type { KubeMeta } from "../../../platform/kube/resource.ts";

/** The time of the tests. */
export const NOW = Date.parse("2026-01-01T00:00:00Z");

/** A Trial `ml/t1` as Katib makes one over a TrainJob: Push, loss to be small, two rules. */
export function trial(spec: Record<string, unknown> = {}, metadata: KubeMeta = {}): Trial {
  const name = metadata.name ?? "t1";
  return KINDS.trial.parse({
    apiVersion: KATIB.apiVersion,
    kind: KATIB.trialKind,
    metadata: {
      name,
      namespace: "ml",
      uid: `uid-of-${name}`,
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
    },
    spec: {
      objective: {
        type: "minimize",
        objectiveMetricName: "loss",
        additionalMetricNames: ["accuracy"],
        metricStrategies: [{ name: "loss", value: "min" }, { name: "accuracy", value: "min" }],
      },
      earlyStoppingRules: [
        { name: "loss", value: "0.5", comparison: "greater", startStep: 3 },
      ],
      runSpec: {
        apiVersion: TRAINER_API_VERSION,
        kind: "TrainJob",
        metadata: { name, namespace: metadata.namespace ?? "ml" },
        spec: { runtimeRef: { name: "rt" } },
      },
      metricsCollector: { collector: { kind: "Push" } },
      primaryPodLabels: {
        "batch.kubernetes.io/job-completion-index": "0",
        "jobset.sigs.k8s.io/replicatedjob-name": "node",
      },
      primaryContainerName: "node",
      successCondition: 'status.conditions.#(type=="Complete")#|#(status=="True")#',
      failureCondition: 'status.conditions.#(type=="Failed")#|#(status=="True")#',
      retainRun: false,
      ...spec,
    },
    status: {
      startTime: "2026-01-01T00:00:00Z",
      completionTime: null,
      conditions: ["Created", "Running"].map((type) => ({
        type,
        status: "True",
        reason: `Trial${type}`,
        message: `Trial is ${type.toLowerCase()}`,
        lastUpdateTime: "2026-01-01T00:00:00Z",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      })),
    },
  });
}

/** The TrainJob that Katib makes of {@link trial}, or a TrainJob without a Trial. */
export function jobOf(of: Trial | undefined, metadata: KubeMeta = {}): TrainJob {
  const name = metadata.name ?? of?.metadata.name ?? "tj";
  const owner = of && {
    apiVersion: KATIB.apiVersion,
    kind: KATIB.trialKind,
    name: of.metadata.name,
    uid: of.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return KINDS.trainJob.parse({
    apiVersion: TRAINER_API_VERSION,
    kind: "TrainJob",
    metadata: {
      name,
      namespace: "ml",
      uid: `uid-of-job-${name}`,
      ...(owner && { ownerReferences: [owner] }),
      ...metadata,
    },
    spec: { runtimeRef: { name: "rt" } },
  });
}

/** The JobSet of a TrainJob, which runs. */
export function jobSetOf({ metadata: { name = "", uid = "" } }: TrainJob): JobSet {
  const owner = { apiVersion: TRAINER_API_VERSION, kind: "TrainJob", name, uid };
  return KINDS.jobSet.parse({
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: {
      name,
      namespace: "ml",
      uid: `uid-of-jobset-${name}`,
      ownerReferences: [controllerReference(owner)],
    },
    spec: { suspend: false, replicatedJobs: [] },
  });
}
