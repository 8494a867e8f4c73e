/** Observation plans: what is recorded of a job's pushes, and by which rules it is stopped. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { StoppingRule, StopsAt } from "../rules/rule.ts";
import type { LogKey } from "../recording/observation_row.ts";
import type { TrialMapping } from "../mapping/trial_mapping.ts";

/** The objective of a Trial, or of the annotation `trainer.kubeflow.org/early-stopping`. */
export interface PlanObjective {
  readonly name: string;
  readonly type: "minimize" | "maximize";
  /** Metrics that are recorded with it: `additionalMetricNames`. */
  readonly additional: readonly string[];
  /**
   * `metricStrategies` of the Trial: the metrics of its observation. Absent without a trial, and if the Trial has
   * none: then Katib gives one to each metric that is recorded.
   */
  readonly strategies?: readonly { readonly name: string; readonly value: string }[] | undefined;
}

/** How pushes of one job are recorded and judged. Never changed: a new one is made instead. */
export interface ObservationPlan {
  readonly kind: "plan";
  /** The key of the log: the Trial's, or the job's own if it has no Trial. */
  readonly key: LogKey;
  readonly job: JobRef;
  /** Absent: a job that asks for nothing, whose metrics are kept where the sink keeps such. */
  readonly objective?: PlanObjective | undefined;
  /** The metrics that become rows: those that objective and rules name, or all. */
  readonly records: "named" | "all";
  /** Metrics of rules that cannot be applied: they are recorded all the same. */
  readonly alsoRecorded?: readonly string[] | undefined;
  /** The rules; if one is invalid an event says so, and there is none. */
  readonly rules: readonly StoppingRule[];
  /** When the job is stopped: once each of the rules was met, the default, or as soon as one is. */
  readonly stopsAt?: StopsAt | undefined;
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

/** The plan for the pushes of a job, or why there is none. */
export type PlanDecision =
  | ObservationPlan
  /** Nothing is recorded. */
  | { readonly kind: "none" }
  /** Nothing is recorded, since the job's claim to a Trial does not hold; an event has said so. */
  | { readonly kind: "refused"; readonly why: string }
  /** Nothing is recorded any more, since the job's Trial is being deleted; its pushes are refused. */
  | { readonly kind: "gone"; readonly why: string }
  /** Not known now, for example because a cache is behind: clients are asked to retry. */
  | { readonly kind: "unknown"; readonly why: string };

/** Settings of the cluster and its administrator. */
export interface PlanSettings {
  /** Kinds of collectors that are adopted besides Push; none unless Katib's webhook is kept out. */
  readonly adopted: ReadonlySet<string>;
  /** Whether the log distinguishes trials only by name, as Katib's table does. */
  readonly namesOnly: boolean;
  /** Whether logs of jobs without a trial or annotation are kept. */
  readonly keepsPlainJobs: boolean;
  /** Whether the log keeps the steps that pods push. */
  readonly keepsSteps: boolean;
}
