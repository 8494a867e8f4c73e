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

/** What is best: the objective of a Trial, or of the early-stopping annotation. */
export interface PlanObjective {
  readonly name: string;
  readonly type: "minimize" | "maximize";
  /** Recorded with it: `additionalMetricNames`. */
  readonly additional: readonly string[];
  /** `metricStrategies` of the Trial, for its observation (contract katib.md 3); absent without a trial. */
  readonly strategies?: readonly { readonly name: string; readonly value: string }[] | undefined;
}

/** How pushes of one TrainJob are recorded and judged. Frozen: a new one is made where something changed. */
export interface ObservationPlan {
  readonly kind: "plan";
  /** Whose log it is: the Trial's, or of a job without one the TrainJob's. */
  readonly key: LogKey;
  readonly job: ObservedJob;
  /** Absent: a job that asks for nothing, whose metrics are kept where the sink keeps such. */
  readonly objective?: PlanObjective | undefined;
  /** Which metrics become rows: the objective, its additional ones and those that rules name; or all. */
  readonly records: "named" | "all";
  /** As they stand in the object; what is wrong with one is told by an event, and it is left out. */
  readonly rules: readonly TrialRule[];
  /** The job asks for nothing: its log may be short, and is lost with its owner where it is in memory. */
  readonly isPlain?: boolean | undefined;
  /** Which pods count, and how the job ends. Absent: every pod counts. */
  readonly mapping?: TrialMapping | undefined;
  /**
   * Pods without the label `trainer.kubeflow.org/trial` do not count: into those Katib may have put its
   * own collector. Set where its kind is one that was taken over.
   */
  readonly needsLabel?: boolean | undefined;
  /** Between the decision to stop and the stop, in milliseconds (0 to an hour). */
  readonly graceMs: number;
}

/** The plan of a TrainJob, or the reason why there is none. */
export type PlanDecision =
  | ObservationPlan
  /** Nothing is recorded. */
  | { readonly kind: "none" }
  /** Nothing is recorded, since its claim does not hold; an event has said so. */
  | { readonly kind: "refused"; readonly why: string }
  /** Not known now, for example because a cache is behind: pushes are told to come again. */
  | { readonly kind: "unknown"; readonly why: string };
