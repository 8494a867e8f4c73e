/** Interfaces of the observations of trials: pushes and answers, stops, plans, and reads of logs. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobStop } from "../../crds/trainjob.ts";
import type { ChangeAsk } from "../../crds/wire/change_request.ts";
import type { StopAnswer, StopBody } from "../../crds/wire/stop_request.ts";
import type { Push } from "../../crds/wire/push.ts";
import type { Control, PushAnswer } from "../../crds/wire/push_answer.ts";
import type { MetricSummary } from "../../trials/recording/summary.ts";
import type { TrialMetric } from "../../crds/trial.ts";
import type { LogKey, ObservationRow } from "../../trials/recording/observation_row.ts";
import type { HistoryStore, LogRange } from "./sink.ts";
import type { PresentRun } from "../../trials/recording/present_run.ts";
import type { DerivedStopTarget } from "../../trials/plan/stop_target.ts";
import type { DecidedStop, StopDecision, StoreOutcome } from "./stop_decision.ts";
import type { ObservationPlan, PlanDecision } from "../../trials/plan/observation_plan.ts";

/** The outcome of a stop. */
export type StopOutcome =
  /** The TrainJob and its Trial, if any, say EarlyStopped, perhaps already before. */
  | "stopped"
  /** The trial, or a job without one, had finished first, and is left as it is. */
  | "finished before"
  /** The TrainJob does not exist any more. */
  | "gone";

/** The job that is stopped, and the log whose Trial, if any, is stopped with it. */
export type StopTarget = Pick<DerivedStopTarget, "key" | "job">;

/** A stop of a trial. */
export interface Stop {
  readonly plan: StopTarget;
  readonly decision: StopDecision;
  /** The metrics of the Trial's status, by Katib's formula from all rows of the log; undefined: not read yet. */
  readonly observation?: readonly TrialMetric[] | undefined;
}

/** A request to stop a job early, from somebody who may. */
export interface StopRequest extends ChangeAsk {
  /** Why, and how long the job may go on. */
  readonly stop: Omit<StopBody, "uid">;
}

/** Stops trials and TrainJobs. */
export interface Stopper {
  /**
   * Stores a decision about the job, unless its status holds one; a shorter grace shortens that one's. `key`
   * is the Trial's if the job is stopped as its trial. Idempotent. Rejects if the outcome is not known.
   */
  store(decided: DecidedStop, key: LogKey, signal: AbortSignal): Promise<StoreOutcome>;
  /**
   * Writes a stop. Idempotent: each part is written once, also by another owner that finds it half done.
   * Rejects if it could not be written; the caller tries again.
   */
  stop(stop: Stop, signal: AbortSignal): Promise<StopOutcome>;
}

/** Source of observation plans, and of what the caches say of stops. */
export interface PlanSource {
  /** Returns the job's plan, at once if caches have its objects. Never rejects: a failure is `unknown`. */
  planFor(job: JobRef, signal: AbortSignal): PlanDecision | Promise<PlanDecision>;
  /** Returns the plans of all jobs that have not finished and have rules. */
  openPlans(): readonly ObservationPlan[];
  /** Whether the job has not finished, so that it can still be stopped. */
  isOpen(job: JobRef): boolean;
  /**
   * Returns what is stopped with the job, and the grace that its annotations give; undefined if the job's
   * Trial is being deleted. Rejects if that is not known now.
   */
  stopTargetFor(
    job: JobRef,
    signal: AbortSignal,
  ): Promise<DerivedStopTarget | undefined>;
  /** Returns the decision to stop the job that its status holds. */
  storedStop(job: JobRef): JobStop | undefined;
  /** Returns the jobs that have not finished and whose status holds such a decision. */
  stoppingJobs(): readonly JobRef[];
  /** Returns the instruction to the pods of a job that was stopped early, as its objects show. */
  stopShown(job: JobRef): Control | undefined;
  /** Whether the plan's Trial has ended by its objects: Katib has read its log, or is about to. */
  hasEnded(plan: ObservationPlan): boolean;
  /** Returns why nothing of the job can be recorded: no pod of it is primary, or the primary one lacks the container. */
  primaryProblem(plan: ObservationPlan): string | undefined;
  /** Whether the job is suspended, so that no pod of it can use a grace period. */
  isSuspended(job: JobRef): boolean;
  /** Whether a pod is primary for the plan; undefined if that is not known now. */
  isPrimary(
    plan: ObservationPlan,
    pod: Push["pod"],
  ): boolean | undefined | Promise<boolean | undefined>;
  /** Returns the run of the primary pod that started last, by the caches. Rejects if it cannot be known now. */
  presentRun(plan: ObservationPlan): PresentRun | Promise<PresentRun>;
}

