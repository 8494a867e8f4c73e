/** Decision about a Job: from its state and its pods to a plan. Pure. */
import type { Job, Pod } from "../../platform/kube/kubernetes.ts";
import { JOB_CONDITIONS, JOB_REASONS } from "../../crds/job_names.ts";
import { soonest } from "../../platform/base/soonest.ts";
import { expiryMs, rfc3339 } from "../../platform/base/timestamps.ts";
import {
  type ConditionUpdate,
  findCondition,
  setCondition,
  trueCondition,
} from "../../platform/kube/conditions.ts";
import type { EventText } from "../../platform/kube/event_object.ts";
import { formatIndexes } from "../../crds/completion_indexes.ts";
import { isActive, isReady, isTerminating, isTracked } from "./pods.ts";
import { type Account, takeAccount } from "./policy/accounting.ts";
import type { Backoff } from "../../platform/base/backoff.ts";
import { backoffLeft } from "./policy/pod_failure_backoff.ts";
import { accountedEnd, announcedEnd, deadlineLeft, earlyEnd, type End } from "./policy/ending.ts";
import { managePods } from "./policy/management.ts";
import { type JobSettings, jobSettings, type JobSnapshot } from "./job_settings.ts";

type JobStatus = NonNullable<Job["status"]>;

/** Actions, done in the order of the fields. */
export interface JobPlan {
  readonly deleteJob: boolean;
  /** Completion index of each pod to create. */
  readonly create: readonly (number | undefined)[];
  /** Active pods that go uncounted: they lose their finalizer, then they are deleted. */
  readonly discard: readonly Pod[];
  /** Active pods that go because the Job ends. */
  readonly remove: readonly Pod[];
  /** The status to be, if it differs from the one that is; pods created in this pass are not in it. */
  readonly status: JobStatus;
  /** They go out after the status is written. */
  readonly events: readonly EventText[];
  /** Pods that lose their finalizer after the status is written. */
  readonly release: readonly Pod[];
  readonly requeueAfterMs?: number;
}

/** No action. */
const NOTHING = { deleteJob: false, create: [], discard: [], remove: [] } as const;

/** A status as it will be written, with the events that follow the write. */
interface StatusUpdate {
  readonly status: JobStatus;
  readonly events: readonly EventText[];
}

function withCondition(
  update: StatusUpdate,
  condition: Omit<ConditionUpdate, "status"> & { status?: "True" | "False" },
  now: number,
): StatusUpdate {
  const conditions = setCondition(
    update.status.conditions,
    { status: "True", ...condition },
    rfc3339(now),
  );
  return { ...update, status: { ...update.status, conditions } };
}

function withEvent(update: StatusUpdate, event: EventText): StatusUpdate {
  return { ...update, events: [...update.events, event] };
}

/** The condition that ended the Job, if one did. */
function terminal({ status }: Job) {
  return trueCondition(status?.conditions, JOB_CONDITIONS.complete, JOB_CONDITIONS.failed);
}

/** The plan for a Job that has ended: its pods are released, and it is deleted after its time. */
function afterTheEnd({ job, pods, settings, now }: JobSnapshot): JobPlan {
  const ended = job.status?.completionTime ?? terminal(job)?.lastTransitionTime;
  const expiry = expiryMs(ended, settings.ttlSecondsAfterFinished);
  const due = expiry !== undefined && expiry <= now;
  return {
    ...NOTHING,
    deleteJob: due && job.metadata?.deletionTimestamp === undefined,
    remove: pods.filter(isActive),
    status: job.status ?? {},
    events: [],
    release: pods.filter(isTracked),
    ...(expiry !== undefined && expiry > now && { requeueAfterMs: expiry - now }),
  };
}

/** Counters of the present pods and of the account. */
function countedStatus(job: Job, pods: readonly Pod[], account: Account): JobStatus {
  const completedIndexes = formatIndexes(account.completed);
  const { completedIndexes: _i, succeeded: _s, failed: _f, ...status } = job.status ?? {};
  const { succeeded, failed } = account.counters;
  return {
    ...status,
    ready: pods.filter((pod) => isActive(pod) && isTracked(pod) && isReady(pod)).length,
    terminating: pods.filter(isTerminating).length,
    // As Kubernetes has it: no number rather than 0.
    ...(succeeded > 0 && { succeeded }),
    ...(failed > 0 && { failed }),
    ...(completedIndexes && { completedIndexes }),
    uncountedTerminatedPods: {
      ...(account.uncounted.succeeded.length && { succeeded: [...account.uncounted.succeeded] }),
      ...(account.uncounted.failed.length && { failed: [...account.uncounted.failed] }),
    },
  };
}

/** The status with that many active pods; 0 is no number, as Kubernetes has it. */
export function withActive(status: JobStatus, active: number): JobStatus {
  const { active: _old, ...rest } = status;
  return active > 0 ? { ...rest, active } : rest;
}

