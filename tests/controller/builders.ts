/** Builders of small TrainJobs, runtimes and JobSets. */
import type { Rendered } from "../../controller/runtime/render.ts";
import { problemsSummary } from "../../crds/field_problem.ts";
import type { JobSetSpec, ReplicatedJob } from "../../crds/jobset.ts";
import { LABELS, TRAINER_API_VERSION } from "../../crds/names.ts";
import { JOBSET_API_VERSION } from "../../crds/jobset_names.ts";
import type { ClusterTrainingRuntime, TrainingRuntimeSpec } from "../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../crds/trainjob.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { Container, ObjectMeta } from "../../platform/kube/kubernetes.ts";

/** A TrainJob `ml/tj` of the cluster runtime `rt`. */
export function trainJob(spec: Partial<TrainJobSpec> = {}, metadata: ObjectMeta = {}): TrainJob {
  return {
    apiVersion: TRAINER_API_VERSION,
    kind: "TrainJob",
    metadata: { name: "tj", namespace: "ml", uid: "uid-of-tj", ...metadata },
    spec: { runtimeRef: { name: "rt" }, ...spec },
  };
}

/** A replicated job whose step label is `step` and whose one container is changed by `container`. */
export function replicatedJob(
  name: string,
  step: string | undefined,
  container: Partial<Container> = {},
): ReplicatedJob {
  return {
    name,
    template: {
      ...(step && { metadata: { labels: { [LABELS.ancestorStep]: step } } }),
      spec: {
        template: {
          spec: { containers: [{ name: step === "trainer" ? "node" : name, ...container }] },
        },
      },
    },
  };
}

/** The trainer of a runtime, with an image. */
export function nodeJob(container: Partial<Container> = {}): ReplicatedJob {
  return replicatedJob("node", "trainer", { image: "acme/base:1", ...container });
}

/** A cluster runtime `rt` with one trainer job and the policy plain. */
export function runtime(
  spec: Partial<TrainingRuntimeSpec> = {},
  jobSet: JobSetSpec = { replicatedJobs: [nodeJob()] },
): ClusterTrainingRuntime {
  return {
    apiVersion: TRAINER_API_VERSION,
    kind: "ClusterTrainingRuntime",
    metadata: { name: "rt", uid: "uid-of-rt", resourceVersion: "7" },
    spec: { mlPolicy: { numNodes: 1 }, template: { spec: jobSet }, ...spec },
  };
}

/** A cluster runtime `rt` with the policy torch and these jobs. */
export function torchRuntime(jobs: ReplicatedJob[] = [nodeJob()]): ClusterTrainingRuntime {
  return runtime({ mlPolicy: { numNodes: 1, torch: {} } }, { replicatedJobs: jobs });
}

/** A JobSet `ml/tj` that nobody owns. */
export function jobSet(spec: JobSetSpec = {}, metadata: ObjectMeta = {}): JobSet {
  return {
    apiVersion: JOBSET_API_VERSION,
    kind: "JobSet",
    metadata: { name: "tj", namespace: "ml", ...metadata },
    spec,
  };
}

/** The JobSet of a rendering, or its problems as `field: message`. */
export function jobSetOrProblems(rendered: Rendered): JobSet | string {
  return "jobSet" in rendered
    ? rendered.jobSet
    : problemsSummary([...rendered.unsupported, ...rendered.problems]);
}

/** The JobSet of a rendering. Throws its problems. */
export function jobSetOf(rendered: Rendered): JobSet {
  const result = jobSetOrProblems(rendered);
  if (typeof result === "string") throw new Error(result);
  return result;
}
