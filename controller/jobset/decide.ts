/** Decisions of the JobSet executor, from what is observed of a JobSet to a plan. Pure. */
import { problemsSummary } from "../../crds/field_problem.ts";
import { isDeepStrictEqual } from "node:util";
import type { JobSet, JobSetStatus } from "../../crds/jobset.ts";
import type { Job, PersistentVolumeClaim, Service } from "../../crds/kubernetes.ts";
import { JOBSET_REASONS } from "../../crds/jobset_names.ts";
import type { WatchedJob } from "../../crds/watched.ts";
import type { EventText } from "../../kube/events.ts";
import { bucketJobs, type Buckets, countJobs } from "./buckets.ts";
import { CHANGES, type StatusDraft, withCompletion, withCondition } from "./jobset_conditions.ts";
import { type ResolvedSpec, resolveSpec } from "./defaults.ts";
import { missingJobs } from "./policy/creation.ts";
import { applyFailurePolicy } from "./policy/failure.ts";
import { startable } from "./policy/startup.ts";
import { isSuccessful } from "./policy/success.ts";
import { type JobPatch, resumeJobs, suspendJobs } from "./policy/suspension.ts";
import { terminalCondition, timeToDeletion } from "./policy/ttl.ts";
import { invalidParts } from "./problems.ts";
import { renderClaim, renderService } from "./render.ts";
import { unsupportedParts } from "./unsupported.ts";
import { type ClaimState, claimState, type ExistingClaims } from "./volume_claims.ts";

/** A JobSet and its children, as read at one moment. */
export interface Observed {
  readonly jobSet: JobSet;
  /** The Jobs that this JobSet controls by uid. */
  readonly jobs: readonly WatchedJob[];
  /** Whether a Service of the wanted name exists, whoever owns it. */
  readonly hasService: boolean;
  /** The claims that exist of those that the JobSet names; absent if they were not read. */
  readonly claims?: ExistingClaims;
}

/** The work of one pass, in the order of the fields; after an error the status is not written. */
export interface Plan {
  readonly deleteJobSet: boolean;
  readonly deleteJobs: readonly WatchedJob[];
  readonly createService?: Service;
  readonly createClaims: readonly PersistentVolumeClaim[];
  /** One list for each replicated job; after an error in one list the later ones are not created. */
  readonly createJobs: readonly (readonly Job[])[];
  readonly patchJobs: readonly JobPatch[];
  /** Absent if nothing changed. */
  readonly status?: JobSetStatus;
  /** Sent after the status is written. */
  readonly events: readonly EventText[];
  /** Sent once, however many passes have it. */
  readonly notice?: EventText;
  readonly requeueAfterMs?: number;
}

/** Delay of the next look at a claim that is being deleted, in milliseconds. */
const CLAIM_RETRY_MS = 1_000;
/** Time after which a deletion takes long: something holds the claim back. */
const LONG_DELETION_MS = 10_000;
/** Delay of the next look at a claim that is not for the JobSet, in milliseconds. */
const REFUSED_RETRY_MS = 15_000;
const NO_CLAIMS: ClaimState = { missing: [], leaving: [], problems: [] };

type Work = Partial<Omit<Plan, "status" | "events">>;

interface Context {
  readonly jobSet: JobSet;
  readonly spec: ResolvedSpec;
  readonly buckets: Buckets;
  readonly claims: ClaimState;
  readonly now: number;
}

function conclude(before: JobSetStatus | undefined, draft: StatusDraft, work: Work): Plan {
  const changed = !isDeepStrictEqual(before, draft.status);
  return {
    deleteJobSet: false,
    deleteJobs: [],
    createClaims: [],
    createJobs: [],
    patchJobs: [],
    ...work,
    ...(changed && { status: draft.status }),
    events: draft.events,
  };
}

function living(jobs: readonly WatchedJob[]): WatchedJob[] {
  return jobs.filter((job) => job.metadata?.deletionTimestamp === undefined);
}

/** Sets the condition that refuses the JobSet, or ends an earlier refusal. */
function withRefusal(
  { jobSet, claims, now }: Context,
  draft: StatusDraft,
): { draft: StatusDraft; refused: boolean } {
  const metadata = jobSet.metadata;
  const spec = jobSet.spec ?? {};
  const invalid = [...invalidParts(spec, metadata), ...claims.problems];
  const problems = [...invalid, ...unsupportedParts(spec, metadata)];
  if (problems.length === 0) {
    return { draft: withCondition(draft, CHANGES.accepted, now), refused: false };
  }
  const reason = invalid.length > 0 ? JOBSET_REASONS.invalid : JOBSET_REASONS.notSupported;
  const message = problemsSummary(problems);
  return { draft: withCondition(draft, CHANGES.refused(reason, message), now), refused: true };
}

/**
 * Returns the work while claims are being deleted, during which no pods start: they would wait for the
 * claim that goes, and then for the next one.
 */
