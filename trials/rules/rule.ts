/** Types of early stopping: objective, rules, reports, and rules that were met. */

import type { RULE_UNITS } from "../../crds/early_stopping.ts";

/** The metric that a trial optimizes. */
export interface Objective {
  readonly name: string;
  readonly type: "minimize" | "maximize";
}

/** The comparisons that Katib knows; a value below the rule's meets `less`. */
export const KATIB_COMPARISONS = ["equal", "less", "greater"] as const;
/** The comparison of a rule; a job's own may have all. */
export type Comparison = typeof KATIB_COMPARISONS[number] | "atLeast" | "atMost" | "nan";

/** A valid rule (kubeflow/katib: pkg/apis/controller/trials/v1beta1/trial_types.go), or one of a job's own. */
export interface StoppingRule {
  /** The metric. */
  readonly name: string;
  /** The number that reports are compared with, as it is written; may be infinite, never NaN. Absent for `nan`. */
  readonly value?: string | undefined;
  readonly comparison: Comparison;
  /** The number of the one report that is tested, from 1; 0, the default, tests every report. */
  readonly startStep?: number | undefined;
  /** `step`: the first report with a step of at least `startStep` is tested instead, and no other. */
  readonly unit?: typeof RULE_UNITS[number] | undefined;
  /** `newest`: the value that was reported is compared, also of the objective; else the objective's best so far. */
  readonly compare?: "newest" | "best" | undefined;
  /** Whether every report, or step, from `startStep` on is tested. Default false. */
  readonly lasting?: boolean | undefined;
}

/** When a job is stopped: once each of its rules was met, or as soon as one is. */
export type StopsAt = "all" | "any";

/** An invalid rule. With one, none of the trial's rules is applied. */
export interface RuleProblem {
  /** Its index in the list. */
  readonly index: number;
  /** The metric that it names, or the value in the place of the name. */
  readonly rule: string;
  /** A clause for an event, such as `its value "x" is not a number`. */
  readonly why: string;
}

/** One value of one metric, as it was pushed. */
export interface Report {
  readonly name: string;
  readonly value: string;
  /** The step of the training, if the pod pushed it. */
  readonly step?: number;
}

/** The report that met a rule. */
export interface MetRule {
  readonly rule: StoppingRule;
  /** The value as it was reported. */
  readonly value: string;
  /** The value that was compared, in Go's notation: for the objective its best so far. */
  readonly compared: string;
  /** The number of the report of this metric, from 1; for a rule with the unit `step` that step. */
  readonly step: number;
  /** Whether every report of the objective so far was NaN or infinite, so that its worst value was compared. */
  readonly isLost: boolean;
}

/** Returns the number that stands for the worst value in a log, since Katib counts NaN as the best one. */
export function worstFinite({ type }: Objective): number {
  return type === "minimize" ? Number.MAX_VALUE : -Number.MAX_VALUE;
}

/**
 * Whether a value of the objective counts as its worst: NaN, any infinity, and the number that stands for
 * them in the log, so that an owner who reads the log decides as the one who wrote it.
 */
export function isWorst(objective: Objective, value: number): boolean {
  return !Number.isFinite(value) || value === worstFinite(objective);
}
