/** Decisions of the JobSet executor, from what is observed of a JobSet to a plan. Pure. */
import { sameJson } from "../../platform/base/json.ts";
import { type FieldProblem, problemsSummary } from "../../crds/field_problem.ts";
import type { JobSet, JobSetStatus } from "../../crds/jobset.ts";
import type { PersistentVolumeClaim, Service } from "../../platform/kube/kubernetes.ts";
import { JOB_LIMITS } from "../../crds/job_limits.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import { JOBSET_REASONS } from "../../crds/jobset_names.ts";
import type { WatchedJob } from "../../crds/watched.ts";
import type { EventText } from "../../platform/kube/event_object.ts";
import { bucketJobs, type Buckets, countJobs } from "./buckets.ts";
import { CHANGES, type StatusDraft, withCompletion, withCondition } from "./jobset_conditions.ts";
import {
  replicasOf,
  type ResolvedReplicatedJob,
  type ResolvedSpec,
  resolveSpec,
} from "./defaults.ts";
import { missingJobs, podProblem } from "./policy/creation.ts";
import { applyFailurePolicy } from "./policy/failure.ts";
import { startable } from "./policy/startup.ts";
import { isSuccessful } from "./policy/success.ts";
import { type JobPatch, resumptions, unsuspended } from "./policy/suspension.ts";
import { expiryMs } from "../../platform/base/timestamps.ts";
import { terminalCondition } from "./policy/terminal_condition.ts";
import { invalidParts } from "./problems.ts";
import { type JobRequest, renderClaim, renderService } from "./render.ts";
import { unsupportedParts } from "./unsupported.ts";
import { type ClaimState, claimState, type ExistingClaims } from "./volume_claims.ts";

/** A JobSet and its children, as read at one moment. */
export interface Observed {
  readonly jobSet: JobSet;
  /** The Jobs that this JobSet controls by uid. */
  readonly jobs: readonly WatchedJob[];
  /** Whether a Service of the wanted name exists, whoever owns it. */
  readonly hasService: boolean;
  /** The claims that exist of those that the JobSet names; absent if none is needed, `unknown` if they cannot be read. */
  readonly claims?: ExistingClaims | "unknown";
  /** How many pods a JobSet may have. Default: {@link JOB_LIMITS}. */
  readonly maxPods?: number | undefined;
}

/** A status to write, and what is told then. */
export interface StatusPlan {
  /** Absent if nothing changed. */
  readonly status?: JobSetStatus;
  /** Sent after the status is written. */
  readonly events: readonly EventText[];
}

