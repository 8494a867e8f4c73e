/** Suspension and resumption of the Jobs of a JobSet. Pure. */
import type { JobSet, ReplicatedJobStatus } from "../../../crds/jobset.ts";
import { FOREGROUND_FINALIZER } from "../../../crds/names.ts";
import type { WatchedJob } from "../../../crds/watched.ts";
import { type Buckets, finishOf, replicatedJobOf } from "../buckets.ts";
import type { ResolvedReplicatedJob, ResolvedSpec } from "../defaults.ts";
import { templatePatch } from "../template_record.ts";
import { dependenciesHold, isStarted } from "./startup.ts";
import { terminalCondition } from "./ttl.ts";

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

/** The work of a resumption in this pass. */
export interface Resumption {
  readonly patches: readonly JobPatch[];
  /** Whether, with InOrder, a replicated job is still waited for. */
  readonly inProgress: boolean;
}

/** Returns the patches that resume suspended Jobs, as far as dependencies and order allow. */
export function resumeJobs(
  spec: ResolvedSpec,
  { active }: Buckets,
  counters: readonly ReplicatedJobStatus[],
): Resumption {
  const patches: JobPatch[] = [];
  for (const replicatedJob of spec.replicatedJobs) {
    if (spec.inOrder && isStarted(replicatedJob, counters)) continue;
    if (!dependenciesHold(replicatedJob, spec, counters)) continue;
    patches.push(
      ...active.filter((job) =>
        job.spec?.suspend === true && replicatedJobOf(job) === replicatedJob.name
      ).map((job) => resumeJob(job, replicatedJob)),
    );
    if (spec.inOrder) return { patches, inProgress: true };
  }
  return { patches, inProgress: false };
}
