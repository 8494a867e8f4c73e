/** Rendering of a TrainJob with one policy, for the tests of policies. */
import { renderJobSet } from "../../../../controller/runtime/render.ts";
import type { Container, PodSpec } from "../../../../platform/kube/kubernetes.ts";
import type { JobSet } from "../../../../crds/jobset.ts";
import type { ClusterTrainingRuntime, MlPolicy } from "../../../../crds/training_runtime.ts";
import type { ReplicatedJob } from "../../../../crds/jobset.ts";
import type { TrainJob } from "../../../../crds/trainjob.ts";
import { jobSetOf, jobSetOrProblems, nodeJob, runtime, trainJob } from "../../builders.ts";
import { deepFreeze } from "../../memory_view.ts";

/** A runtime of one policy, with these jobs. */
export function runtimeOf(
  mlPolicy: MlPolicy,
  jobs: ReplicatedJob[] = [nodeJob()],
): ClusterTrainingRuntime {
  return runtime({ mlPolicy }, { replicatedJobs: jobs });
}

/** Renders frozen inputs. */
export function render(from: ClusterTrainingRuntime, job: TrainJob = trainJob()) {
  return renderJobSet(deepFreeze({ trainJob: job, runtime: from, executor: "external" } as const));
}

/** The JobSet. Throws the problems. */
export function rendered(from: ClusterTrainingRuntime, job?: TrainJob): JobSet {
  return jobSetOf(render(from, job));
}

/** The problems as `field: message`; "none" if there are none. */
export function problemsOf(from: ClusterTrainingRuntime, job?: TrainJob): string {
  const result = jobSetOrProblems(render(from, job));
  return typeof result === "string" ? result : "none";
}

/** The pod spec of a replicated job. */
export function podOf(jobSet: JobSet, name = "node"): PodSpec | undefined {
  const job = jobSet.spec?.replicatedJobs?.find((one) => one.name === name);
  return job?.template.spec?.template.spec;
}

/** A container of a replicated job; by default the trainer's. */
export function containerOf(jobSet: JobSet, job = "node", name = "node"): Container | undefined {
  return podOf(jobSet, job)?.containers.find((one) => one.name === name);
}

/** The variables of a container in order, references as paths. */
export function envOf(container: Container | undefined): [string, string][] {
  return (container?.env ?? []).map(({ name, value, valueFrom }) => [
    name,
    value ?? valueFrom?.fieldRef?.fieldPath ?? "?",
  ]);
}

/** Path of the completion index. */
export const INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']";
