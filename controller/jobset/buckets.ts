/** Classification of the Jobs of a JobSet by their state, and counters of them. Pure. */
import type { JobSetStatus, ReplicatedJobStatus } from "../../crds/jobset.ts";
import { JOB_CONDITIONS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import type { WatchedJob } from "../../crds/watched.ts";
import { trueCondition } from "../../platform/kube/conditions.ts";
import type { ResolvedSpec } from "./defaults.ts";
import { indexOf, jobRestarts, keptRestarts } from "./job_restarts.ts";

/** The Jobs of a JobSet. The `previous` ones belong to an earlier attempt and are deleted. */
export type Buckets = ReturnType<typeof bucketJobs>;

/** Returns the number in a label of the Job. Throws if the label is missing or not a number. */
function numberIn(job: WatchedJob, key: string): number {
  const label = job.metadata?.labels?.[key];
  if (label === undefined || !/^\d{1,10}$/.test(label)) {
    throw new Error(
      `Job ${job.metadata?.name}: label ${key} must be a number, is ${label}; delete the Job, and it is created again`,
    );
  }
  return Number(label);
}

/** Reports whether the Job belongs to an earlier attempt, of the JobSet or of this one Job. */
function isPrevious(
  job: WatchedJob,
  { restarts = 0, replicatedJobsStatus }: JobSetStatus,
): boolean {
  if (numberIn(job, JOBSET_KEYS.restartAttempt) < restarts) return true;
  if (job.metadata?.labels?.[JOBSET_KEYS.jobRestartAttempt] === undefined) return false;
  const own = jobRestarts(replicatedJobsStatus, replicatedJobOf(job))[indexOf(job)] ?? 0;
  return numberIn(job, JOBSET_KEYS.jobRestartAttempt) < own;
}

/** Returns the type of the condition that ended the Job, if it has ended. */
export function finishOf(job: WatchedJob): string | undefined {
  const { complete, failed } = JOB_CONDITIONS;
  return trueCondition(job.status?.conditions, complete, failed)?.type;
}

/** Returns the Jobs by state; `status` is the JobSet's. */
export function bucketJobs(jobs: readonly WatchedJob[], status: JobSetStatus = {}) {
  const buckets = {
    previous: new Array<WatchedJob>(),
    active: new Array<WatchedJob>(),
    succeeded: new Array<WatchedJob>(),
    failed: new Array<WatchedJob>(),
  };
  for (const job of jobs) {
    const finish = finishOf(job);
    if (isPrevious(job, status)) buckets.previous.push(job);
    else if (finish === JOB_CONDITIONS.complete) buckets.succeeded.push(job);
    else if (finish === JOB_CONDITIONS.failed) buckets.failed.push(job);
    else buckets.active.push(job);
  }
  return buckets;
}

/** Returns the replicated job that a Job belongs to, by its label. */
export function replicatedJobOf(job: WatchedJob): string | undefined {
  return job.metadata?.labels?.[JOBSET_KEYS.replicatedJobName];
}

/** Reports whether as many pods are ready or have succeeded as the Job runs in parallel. */
export function isJobReady(job: WatchedJob): boolean {
  const parallelism = job.spec?.parallelism ?? 1;
  const wanted = Math.min(parallelism, job.spec?.completions ?? parallelism);
  return (job.status?.succeeded ?? 0) + (job.status?.ready ?? 0) >= wanted;
}

/**
 * Returns the counters of every replicated job of the spec, by name from Z to A, with the restarts of
 * single Jobs of the counters `before`.
 */
export function countJobs(
  spec: ResolvedSpec,
  buckets: Buckets,
  before?: readonly ReplicatedJobStatus[],
): ReplicatedJobStatus[] {
  // Each Job is visited once: there may be as many replicated jobs as Jobs.
  const active = Map.groupBy(buckets.active, replicatedJobOf);
  const succeeded = Map.groupBy(buckets.succeeded, replicatedJobOf);
  const failed = Map.groupBy(buckets.failed, replicatedJobOf);
  const counters = spec.replicatedJobs.map(({ name }): ReplicatedJobStatus => {
    const count = (holds: (job: WatchedJob) => boolean) =>
      active.get(name)?.filter(holds).length ?? 0;
    return {
      name,
      ready: count(isJobReady),
      succeeded: succeeded.get(name)?.length ?? 0,
      failed: failed.get(name)?.length ?? 0,
      active: count((job) => (job.status?.active ?? 0) > 0),
      suspended: count((job) => job.spec?.suspend === true),
      ...(spec.restartsSingleJobs && keptRestarts(before, name)),
    };
  });
  return counters.sort((a, b) => a.name < b.name ? 1 : a.name > b.name ? -1 : 0);
}
