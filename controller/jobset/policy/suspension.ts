/** Suspension and resumption of the Jobs of a JobSet. Pure. */
import type { JobSet } from "../../../crds/jobset.ts";
import { FOREGROUND_FINALIZER } from "../../../crds/names.ts";
import type { WatchedJob } from "../../../crds/watched.ts";
import { finishOf, replicatedJobOf } from "../buckets.ts";
import type { ResolvedReplicatedJob } from "../defaults.ts";
import { templatePatch } from "../template_record.ts";
import { terminalCondition } from "./terminal_condition.ts";

/** A change of one Job, as a JSON merge patch. */
export interface JobPatch {
  readonly job: WatchedJob;
  /** Whether `status.startTime` must be cleared first, so that the template may change. */
  readonly clearStartTime: boolean;
  readonly body: {
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly spec: Readonly<Record<string, unknown>>;
  };
}

/** Returns the Jobs that run: not suspended, not ended and not being deleted. */
export function unsuspended(jobs: readonly WatchedJob[]): WatchedJob[] {
  return jobs.filter((job) =>
    job.spec?.suspend !== true && job.metadata?.deletionTimestamp === undefined &&
    finishOf(job) === undefined
  );
}

/**
 * Returns the patches of a JobSet that is suspended, or is being deleted together with its Jobs, whose pods then need not
 * wait for the garbage collector. They depend on nothing but its Jobs, so that nothing that is wrong with the rest holds
 * them back.
 */
export function suspendJobs(
  { metadata: { deletionTimestamp, finalizers = [] }, spec, status }: JobSet,
  jobs: readonly WatchedJob[],
): JobPatch[] {
  const rests = deletionTimestamp === undefined
    ? spec?.suspend === true && terminalCondition(status) === undefined
    : finalizers.includes(FOREGROUND_FINALIZER);
  if (!rests) return [];
  return unsuspended(jobs)
    .map((job) => ({ job, clearStartTime: false, body: { spec: { suspend: true } } }));
}

function resumeJob(job: WatchedJob, replicatedJob: ResolvedReplicatedJob): JobPatch {
  const { metadata, template } = templatePatch(job, replicatedJob.template.spec?.template);
  return {
    job,
    clearStartTime: job.status?.startTime !== undefined,
    body: {
      ...(metadata && { metadata }),
      spec: { suspend: false, ...(template && { template }) },
    },
  };
}

/** Returns the patches that resume the suspended ones of these Jobs, of the replicated jobs that may start. */
export function resumptions(
  replicatedJobs: readonly ResolvedReplicatedJob[],
  jobs: readonly WatchedJob[],
): JobPatch[] {
  return replicatedJobs.flatMap((replicatedJob) =>
    jobs.filter((job) => job.spec?.suspend === true && replicatedJobOf(job) === replicatedJob.name)
      .map((job) => resumeJob(job, replicatedJob))
  );
}
