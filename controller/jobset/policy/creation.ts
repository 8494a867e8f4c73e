/** Creation of the Jobs that are missing, within the bound of pods. Pure. */
import type { FieldProblem } from "../../../crds/field_problem.ts";
import type { WatchedJob } from "../../../crds/watched.ts";
import { podCountProblem } from "../../job_bounds.ts";
import type { Buckets } from "../buckets.ts";
import type { ResolvedReplicatedJob, ResolvedSpec } from "../defaults.ts";
import { jobName, type JobRequest } from "../render.ts";

/** Pods of a Job at a time; one that has none is an object still. */
function podsAtATime({ template: { spec } }: ResolvedReplicatedJob): number {
  const parallelism = spec?.parallelism ?? 1;
  return Math.max(1, Math.min(parallelism, spec?.completions ?? parallelism));
}

/** Returns the problem of a JobSet that asks for too many pods. */
export function podProblem(
  { replicatedJobs }: Pick<ResolvedSpec, "replicatedJobs">,
  maxPods: number,
): FieldProblem | undefined {
  const counts = replicatedJobs.map((job, index) => {
    const path = `spec.replicatedJobs[${index}]`;
    const pods = podsAtATime(job);
    return {
      ...pods > job.replicas
        ? { field: `${path}.template.spec.parallelism`, value: pods }
        : { field: `${path}.replicas`, value: job.replicas },
      pods: job.replicas * pods,
    };
  });
  return podCountProblem(counts, maxPods);
}

/**
 * Returns the Jobs to create, one list for each replicated job; each is rendered when its turn comes, because together
 * they may be large. A name is reused only after its old Job was deleted; BlockingRecreate waits until all old Jobs
 * are.
 */
export function missingJobs(
  input: Pick<JobRequest, "jobSet" | "spec" | "status"> & {
    readonly buckets: Buckets;
    readonly startable: readonly ResolvedReplicatedJob[];
  },
): JobRequest[][] {
  const { jobSet, spec, buckets, status } = input;
  const blocking = spec.failurePolicy?.restartStrategy === "BlockingRecreate";
  if (blocking && buckets.previous.length > 0) return [];
  const taken = new Set(
    Object.values(buckets).flat().map((job: WatchedJob) => job.metadata?.name),
  );
  return input.startable.map((replicatedJob) =>
    Array.from({ length: replicatedJob.replicas }, (_, index) => index)
      .filter((index) => !taken.has(jobName(jobSet.metadata.name ?? "", replicatedJob.name, index)))
      .map((index) => ({ jobSet, spec, replicatedJob, index, status }))
  ).filter((jobs) => jobs.length > 0);
}
