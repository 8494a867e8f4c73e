/** Whether a TrainJob's name leaves room for the names of its children (contract trainjob.md, G13). Pure. */
import type { ReplicatedJob } from "../crds/jobset.ts";
import { DNS_LABEL_MAX, STEPS } from "../crds/names.ts";
import type { TrainingRuntimeSpec } from "../crds/training_runtime.ts";
import type { TrainJob } from "../crds/trainjob.ts";
import { type FieldProblem, invalid } from "../crds/field_problem.ts";
import { replicatedJobsOf, stepOf } from "./runtime_template.ts";

/** A dash and five random characters that the Job controller puts after a pod's name. */
const POD_SUFFIX = "-xxxxx";

/** Pods of one Job (contract trainjob.md 3.3). */
function podCount(job: ReplicatedJob, trainJob: TrainJob, runtime: TrainingRuntimeSpec): number {
  const parallelism = job.template.spec?.parallelism ?? 1;
  if (stepOf(job) !== STEPS.trainer) return parallelism;
  const ofPolicy = runtime.mlPolicy === undefined ? parallelism : runtime.mlPolicy.numNodes ?? 1;
  return trainJob.spec.trainer?.numNodes ?? ofPolicy;
}

/** The longest pod name of a replicated job, random part included. */
function longestPodName(
  job: ReplicatedJob,
  trainJob: TrainJob,
  runtime: TrainingRuntimeSpec,
): string {
  const replicas = stepOf(job) === undefined ? job.replicas ?? 1 : 1;
  const lastReplica = Math.max(0, replicas - 1);
  const lastPod = Math.max(0, podCount(job, trainJob, runtime) - 1);
  return `${trainJob.metadata.name ?? ""}-${job.name}-${lastReplica}-${lastPod}${POD_SUFFIX}`;
}

/** A problem where a pod's name would not be a DNS label; at most one, for the longest name. */
export function validateChildNames(
  trainJob: TrainJob,
  runtime: TrainingRuntimeSpec | undefined,
): FieldProblem[] {
  if (runtime === undefined) return [];
  const names = replicatedJobsOf(runtime).map((job) => longestPodName(job, trainJob, runtime));
  const longest = names.reduce((one, other) => other.length > one.length ? other : one, "");
  const excess = longest.length - DNS_LABEL_MAX;
  if (excess <= 0) return [];
  return [
    invalid(
      "metadata.name",
      trainJob.metadata.name,
      `yields an invalid child: pod name "${longest}" has ${longest.length} characters, at most ` +
        `${DNS_LABEL_MAX} are allowed; shorten the TrainJob's name by ${excess}`,
    ),
  ];
}
