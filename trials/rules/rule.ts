/** A rule of early stopping as it is applied, the objective beside it, and what a met one says. */

/** What a trial optimizes. */
export interface Objective {
  readonly name: string;
  readonly type: "minimize" | "maximize";
}

/** How a rule compares: `less` is met by a value below the rule's. */
export type Comparison = "equal" | "less" | "greater";

/** A rule that can be applied (contract katib.md 1.4). */
export interface StoppingRule {
  /** The metric. */
  readonly name: string;
  /** What it is compared with; never NaN, may be infinite. */
  readonly value: number;
  /** That value as it stands in the object. */
  readonly text: string;
  readonly comparison: Comparison;
  /** The one report that is tested, counted from 1; 0 tests every report. */
  readonly startStep: number;
}

/** A rule that cannot be applied, and why. The others are applied without it. */
export interface RuleProblem {
  /** Its place in the list, from 0. */
  readonly index: number;
  /** The metric that it names, or what stands there instead. */
  readonly rule: string;
  /** A clause for an event, such as `its value "x" is no number`. */
  readonly why: string;
}

/** One value of one metric, as it was pushed. */
export interface Report {
  readonly name: string;
  readonly value: string;
}

/** The report that met a rule. */
export interface MetRule {
  readonly rule: StoppingRule;
  /** As it was reported. */
  readonly value: string;
  /** What was compared, in Go's notation: of the objective its best value so far. */
  readonly compared: string;
  /** Which report of this metric it was, from 1. */
  readonly step: number;
  /** Whether the objective was at its worst, NaN or infinite, which meets its rules without comparing. */
  readonly isLost: boolean;
}

/** Katib takes NaN for the best value there is, so what is worst is written as a number. */
export function worstFinite({ type }: Objective): number {
  return type === "minimize" ? Number.MAX_VALUE : -Number.MAX_VALUE;
}

/**
 * Whether a value of the objective is its worst: NaN, any infinity, and the number by which the log
 * stands for them, so that an owner who reads the log decides as the one who wrote it.
 */
export function isWorst(objective: Objective, value: number): boolean {
  return !Number.isFinite(value) || value === worstFinite(objective);
}