/** The state of a job's log at its owner. */
export interface LogSnapshot {
  readonly plan: ObservationPlan;
  /** Sorted by name. */
  readonly metrics: readonly MetricSummary[];
  /** The primary pod that pushed last, if one has pushed to this owner. */
  readonly primaryPod?: string | undefined;
}

/** A part of a log, sorted by time. */
export interface LogPage {
  readonly rows: readonly ObservationRow[];
  /** Whether there are more rows behind it. */
  readonly more: boolean;
  /** Whether `onChange` tells of all rows of the log: nobody else writes to it. */
  readonly isTold: boolean;
}

/** A part of a log, of at most so many rows. */
export type LogQuery = LogRange & { readonly limit: number };

/**
 * Reader of the logs at their owner, also of jobs that have ended, as long as their log is kept, and of those that this
 * owner has not been pushed yet: then it reads the sink. While a log is replayed or out of reach it rejects with a
 * SinkError of kind `unavailable`, whose `retryAfterMs` goes to the client; it never returns less than what was
 * acknowledged.
 */
export interface ObservationReader {
  /** Resolves with undefined if nothing of the job is recorded. */
  snapshotOf(job: JobRef, signal: AbortSignal): Promise<LogSnapshot | undefined>;
  /**
   * Resolves with undefined if nothing of the job is recorded. Rows stand by time, ties in the order of writing; a
   * reader that has seen k rows of time t comes again with `{ since: t, seen: k }`, so that no page depends on the
   * ones before it.
   */
  pageOf(job: JobRef, query: LogQuery, signal: AbortSignal): Promise<LogPage | undefined>;
  /**
   * Calls `listener` with the TrainJob's UID once a row is in the log, or the verdict is there, not before. Returns
   * a function that ends this.
   */
  onChange(listener: (jobUid: string) => void): () => void;
}

/** Records the pushes of trials and stops trials, at the owner of all state, for one term of leadership. */
export interface Observations extends ObservationReader {
  /** Resolves with the key of the job's log in the sink, if it has one there. Rejects as reads do. */
  logOf(job: JobRef, signal: AbortSignal): Promise<LogKey | undefined>;
  /** Keeps what is shown of jobs beside their logs; undefined if that would end with this term. */
  readonly history: HistoryStore | undefined;
  /**
   * Records a push. Returns undefined if nothing of it is recorded; otherwise an answer, when its rows are in
   * the log, within the deadline of the sink. `signal` aborts when the caller no longer waits; the rows may be
   * recorded nevertheless.
   */
  accept(
    push: Push,
    signal: AbortSignal,
  ): undefined | PushAnswer | Promise<PushAnswer | undefined>;
  /**
   * Settles the log of a job that has ended by itself: resolves when its pending pushes are in the log or
   * given up, and a stop that waits for its grace period has been written at once. Ends early when `signal`
   * aborts. Returns undefined if nothing is pending.
   */
  settle(job: JobRef, signal: AbortSignal): Promise<void> | undefined;
  /**
   * Forgets a TrainJob that was deleted, and deletes the log if it was the job's own. `asked` says that its
   * annotations asked for a log, which decides if this owner never used the log.
   */
  forget(job: JobRef, asked?: boolean): void;
  /** Stops following a job that may exist: its log stays as it is, and is read again when the job is back. */
  leave(job: JobRef): void;
  /**
   * Ends the log of a Trial that is being deleted, or was: nothing is recorded in it any more, and it is deleted
   * once no write is under way, also after Katib has done that. Asks `isWanted` before each attempt.
   */
  drop(key: LogKey, isWanted?: () => boolean): void;
  /** Stops a job early, once the decision is stored and read back, which is when it resolves. Idempotent. */
  requestStop(request: StopRequest, signal: AbortSignal): Promise<StopAnswer>;
  /** Returns the answer to all pushes of a job that was stopped early: nothing of them is kept. */
  stopped(job: JobRef): PushAnswer | undefined;
  /** Whether it is decided that the job is stopped, also if it was stopped in this term. */
  isStopping(jobUid: string): boolean;
  /** Returns the number of trials with rules that have not finished. */
  openTrials(): number;
  /** Replays and judges every open trial, and stops those whose rules were met, until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}
