/** Limit of the restarts of a JobSet's pods: after how many the JobSet fails. Pure. */
import type { JobSet, ReplicatedJob } from "../../crds/jobset.ts";

/** Of a Job that names none (Kubernetes batch/v1). */
const DEFAULT_BACKOFF_LIMIT = 6;
/** A limit from here on is none: former jobs have the largest number in place of no limit. */
const UNLIMITED = 1_000_000;

/** The most restarts that one run of a Job has. Policies decide by pod, so nobody knows with one. */
function ofJob({ template: { spec } }: ReplicatedJob): number {
  const { backoffLimit = DEFAULT_BACKOFF_LIMIT, backoffLimitPerIndex, podFailurePolicy } = spec ??
    {};
  if (backoffLimitPerIndex !== undefined || podFailurePolicy !== undefined) return Infinity;
  return Math.max(1, backoffLimit);
}

/** Returns how often a pod is started again at the most before the JobSet fails; undefined if that is not known, or nothing ends it. */
export function restartLimitOf({ spec }: JobSet): number | undefined {
  const { maxRestarts = 0, rules = [] } = spec?.failurePolicy ?? {};
  if (rules.length > 0) return undefined;
  const most = (spec?.replicatedJobs ?? []).reduce((most, job) => Math.max(most, ofJob(job)), 0);
  const limit = most * (maxRestarts + 1) + maxRestarts;
  return limit > 0 && limit < UNLIMITED ? limit : undefined;
}
