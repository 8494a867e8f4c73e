/** The Jobs that are missing (contract jobset.md 3.3): pure. */
import type { JobSet } from "../../../crds/jobset.ts";
import type { Job } from "../../../crds/kubernetes.ts";
import type { WatchedJob } from "../../../crds/watched.ts";
import type { Buckets } from "../buckets.ts";
import type { ResolvedReplicatedJob, ResolvedSpec } from "../defaults.ts";
import { jobName, renderJob } from "../render.ts";

/** What the missing Jobs are computed from. */
export interface CreationInput {
  readonly jobSet: JobSet;
  readonly spec: ResolvedSpec;
  readonly buckets: Buckets;
  readonly startable: readonly ResolvedReplicatedJob[];
  readonly restarts: number;
}

/**
 * The Jobs to create, one list a replicated job. A name is used again only when its old Job is
 * gone; BlockingRecreate waits until all old Jobs are.
 */
export function missingJobs(input: CreationInput): Job[][] {
  const { jobSet, spec, buckets, restarts } = input;
  const blocking = spec.failurePolicy?.restartStrategy === "BlockingRecreate";
  if (blocking && buckets.previous.length > 0) return [];
  const taken = new Set(
    Object.values(buckets).flat().map((job: WatchedJob) => job.metadata?.name),
  );
  return input.startable.map((replicatedJob) =>
    Array.from({ length: replicatedJob.replicas }, (_, index) => index)
      .filter((index) => !taken.has(jobName(jobSet.metadata.name ?? "", replicatedJob.name, index)))
      .map((index) => renderJob({ jobSet, spec, replicatedJob, index, restarts }))
  ).filter((jobs) => jobs.length > 0);
}
