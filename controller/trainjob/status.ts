/** Status of a TrainJob, derived from what is observed (docs/decisions/0002). Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import type { Condition } from "../../platform/kube/kubernetes.ts";
import {
  EVENT_REASONS,
  TRAINJOB_CONDITIONS,
  TRAINJOB_MESSAGES,
  TRAINJOB_REASONS,
} from "../../crds/names.ts";
import { JOBSET_CONDITIONS } from "../../crds/jobset_names.ts";
import { restartOf, restartUnderWay } from "../../crds/job_state.ts";
import type { JobStatus, TrainJobStatus } from "../../crds/trainjob.ts";
import { compact, mergePatch, sameJson } from "../../platform/base/json.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import {
  findCondition,
  isConditionTrue,
  removeCondition,
  setCondition,
  trueCondition,
} from "../../platform/kube/conditions.ts";
import { decideFailure } from "../failure_decision.ts";
import { deadlineMs, startTimeOf } from "./active_deadline.ts";
import { hasEnded } from "./ended_jobsets.ts";
import {
  isFinished,
  isRestarting,
  jobSetRuns,
  type ObservedJob,
  openRestart,
  ownJobSet,
  type ResourceProblem,
  restartCountOf,
  wasStopped,
} from "./observed.ts";
import { restartLimitOf } from "./restart_limit.ts";
import { awaitsSuspension } from "./taken_away.ts";
import { shorten } from "../shorten.ts";
import { stateOf } from "./state.ts";

/** Shortest wait for a deadline, in milliseconds. */
const WAIT_MIN_MS = 1000;

/** The fields of the status that this controller writes; never `trainerStatus`. */
export type OwnStatus = Pick<
  TrainJobStatus,
  "conditions" | "jobsStatus" | "state" | "startTime" | "failure" | "restarts"
>;

/** Copies the end of the JobSet to the TrainJob, word for word. */
function mirrorEnd(conditions: Condition[], jobSet: JobSet | undefined): Condition[] {
  const pairs = [
    [JOBSET_CONDITIONS.completed, TRAINJOB_CONDITIONS.complete],
    [JOBSET_CONDITIONS.failed, TRAINJOB_CONDITIONS.failed],
  ] as const;
  return pairs.reduce((list, [from, to]) => {
    const end = trueCondition(jobSet?.status?.conditions, from);
    return end ? [...removeCondition(list, to), { ...end, type: to }] : list;
  }, conditions);
}

/** What is wrong with the children; `unknown` after an error that says nothing about them. */
export type Problem = ResourceProblem | "unknown" | undefined;

function withProblem(conditions: Condition[], problem: Problem, now: string): Condition[] {
  if (problem === "unknown") return conditions;
  const { failed, resourcesCreated } = TRAINJOB_CONDITIONS;
  const notSupported = TRAINJOB_REASONS.runtimeNotSupported;
  let list = conditions;
  const message = shorten(problem?.message ?? "");
  if (problem?.unsupported) {
    const update = { type: failed, status: "True", reason: notSupported, message } as const;
    return setCondition(removeCondition(list, resourcesCreated), update, now);
  }
  if (findCondition(list, failed)?.reason === notSupported) list = removeCondition(list, failed);
  if (!problem) return removeCondition(list, resourcesCreated);
  const reason = EVENT_REASONS.resourcesCreationFailed;
  return setCondition(list, { type: resourcesCreated, status: "False", reason, message }, now);
}

/**
 * Sets the condition once the JobSet is suspended, whose counters say when its pods are gone, and removes it when the
 * JobSet is resumed, so that the SDK sees the job running.
 */
function withSuspension(conditions: Condition[], observed: ObservedJob, now: string): Condition[] {
  const { spec, status } = observed.trainJob;
  const type = TRAINJOB_CONDITIONS.suspended;
  if (spec.suspend === true) {
    if (awaitsSuspension(observed)) return removeCondition(conditions, type);
    const { suspended: message } = TRAINJOB_MESSAGES;
    const reason = TRAINJOB_REASONS.suspended;
    return setCondition(conditions, { type, status: "True", reason, message }, now);
  }
  const jobSet = ownJobSet(observed);
  const pending = !isFinished(status) && isConditionTrue(conditions, type) &&
    (jobSet === undefined || jobSet.spec?.suspend === true);
  return pending ? conditions : removeCondition(conditions, type);
}

function jobsStatusOf(observed: ObservedJob): JobStatus[] | undefined {
  const jobSet = ownJobSet(observed);
  const old = observed.trainJob.status?.jobsStatus;
  // Its Jobs are suspended to end their pods, and wait for nothing else.
  const isStopped = observed.isStopping || wasStopped(observed.trainJob.status);
  const waits = !isStopped && !isRestarting(observed);
  if (jobSet) {
    const counters = jobSet.status?.replicatedJobsStatus;
    const counted = counters?.map(({ name, ready, succeeded, failed, active, suspended }) => (
      { name, ready, succeeded, failed, active, suspended }
    )) ?? old;
    return waits ? counted : counted?.map((job) => ({ ...job, suspended: 0 }));
  }
  return isStopped ? old?.map((job) => ({ ...job, ready: 0, active: 0 })) : old;
}

/** Restarts by the JobSet's own rules, and ours: a JobSet that is made anew counts from 0, the job does not. */
function restartsNow({ trainJob, jobSet }: ObservedJob): number | undefined {
  const { restarts = 0 } = trainJob.status ?? {};
  const ofJobSet = ownJobSet({ trainJob, jobSet })?.status?.restarts ?? 0;
  return Math.max(restarts, ofJobSet + (restartOf(trainJob)?.count ?? 0)) || undefined;
}

