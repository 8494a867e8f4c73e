/** The adapter's promises: what it is given, what it answers, and whom it asks. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { MetricSummary } from "../../trials/recording/summary.ts";
import type { TrialMetric } from "../../crds/trial.ts";
import type { LogKey } from "../../trials/recording/observation_row.ts";
import type { ObservationPlan, PlanDecision } from "../../trials/plan/observation_plan.ts";

/** One sample of a push: what the pod says was so at that time. */
export interface ObservedSample {
  readonly metrics?: readonly { readonly name: string; readonly value: string }[] | undefined;
  /** RFC 3339, between the pod's start and now. */
  readonly lastUpdatedTime: string;
}

/** A push as the status endpoint hands it over; `earlier` holds what came before, of a history. */
export interface ObservedPush {
  readonly job: JobRef;
  readonly pod: { readonly name: string; readonly uid: string };
  readonly trainerStatus: ObservedSample;
  readonly earlier?: readonly ObservedSample[] | undefined;
  /** What the pod wrote where a time was moved, of all samples in order. */
  readonly sentTimes?: readonly (string | undefined)[] | undefined;
  readonly sequence?: number | undefined;
  /** Wall-clock time of arrival, in milliseconds. */
  readonly receivedMs: number;
}

/** What a trainer is told to do. */
export interface StopControl {
  readonly stop: true;
  readonly reason: "EarlyStopped";
  readonly message: string;
}

/** The answer to a push that is a log's business: its rows are in the log, or it shall come again. */
export type Answer =
  | {
    readonly ok: true;
    readonly warnings?: readonly string[];
    readonly control?: StopControl;
  }
  | { readonly ok?: false; readonly retryAfterMs: number; readonly reason: string };

/** Why a trial is stopped: its last rule was met. */
export interface Verdict {
  /** The rule that was met last, as it stands in the object. */
  readonly rule: { readonly name: string; readonly comparison: string; readonly value: string };
  /** What met it: of the objective its best so far. */
  readonly value: string;
  /** The report of that metric that met it, counted from 1. */
  readonly step: number;
  /** Time of the deciding row, RFC 3339 with microseconds. */
  readonly time: string;
  /** When this owner was told of it, wall-clock time in milliseconds; absent where it read it in the log. */
  readonly heardMs?: number | undefined;
  /** Metric, value, rule and step in words: for events and answers. */
  readonly message: string;
}

/** How a stop ended. */
export type StopOutcome =
  /** Trial (where there is one) and TrainJob say EarlyStopped; also where they said so before. */
  | "stopped"
  /** The trial, or a job without one, had finished first, and is left alone. */
  | "finished before"
  /** The TrainJob is gone, and there is nothing to stop. */
  | "gone";

/** What is known of a trial at its stop. */
export interface Stop {
  readonly plan: ObservationPlan;
  readonly verdict: Verdict;
  /** By Katib's formula, from all rows of the log (contract katib.md 3). */
  readonly observation: readonly TrialMetric[];
}

/** Stops trials and TrainJobs. */
export interface Stopper {
  /**
   * Writes what a stop is, each part once however often it is asked for, also by another owner that
   * finds it half done. Rejects where it could not: then it is asked again.
   */
  stop(stop: Stop, signal: AbortSignal): Promise<StopOutcome>;
}

/** Knows what is to be recorded of a TrainJob. */
export interface PlanSource {
  /** The job's plan now; at once where caches know. Never rejects: what fails is `unknown`. */
  planFor(job: JobRef, signal: AbortSignal): PlanDecision | Promise<PlanDecision>;
  /** The plans of all jobs that have not finished and have rules, for a new owner. */
  open(): readonly ObservationPlan[];
  /** Whether the job has not finished, so that a stop can still be of use. */
  isOpen(job: JobRef): boolean;
  /** Whether a pod is one that counts for the plan; undefined where that is not known now. */
  isPrimary(
    plan: ObservationPlan,
    pod: ObservedPush["pod"],
    signal: AbortSignal,
  ): boolean | undefined | Promise<boolean | undefined>;
}

/** What the owner knows of a job's log now. */
export interface LogSnapshot {
  readonly plan: ObservationPlan;
  /** Grows with every change; another owner's count does not compare. */
  readonly version: number;
  /** By name. */
  readonly metrics: readonly MetricSummary[];
  /** Rows of the log. */
  readonly rows: number;
  /** The pod that counts and pushed last, where one has pushed to this owner. */
  readonly primaryPod?: string | undefined;
  /** Present once the last rule was met. */
  readonly verdict?: Verdict | undefined;
}

/** A part of a log, by time. */
export interface LogPage {
  readonly rows: readonly {
    readonly time: string;
    readonly name: string;
    readonly value: string;
  }[];
  /** Index of the first row that is not on the page; absent on the last. */
  readonly next?: number | undefined;
}

/** Which part of a log: from a time on, from the n-th of those rows on, at most so many. */
export interface LogQuery {
  readonly since?: string | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
}

/** Reads logs at their owner, for the observation API. */
export interface ObservationReader {
  /** Undefined where nothing is recorded of the job. Rejects with a SinkError while the log is out of reach. */
  snapshotOf(job: JobRef, signal: AbortSignal): Promise<LogSnapshot | undefined>;
  /** Undefined where nothing is recorded of the job. Rejects with a SinkError while the log is out of reach. */
  pageOf(job: JobRef, query: LogQuery, signal: AbortSignal): Promise<LogPage | undefined>;
  /** Hears, by the TrainJob's UID, that a snapshot changed; stops by the answer. */
  onChange(listener: (jobUid: string) => void): () => void;
}

/** Records what trials push, and stops them: at the owner of all state, for one term. */
export interface Adapter extends ObservationReader {
  /**
   * Undefined: nothing is recorded of this push. Else it is answered when its rows are in the log, within
   * the adapter's deadline. `signal` aborts when nobody waits any more; the rows may be recorded even so.
   */
  accept(
    push: ObservedPush,
    signal: AbortSignal,
  ): undefined | Answer | Promise<Answer | undefined>;
  /**
   * The job has ended by itself: resolves when the pushes in hand are in the log or given up, and a stop
   * that waits for its grace is done with at once. Bounded by `signal`. Undefined: nothing is in hand,
   * and nothing can be decided.
   */
  settle(job: JobRef, signal: AbortSignal): Promise<void> | undefined;
  /**
   * The TrainJob is gone: forgets it, and deletes the log where it was the job's own. `asked`: it had
   * annotations that ask for one, which is what is gone by where this owner never had the log in hand.
   */
  forget(job: JobRef, asked?: boolean): void;
  /** Deletes a log: its Trial is gone, and it is not Katib that would do it. */
  drop(key: LogKey): void;
  /** Trials that are watched for their rules. */
  open(): number;
  /** Replays and judges every open trial, then stops those that are to be stopped, until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}