function withEnd(
  update: StatusUpdate,
  { outcome, reason, message }: End,
  now: number,
): StatusUpdate {
  const type = outcome === "failure"
    ? JOB_CONDITIONS.failureTarget
    : JOB_CONDITIONS.successCriteriaMet;
  return withCondition(update, { type, reason, message }, now);
}

/** The last condition of a Job, of which no pod is left to wait for. */
function withLastWord(
  update: StatusUpdate,
  { outcome, reason, message }: End,
  now: number,
): StatusUpdate {
  if (outcome === "failure") {
    const failed = withCondition(update, { type: JOB_CONDITIONS.failed, reason, message }, now);
    return withEvent(failed, { type: "Warning", reason, message });
  }
  const complete = withCondition(update, { type: JOB_CONDITIONS.complete, reason, message }, now);
  const status = { ...complete.status, completionTime: rfc3339(now) };
  return withEvent({ ...complete, status }, {
    type: "Normal",
    reason: JOB_REASONS.eventCompleted,
    message: "Job completed",
  });
}

function ending(snapshot: JobSnapshot, account: Account, base: StatusUpdate, end: End): JobPlan {
  const { pods, now } = snapshot;
  const announced = withEnd(base, end, now);
  const settled = !pods.some((pod) => isTracked(pod) || isActive(pod) || isTerminating(pod)) &&
    account.uncounted.succeeded.length + account.uncounted.failed.length === 0;
  const update = settled ? withLastWord(announced, end, now) : announced;
  return {
    ...NOTHING,
    remove: pods.filter(isActive),
    ...update,
    status: withActive(update.status, 0),
    release: account.release,
    ...(account.more && { requeueAfterMs: 1 }),
  };
}

/** The Suspended condition, its events and the start of the deadline's clock. */
function withSuspension(update: StatusUpdate, settings: JobSettings, now: number): StatusUpdate {
  const type = JOB_CONDITIONS.suspended;
  const old = findCondition(update.status.conditions, type);
  if (settings.suspend) {
    const { startTime: _reset, ...status } = update.status;
    const [message, reason] = ["Job suspended", JOB_REASONS.suspended];
    const suspended = withCondition({ ...update, status }, { type, reason, message }, now);
    const event = { type: "Normal", reason: JOB_REASONS.eventSuspended, message } as const;
    return old?.status === "True" ? suspended : withEvent(suspended, event);
  }
  const startTime = update.status.startTime ?? rfc3339(now);
  if (old?.status !== "True") return { ...update, status: { ...update.status, startTime } };
  const [message, reason] = ["Job resumed", JOB_REASONS.resumed];
  const resumed = withCondition(update, { type, status: "False", reason, message }, now);
  const event = { type: "Normal", reason: JOB_REASONS.eventResumed, message } as const;
  return withEvent({ ...resumed, status: { ...resumed.status, startTime: rfc3339(now) } }, event);
}

function running(
  snapshot: JobSnapshot,
  account: Account,
  base: StatusUpdate,
  backoff: Backoff,
): JobPlan {
  const { job, pods, settings, now } = snapshot;
  const backoffLeftMs = backoffLeft(pods, { rules: settings.podFailureRules, backoff, now });
  const { create, discard, waitMs } = job.metadata?.deletionTimestamp === undefined
    ? managePods(snapshot, account, backoffLeftMs)
    : { create: [], discard: [] };
  const update = withSuspension(base, settings, now);
  const started = { ...job, status: update.status };
  const kept = pods.filter((pod) => isActive(pod) && !discard.includes(pod));
  const requeueAfterMs = soonest([
    waitMs,
    deadlineLeft(started, settings, now),
    account.more ? 1 : undefined,
  ]);
  return {
    ...NOTHING,
    create,
    discard,
    ...update,
    status: withActive(update.status, kept.length),
    release: account.release,
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
  };
}

/** Decides about a Job that this controller runs. Does not change its inputs. */
export function decideJob(
  { backoff, ...observed }: Omit<JobSnapshot, "settings"> & { readonly backoff: Backoff },
): JobPlan {
  const { job, pods, now } = observed;
  const settings = jobSettings(job);
  const snapshot = { ...observed, settings };
  if (terminal(job) !== undefined) return afterTheEnd(snapshot);
  const early = earlyEnd(snapshot);
  const before = takeAccount(snapshot, (early ?? announcedEnd(job))?.outcome);
  const end = early ?? accountedEnd(snapshot, before);
  const account = end === early ? before : takeAccount(snapshot, end?.outcome);
  const base: StatusUpdate = { status: countedStatus(job, pods, account), events: [] };
  if (end === undefined) return running(snapshot, account, base, backoff);
  const started: StatusUpdate = settings.suspend
    ? base
    : { ...base, status: { ...base.status, startTime: job.status?.startTime ?? rfc3339(now) } };
  return ending(snapshot, account, started, end);
}