/** The fields that are written. No empty list of conditions: the SDK checks whether there is a list. */
function written({ conditions, ...others }: OwnStatus): OwnStatus {
  const { jobsStatus, state, startTime, failure, restarts } = others;
  const some = conditions?.length ? conditions : undefined;
  return compact({ conditions: some, jobsStatus, state, startTime, failure, restarts });
}

/** `told` is the failure that was written last. */
function changesOf(
  old: OwnStatus,
  next: OwnStatus,
  told: OwnStatus["failure"],
): Record<string, unknown> | undefined {
  const { jobsStatus = old.jobsStatus } = next;
  const failure = sameJson(told, next.failure) ? old.failure : next.failure;
  const changes = mergePatch(written(old), written({ ...next, jobsStatus, failure }));
  // A definition that drops the restarts would have them written with each pass: they go with something else.
  return Object.keys(changes).some((it) => it !== "restarts") ? changes : undefined;
}

/** Whether a restart goes on after this pass, is done, or is ended by something else; undefined if none was under way. */
function restartAfter(observed: ObservedJob, hasEnd: boolean) {
  const { trainJob } = observed;
  const restart = restartUnderWay(trainJob);
  if (restart === undefined) return undefined;
  if (hasEnd || openRestart(observed) === undefined) return { restart, outcome: "ended" } as const;
  const comes = jobSetRuns(observed) && restartCountOf(ownJobSet(observed)) === restart.count;
  return { restart, outcome: comes ? "done" : "open" } as const;
}

/** The changes with the end of a restart, and the restarts with it: the whole field. */
function withRestartEnd(
  changes: Record<string, unknown> | undefined,
  restarting: ReturnType<typeof restartAfter>,
  { restarts, now }: Pick<OwnStatus, "restarts"> & { readonly now: string },
) {
  if (restarting === undefined || restarting.outcome === "open") return changes;
  return { ...changes, restarts, restart: { ...restarting.restart, endTime: now } };
}

/** Derives the status. A job that has ended keeps its end; `problem` belongs to this pass. */
export function decideStatus(
  observed: ObservedJob,
  problem: Problem,
  nowMs: number,
) {
  const { trainJob } = observed;
  const old = trainJob.status?.conditions ?? [];
  const now = rfc3339(nowMs);
  let conditions = withSuspension(old, observed, now);
  conditions = withProblem(conditions, isFinished(trainJob.status) ? undefined : problem, now);
  const jobSet = ownJobSet(observed);
  const startTime = startTimeOf({ trainJob, jobSet }, conditions, nowMs);
  const reportsEnd = observed.settled && !isFinished(trainJob.status);
  if (reportsEnd) conditions = mirrorEnd(conditions, jobSet);
  const hasEnd = isFinished({ conditions }) || (jobSet !== undefined && hasEnded(jobSet));
  const started = { ...trainJob, status: { ...trainJob.status, startTime } };
  const leftMs = hasEnd ? Infinity : deadlineMs(started, jobSet, nowMs);
  const isStartKnown = !observed.hasUnreadStart || trainJob.status?.startTime !== undefined;
  if (leftMs < 0 && isStartKnown) {
    conditions = setCondition(conditions, {
      type: TRAINJOB_CONDITIONS.failed,
      status: "True",
      reason: TRAINJOB_REASONS.deadlineExceeded,
      message: TRAINJOB_MESSAGES.deadlineExceeded,
    }, now);
  }
  const state = stateOf(observed, conditions);
  const restarting = restartAfter(observed, hasEnd || isFinished({ conditions }));
  const isRestarted = restarting !== undefined && restarting.outcome !== "ended";
  const told = trainJob.status?.failure ?? observed.droppedFailure;
  const failing = decideFailure({
    old: told,
    seen: observed.failures,
    // What failed is over with a restart, as with a suspension.
    state: isRestarted ? "Suspended" : state ?? "Created",
    hasEnded: isFinished(trainJob.status),
    tellsMessages: observed.tellsMessages ?? true,
    restartLimit: jobSet && restartLimitOf(jobSet),
    nowMs,
  });
  const { failure, recheckMs = Infinity } = failing;
  const next: OwnStatus = {
    conditions,
    jobsStatus: jobsStatusOf(observed),
    state,
    startTime,
    failure,
    restarts: restartsNow(observed),
  };
  const waitMs = leftMs < 0 ? Infinity : Math.max(WAIT_MIN_MS, leftMs + 1);
  const dueMs = Math.min(waitMs, recheckMs);
  const message = typeof problem === "object" ? problem.message : undefined;
  const { failed, resourcesCreated } = TRAINJOB_CONDITIONS;
  const isKnown = message === undefined || [resourcesCreated, failed]
    .some((type) => findCondition(old, type)?.message === shorten(message));
  return {
    /** A merge patch of the fields that change; undefined if none does. */
    changes: withRestartEnd(changesOf(trainJob.status ?? {}, next, told), restarting, {
      restarts: next.restarts,
      now,
    }),
    /** The restart that was under way, and what becomes of it. */
    restarting,
    /** The fields after the write. */
    next,
    /** The message of a problem that is not in the status yet. */
    newProblem: isKnown ? undefined : message,
    /** What is said of the failures of pods. */
    failing,
    /** Time until the deadline, or until the job may have recovered, in milliseconds. */
    requeueAfterMs: Number.isFinite(dueMs) ? dueMs : undefined,
  };
}

/** The write to the status. */
export type StatusDecision = ReturnType<typeof decideStatus>;