function waitForClaims({ claims: { leaving }, now }: Context): Work {
  const held = leaving.filter(({ metadata }) =>
    now - Date.parse(metadata?.deletionTimestamp ?? "") >= LONG_DELETION_MS
  );
  const names = held.map(({ metadata }) => metadata?.name).join(", ");
  const message =
    `PVC ${names} is being deleted, and pods or a finalizer hold it back: the JobSet ` +
    "starts its pods when it is gone";
  return {
    requeueAfterMs: CLAIM_RETRY_MS,
    ...(held.length > 0 &&
      { notice: { type: "Warning", reason: JOBSET_REASONS.claimBeingDeleted, message } }),
  };
}

/** Adds the Service, the missing Jobs, and what is suspended or resumed. */
function withWork(
  context: Context,
  draft: StatusDraft,
  hasService: boolean,
): { draft: StatusDraft; work: Work } {
  const { jobSet, spec, buckets, claims, now } = context;
  const counters = draft.status.replicatedJobsStatus ?? [];
  const { status } = draft;
  const isWaiting = claims.leaving.length > 0;
  const { replicatedJobs, order } = startable(spec, counters);
  const work: Work = {
    deleteJobs: living(buckets.previous),
    ...(spec.network.enableDNSHostnames && !hasService &&
      { createService: renderService(jobSet, spec) }),
    createClaims: claims.missing.map((claim) => renderClaim(jobSet, claim)),
    ...(isWaiting
      ? waitForClaims(context)
      : { createJobs: missingJobs({ jobSet, spec, buckets, startable: replicatedJobs, status }) }),
  };
  let next = draft;
  if (order === "in_progress") next = withCondition(next, CHANGES.startupInProgress, now);
  if (order === "completed") next = withCondition(next, CHANGES.startupCompleted, now);
  if (spec.suspend) {
    next = withCondition(next, CHANGES.suspended, now);
    next = withCondition(next, CHANGES.restartEndedBySuspension, now);
    return { draft: next, work: { ...work, patchJobs: suspendJobs(living(buckets.active)) } };
  }
  if (isWaiting) return { draft: next, work };
  const { patches, inProgress } = resumeJobs(
    spec,
    { ...buckets, active: living(buckets.active) },
    counters,
  );
  if (inProgress) next = withCondition(next, CHANGES.startupInProgress, now);
  else next = withCondition(next, CHANGES.resumed, now);
  return { draft: next, work: { ...work, patchJobs: patches } };
}

function afterTheEnd({ jobSet, spec, buckets, now }: Context, draft: StatusDraft): Plan {
  const left = timeToDeletion(draft.status, { ttlSeconds: spec.ttlSecondsAfterFinished, now });
  return conclude(jobSet.status, draft, {
    deleteJobs: living(buckets.active),
    deleteJobSet: left === 0,
    ...(left !== undefined && left > 0 && { requeueAfterMs: left }),
  });
}

function withReadiness({ spec, now }: Context, draft: StatusDraft): StatusDraft {
  const counters = draft.status.replicatedJobsStatus ?? [];
  const started = counters.reduce((sum, { ready, succeeded }) => sum + ready + succeeded, 0);
  const wanted = spec.replicatedJobs.reduce((sum, { replicas }) => sum + replicas, 0);
  const ready = !spec.suspend && started === wanted;
  return ready ? withCondition(draft, CHANGES.jobsReady, now) : draft;
}

/**
 * Returns the plan for a JobSet that this executor manages and that is not being deleted. Throws if the
 * labels of a Job cannot be read. The inputs are not changed.
 */
export function decide({ jobSet, jobs, hasService, claims }: Observed, now: number): Plan {
  const spec = resolveSpec(jobSet);
  const restarts = jobSet.status?.restarts ?? 0;
  const buckets = bucketJobs(jobs, jobSet.status);
  const context: Context = {
    jobSet,
    spec,
    buckets,
    claims: claims === undefined ? NO_CLAIMS : claimState(jobSet, spec.volumeClaims, {
      existing: claims,
      isStart: jobs.length === 0 && restarts === 0,
    }),
    now,
  };
  const replicatedJobsStatus = countJobs(spec, buckets, jobSet.status?.replicatedJobsStatus);
  const counted: StatusDraft = {
    status: { ...jobSet.status, restarts, replicatedJobsStatus },
    events: [],
  };
  if (terminalCondition(jobSet.status)) return afterTheEnd(context, counted);
  const { draft: judged, refused } = withRefusal(context, counted);
  if (refused) {
    // Nothing tells when a claim in the way is gone.
    const work = context.claims.problems.length > 0 ? { requeueAfterMs: REFUSED_RETRY_MS } : {};
    return conclude(jobSet.status, judged, work);
  }
  const deleteJobs = living(buckets.previous);
  const draft = withReadiness(context, judged);
  if (buckets.failed.length > 0) {
    const failed = applyFailurePolicy(draft, spec, { failed: buckets.failed, now });
    return conclude(jobSet.status, failed, { deleteJobs });
  }
  if (isSuccessful(spec, buckets.succeeded)) {
    return conclude(jobSet.status, withCompletion(draft, now), { deleteJobs });
  }
  const { draft: last, work } = withWork(context, draft, hasService);
  return conclude(jobSet.status, last, work);
}
