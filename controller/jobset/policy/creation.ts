/** Creation of the Jobs that are missing. Pure. */
import type { JobSet, JobSetStatus } from "../../../crds/jobset.ts";
import type { Job } from "../../../crds/kubernetes.ts";
import type { WatchedJob } from "../../../crds/watched.ts";
import type { Buckets } from "../buckets.ts";
import type { ResolvedReplicatedJob, ResolvedSpec } from "../defaults.ts";
import { jobName, renderJob } from "../render.ts";

/** Input of {@link missingJobs}. */
export interface CreationInput {
  readonly jobSet: JobSet;
  readonly spec: ResolvedSpec;
  readonly buckets: Buckets;
  readonly startable: readonly ResolvedReplicatedJob[];
  /** The JobSet's status of this pass, which counts the restarts. */
  readonly status: JobSetStatus;
}

/**
 * Returns the Jobs to create, one list for each replicated job. A name is reused only after its old Job
 * was deleted; BlockingRecreate waits until all old Jobs are.
 */
export function missingJobs(input: CreationInput): Job[][] {
  const { jobSet, spec, buckets, status } = input;
  const blocking = spec.failurePolicy?.restartStrategy === "BlockingRecreate";
  if (blocking && buckets.previous.length > 0) return [];
  const taken = new Set(
    Object.values(buckets).flat().map((job: WatchedJob) => job.metadata?.name),
  );
  return input.startable.map((replicatedJob) =>
    Array.from({ length: replicatedJob.replicas }, (_, index) => index)
      .filter((index) => !taken.has(jobName(jobSet.metadata.name ?? "", replicatedJob.name, index)))
      .map((index) => renderJob({ jobSet, spec, replicatedJob, index, status }))
  ).filter((jobs) => jobs.length > 0);
}