/** The work of one pass, in the order of the fields. Jobs are suspended before it is made. */
export interface Plan extends StatusPlan {
  readonly deleteJobs: readonly WatchedJob[];
  readonly createService?: Service;
  readonly createClaims: readonly PersistentVolumeClaim[];
  /** One list for each replicated job; after an error in one list the later ones are not created. */
  readonly createJobs: readonly (readonly JobRequest[])[];
  readonly resumeJobs: readonly JobPatch[];
  /** The status after an error: it says nothing of work that may not be done. */
  readonly undone: StatusPlan;
  readonly deleteJobSet: boolean;
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

type Work = Partial<Omit<Plan, "status" | "events" | "undone">>;

interface Context {
  readonly jobSet: JobSet;
  readonly spec: ResolvedSpec;
  readonly buckets: Buckets;
  readonly claims: ClaimState | "unknown";
  /** Set if the JobSet asks for too many pods: none is started, and those that run go on. */
  readonly tooLarge: FieldProblem | undefined;
  readonly now: number;
}

function statusPlan(before: JobSetStatus | undefined, { status, events }: StatusDraft): StatusPlan {
  return { ...(!sameJson(before, status) && { status }), events };
}

function conclude(
  before: JobSetStatus | undefined,
  draft: StatusDraft,
  work: Work,
  undone = draft,
): Plan {
  return {
    deleteJobSet: false,
    deleteJobs: [],
    createClaims: [],
    createJobs: [],
    resumeJobs: [],
    ...work,
    ...statusPlan(before, draft),
    undone: statusPlan(before, undone),
  };
}

function living(jobs: readonly WatchedJob[]): WatchedJob[] {
  return jobs.filter((job) => job.metadata?.deletionTimestamp === undefined);
}

/**
 * Sets the condition that refuses the JobSet, or ends an earlier refusal. `refused`: nothing else is done for it. That
 * does not hold for one that has Jobs, and whose only problem is that it asks for too many pods: its Jobs go on, and end.
 */
function withRefusal(
  { jobSet, claims, tooLarge, now }: Context,
  draft: StatusDraft,
  hasJobs: boolean,
): { draft: StatusDraft; refused: boolean } {
  const metadata = jobSet.metadata;
  const spec = jobSet.spec ?? {};
  const pods = tooLarge === undefined ? [] : [tooLarge];
  const ofClaims = claims === "unknown" ? [] : claims.problems;
  const invalid = [...invalidParts(spec, metadata), ...pods, ...ofClaims];
  const problems = [...invalid, ...unsupportedParts(spec, metadata)];
  if (problems.length === 0) {
    return { draft: withCondition(draft, CHANGES.accepted, now), refused: false };
  }
  const reason = invalid.length > 0 ? JOBSET_REASONS.invalid : JOBSET_REASONS.notSupported;
  const message = problemsSummary(problems);
  const goesOn = hasJobs && problems.length === pods.length;
  return { draft: withCondition(draft, CHANGES.refused(reason, message), now), refused: !goesOn };
}

/**
 * Returns the work while claims are being deleted, during which no pods start: they would wait for the
 * claim that goes, and then for the next one.
 */
function waitForClaims({ leaving }: ClaimState, now: number): Work {
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

/** Returns what is created: the Service and the claims, and then the missing Jobs that may start. */
function creations(
  { jobSet, spec, buckets, claims, tooLarge, now }: Context,
  { status }: StatusDraft,
  { startable, hasService }: {
    readonly startable: readonly ResolvedReplicatedJob[];
    readonly hasService: boolean;
  },
): Work {
  if (claims === "unknown") return {};
  return {
    ...(spec.network.enableDNSHostnames && !hasService &&
      { createService: renderService(jobSet, spec) }),
    createClaims: claims.missing.map((claim) => renderClaim(jobSet, claim)),
    ...(claims.leaving.length > 0
      ? waitForClaims(claims, now)
      : tooLarge === undefined
      ? { createJobs: missingJobs({ jobSet, spec, buckets, startable, status }) }
      : {}),
  };
}

/** Returns what a JobSet that goes on needs, its status with what is created, resumed or suspended, and that after an error. */
function withWork(context: Context, draft: StatusDraft, hasService: boolean) {
  const { spec, buckets, claims, tooLarge, now } = context;
  const counters = draft.status.replicatedJobsStatus ?? [];
  const { replicatedJobs, order } = startable(spec, counters);
  const work: Work = {
    deleteJobs: living(buckets.previous),
    ...creations(context, draft, { startable: replicatedJobs, hasService }),
  };
  let next = draft;
  if (order === "in_progress") next = withCondition(next, CHANGES.startupInProgress, now);
  if (order === "completed") next = withCondition(next, CHANGES.startupCompleted, now);
  if (spec.suspend) {
    if (unsuspended(buckets.active).length > 0) return { work, draft: next, undone: next };
    next = withCondition(next, CHANGES.suspended, now);
    next = withCondition(next, CHANGES.restartEndedBySuspension, now);
    return { work, draft: next, undone: next };
  }
  if (claims === "unknown" || claims.leaving.length > 0 || tooLarge !== undefined) {
    return { work, draft: next, undone: draft };
  }
  if (order !== "in_progress") next = withCondition(next, CHANGES.resumed, now);
  const resumeJobs = resumptions(replicatedJobs, living(buckets.active));
  return { work: { ...work, resumeJobs }, draft: next, undone: draft };
}

function afterTheEnd({ jobSet, spec, buckets, now }: Context, draft: StatusDraft): Plan {
  const ended = terminalCondition(draft.status)?.lastTransitionTime;
  const expiry = expiryMs(ended, spec.ttlSecondsAfterFinished);
  return conclude(jobSet.status, draft, {
    deleteJobs: living(buckets.active),
    deleteJobSet: expiry !== undefined && expiry <= now,
    ...(expiry !== undefined && expiry > now && { requeueAfterMs: expiry - now }),
  });
}

function withReadiness({ spec, now }: Context, draft: StatusDraft): StatusDraft {
  const counters = draft.status.replicatedJobsStatus ?? [];
  const started = counters.reduce((sum, { ready, succeeded }) => sum + ready + succeeded, 0);
  const ready = !spec.suspend && started === replicasOf(spec.replicatedJobs);
  return ready ? withCondition(draft, CHANGES.jobsReady, now) : draft;
}

/**
 * Returns the plan for a JobSet that this executor manages and that is not being deleted. Throws if the
 * labels of a Job cannot be read. The inputs are not changed.
 */
export function decide(observed: Observed, now: number): Plan {
  const { jobSet, jobs, hasService, claims, maxPods = JOB_LIMITS.pods } = observed;
  const spec = resolveSpec(jobSet);
  const restarts = jobSet.status?.restarts ?? 0;
  const buckets = bucketJobs(jobs, jobSet.status);
  const context: Context = {
    jobSet,
    spec,
    buckets,
    claims: typeof claims !== "object"
      ? claims ?? NO_CLAIMS
      : claimState(jobSet, spec.volumeClaims, {
        existing: claims,
        // A restart of the TrainJob may have deleted all of them.
        isStart: jobs.length === 0 && restarts === 0 &&
          jobSet.metadata.annotations?.[ANNOTATIONS.restartCount] === undefined,
      }),
    tooLarge: podProblem(spec, maxPods),
    now,
  };
  const replicatedJobsStatus = countJobs(spec, buckets, jobSet.status?.replicatedJobsStatus);
  const counted: StatusDraft = {
    status: { ...jobSet.status, restarts, replicatedJobsStatus },
    events: [],
  };
  if (terminalCondition(jobSet.status)) return afterTheEnd(context, counted);
  const { draft: judged, refused } = withRefusal(context, counted, jobs.length > 0);
  if (refused) {
    // Nothing tells when a claim in the way is gone.
    const isOfClaims = context.claims !== "unknown" && context.claims.problems.length > 0;
    const work = isOfClaims ? { requeueAfterMs: REFUSED_RETRY_MS } : {};
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
  const { work, draft: last, undone } = withWork(context, draft, hasService);
  return conclude(jobSet.status, last, work, undone);
}
