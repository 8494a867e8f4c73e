/** Row of a job, and the list of them as viewers are answered. All names, values and messages are what others wrote: hostile text. */
import { type ShownState, TRAINJOB_STATES } from "../names.ts";

/** A job by name, as answers name it. */
export interface JobName {
  /** `<plural>.<group>`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** A setting of a job, such as a variable. */
export type Setting = readonly [name: string, text: string];

/** What lists count and filter by beside the states: jobs that run and make no progress. */
export const STALLED = "Stalled";
/** What lists count and filter by. */
export const LISTED_STATES = [...TRAINJOB_STATES, STALLED] as const;

/** What is shown of a job beside others. */
export interface JobRow extends JobName {
  readonly uid: string;
  readonly state: ShownState;
  /** Why it is in that state, if the job says so; of one that failed or restarts the headline of its failure. */
  readonly message?: string;
  /** Of one whose pods fail and are started again now: how often they were. */
  readonly restarts?: number;
  /** Of such a job: after how many it fails at the most, if that is known. */
  readonly restartLimit?: number;
  /** 0 to 100. */
  readonly progress?: number;
  /** Absent while its pods are started again, and while it makes no progress. */
  readonly remainingSeconds?: number;
  /** The newest values, as they were pushed. */
  readonly metrics?: readonly { readonly name: string; readonly value: string }[];
  /** When its pods last said something, RFC 3339. */
  readonly updated?: string;
  /** RFC 3339. */
  readonly created: string;
  /** Of one that runs and makes no progress: since when, RFC 3339; the message has the rest. */
  readonly stalledSince?: string;
  /** Of one that is being restarted: since when, RFC 3339; the message says who asked for it, and why. */
  readonly restartingSince?: string;
  /** Of one that is being stopped, when its grace ends, RFC 3339; `jobChangeText()` has the words. */
  readonly stopsBy?: string;
  /** When it ended, RFC 3339. */
  readonly ended?: string;
  /** The Trial that controls it. */
  readonly trial?: string;
  /** The Experiment that its labels name. */
  readonly experiment?: string;
  /** The OptimizationJob that controls it. */
  readonly optimizationJob?: string;
  /** With what it was started, where the query asks for it. */
  readonly configuration?: readonly Setting[];
}

/** Columns by which rows are sorted; `metric` stands for the one that the query names. */
export const SORT_KEYS = [
  "name",
  "namespace",
  "kind",
  "state",
  "progress",
  "remaining",
  "created",
  "updated",
  "metric",
] as const;

/** Columns whose order begins with the most, unless a query says otherwise. */
export const MOST_FIRST = ["progress", "created", "updated"] as const;

/** Returns whether rows that are sorted by a column begin with the most of it, where a query does not say. */
export const beginsWithMost = (column: typeof SORT_KEYS[number]): boolean =>
  MOST_FIRST.some((it) => it === column);

/** A part of the list. */
export interface ListWindow {
  readonly rows: readonly JobRow[];
  /** Rows that pass the filters. */
  readonly total: number;
  /** Of the rows that pass all filters but that of states, how many are in each state, and how many are stalled. */
  readonly states: Readonly<Record<string, number>>;
  /** The kinds of the rows that pass all filters but those of kinds and states. */
  readonly kinds: readonly string[];
}

/** A kind that a reader may not list; in all namespaces, or in the one that it asked for. */
export interface Denied {
  readonly kind: string;
  readonly namespace?: string;
}

/** A window, as a reader is answered. */
export interface ListAnswer extends ListWindow {
  readonly denied?: readonly Denied[];
}

/** News of a list, in the event `jobs` of a stream: `rows` are those that have changed. */
export interface ListNews extends ListAnswer {
  /** Place among the lists of the stream; absent: it has one. */
  readonly list?: number;
  /** UIDs of all rows of the window. */
  readonly order: readonly string[];
}

/** Refusal of one of several lists, in the event `refused` of a stream. */
export interface ListRefusal {
  readonly list?: number;
  /** An HTTP status. */
  readonly code: number;
  readonly message: string;
}
