/** What is recorded of pushes, and the words that say so. */
import type { ObservationRow } from "./observation_row.ts";
import type { Objective, Report } from "../rules/rule.ts";

/** What a pod measured at one moment. */
export interface Sample {
  /** UID of the pod. */
  readonly pod: string;
  /** `lastUpdatedTime`, clamped; RFC 3339 with any offset and any precision. */
  readonly time: string;
  /** What the pod said where that was clamped: a retry says the same, and is clamped to another moment. */
  readonly sentTime?: string;
  readonly metrics: readonly Report[];
  /** The pod's own count of its pushes; a sample of a history has none. */
  readonly sequence?: number;
}

/** What of a job is recorded. */
export interface RecordScope {
  /** Its NaN and infinity are recorded as the worst finite number. */
  readonly objective?: Objective;
  /** The metrics that become rows; absent: all. */
  readonly names?: ReadonlySet<string>;
}

/** What becomes of a sample. */
export interface Recorded<State> {
  /** The state once `rows` are in the log; while they are not, the old one holds. */
  readonly state: State;
  /** A retry was recorded before and has no rows; nor has a new sample that holds nothing of the scope. */
  readonly verdict: "new" | "retry";
  /** What to append, in order; a row's name occurs once at its time. */
  readonly rows: readonly ObservationRow[];
  /** The values of `rows` as they were pushed, for the rules: in the same order. */
  readonly reports: readonly Report[];
  /** What the answer says besides; the same for a retry as it was at first. */
  readonly warnings: readonly string[];
}
