/** Searches for good parameters, and their trials, as the page's server answers. All texts are what others wrote: hostile. */
import type { ShownState } from "../names.ts";
import type { Denied, JobName } from "./row.ts";

/** Whether less or more of the objective is better. */
export type Direction = "minimize" | "maximize";
/** Which value of a metric counts for a trial. */
export type Strategy = "min" | "max" | "latest";

/** The metric by which trials are compared. */
export interface Objective {
  readonly metric: string;
  /** Absent: nobody says what is better, and no trial is the best. */
  readonly direction?: Direction;
  readonly goal?: number;
  /** Which value of it counts for each trial, of a search that is shown. */
  readonly strategy?: Strategy;
}

/** A parameter and where its values may be. */
export interface Parameter {
  readonly name: string;
  /** `list`: its values stand beside each other, as they do in `list`. */
  readonly scale: "linear" | "log" | "list";
  readonly min?: number;
  readonly max?: number;
  readonly list?: readonly string[];
}

/** Why a trial was stopped early. */
export interface TrialStop {
  readonly by: "rules" | "pruner" | "request" | "unknown";
  /** What decided it, as its job says; absent if there is no job to say it. */
  readonly text?: string;
  /** The rules that it had, each in words. All of them were met if they stopped it. */
  readonly rules?: readonly string[];
  /** Who asked for it. */
  readonly user?: string;
}

/** The states of jobs, and those that only trials have. */
export type TrialState = ShownState | "Killed" | "MetricsUnavailable";

/** What is known of a trial. */
export interface TrialFacts {
  readonly name: string;
  readonly state: TrialState;
  readonly message?: string;
  /** RFC 3339, as the others. */
  readonly created?: string;
  readonly started?: string;
  readonly ended?: string;
  readonly job?: JobName;
  readonly stop?: TrialStop;
}

/** A trial as it is shown. */
export interface ShownTrial extends TrialFacts {
  /** In the order of the search's parameters; null: it has none. */
  readonly values: readonly (string | null)[];
  /** Of the objective. */
  readonly value?: number;
  /** The newest of each of the search's metrics, in their order. */
  readonly metrics: readonly (string | null)[];
}

/** What is known of a search. */
export interface SearchFacts extends JobName {
  readonly state: "Created" | "Running" | "Complete" | "Failed";
  readonly message?: string;
  readonly created?: string;
  readonly ended?: string;
  /** Algorithm, early stopping and bounds, in words. */
  readonly notes: readonly { readonly name: string; readonly text: string }[];
  /** What the viewer may not read of it. */
  readonly denied?: readonly string[];
  /** More trials are there than were read. */
  readonly isCut?: boolean;
}

/** Counts of trials. */
export interface TrialCounts {
  readonly total: number;
  /** By state; those of which there is none are absent. */
  readonly states: readonly (readonly [state: string, count: number])[];
}

/** A trial that was better than all that had ended before it. */
export interface BestStep {
  readonly trial: string;
  readonly time: string;
  readonly value: number;
}

/** What a rule, or somebody, stopped. */
export interface StoppedBy {
  readonly text: string;
  readonly trials: readonly string[];
}

/** A search as it is shown. */
export interface ShownSearch extends SearchFacts {
  readonly objective?: Objective;
  /** Names of the metrics that trials have. */
  readonly metrics: readonly string[];
  readonly parameters: readonly Parameter[];
  /** The oldest first. */
  readonly trials: readonly ShownTrial[];
  readonly counts: TrialCounts;
  readonly best?: string;
  readonly bestSoFar: readonly BestStep[];
  readonly stops: readonly StoppedBy[];
}

/** The best trial of a search in a list. */
export interface BestTrial {
  readonly trial: string;
  readonly value?: string;
}

/** A search in a list. */
export interface SearchRow extends JobName {
  /** Absent: only how many trials have its label is known. */
  readonly state?: SearchFacts["state"];
  readonly created?: string;
  readonly objective?: Objective;
  readonly counts: TrialCounts;
  readonly best?: BestTrial;
  /** The best by each direction, where nobody says which is better. */
  readonly bestBy?: Readonly<Record<Direction, BestTrial>>;
}

/** The list of searches. */
export interface SearchList {
  readonly searches: readonly SearchRow[];
  readonly denied: readonly Denied[];
  /** Kinds of searches that this cluster does not have. */
  readonly absent: readonly string[];
  readonly isCut?: boolean;
}
