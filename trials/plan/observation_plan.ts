/** Observation plan: what is recorded of a TrainJob's pushes, and when the job is stopped. */
import type { TrialRule } from "../../crds/trial.ts";
import type { LogKey } from "../recording/observation_row.ts";
import type { TrialMapping } from "../mapping/trial_mapping.ts";

/** The TrainJob that is observed. */
export interface ObservedJob {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The objective of a Trial, or of the early-stopping annotation. */
export interface PlanObjective {
  readonly name: string;
  readonly type: "minimize" | "maximize";
  /** Metrics that are recorded with it: `additionalMetricNames`. */
  readonly additional: readonly string[];
  /** `metricStrategies` of the Trial, for its observation; absent without a trial. */
  readonly strategies?: readonly { readonly name: string; readonly value: string }[] | undefined;
}

/** How pushes of one TrainJob are recorded and judged. Immutable: a change makes a new plan. */
export interface ObservationPlan {
  readonly kind: "plan";
  /** The log of the Trial, or of the TrainJob if it has no Trial. */
  readonly key: LogKey;
  readonly job: ObservedJob;
  /** Absent for a job without early stopping. */
  readonly objective?: PlanObjective | undefined;
  /** The metrics that become rows: those that objective and rules name, or all. */
  readonly records: "named" | "all";
  /** The rules as they stand in the object; an invalid one is reported by an event and skipped. */
  readonly rules: readonly TrialRule[];
  /** The job has neither trial nor annotation: its log may be short, and one in memory ends with its owner. */
  readonly isPlain?: boolean | undefined;
  /** The primary pods, and the end of the job; every pod is primary if absent. */
  readonly mapping?: TrialMapping | undefined;
  /**
   * Whether only pods with the label `trainer.kubeflow.org/trial` are recorded, since Katib may have injected
   * its own collector into the others. True for kinds of collectors that were adopted.
   */
  readonly needsLabel?: boolean | undefined;
  /** Time between the decision to stop and the stop, in milliseconds (0 to an hour). */
  readonly graceMs: number;
}

/** The plan of a TrainJob, or the reason why there is none. */
export type PlanDecision =
  | ObservationPlan
  /** Nothing is recorded. */
  | { readonly kind: "none" }
  /** Nothing is recorded, since the job's claim to a Trial does not hold; an event has said so. */
  | { readonly kind: "refused"; readonly why: string }
  /** Not known now, for example because a cache is behind: clients are asked to retry. */
  | { readonly kind: "unknown"; readonly why: string };
