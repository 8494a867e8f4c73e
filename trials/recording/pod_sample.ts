/** Types of recording: samples, their scope, and the result. */
import type { ObservationRow } from "./observation_row.ts";
import type { Objective, Report } from "../rules/rule.ts";

/** The metrics of a pod at one moment. */
export interface PodSample {
  /** UID of the pod. */
  readonly pod: string;
  /** `lastUpdatedTime`, clamped to now; RFC 3339 with any offset and precision. */
  readonly time: string;
  /** The time that the pod sent, if it was clamped: a retry has the same, and is clamped to another time. */
  readonly sentTime?: string;
  readonly metrics: readonly Report[];
  /** The pod's own count of its pushes; samples of a history have none. */
  readonly sequence?: number;
  /** The step of the training, if the pod counts steps. */
  readonly step?: number;
}

/** The scope of recording for a job. */
export interface RecordScope {
  /** NaN and infinity of the objective are recorded as the worst finite number. */
  readonly objective?: Objective;
  /** The metrics that become rows; all if absent. */
  readonly names?: ReadonlySet<string>;
}

/** The result of recording a sample. */
export interface Recorded<State> {
  /** The state once `rows` are in the log; until then the old one holds. */
  readonly state: State;
  /** A retry was recorded before, and has no rows; nor has a new sample without metrics of the scope. */
  readonly verdict: "new" | "retry";
  /** The rows to append, in order; a name occurs once at each time. */
  readonly rows: readonly ObservationRow[];
  /** The values of `rows` as they were pushed, in the same order, for the rules. */
  readonly reports: readonly Report[];
  /** Warnings for the client; a retry gets the same as the first push. */
  readonly warnings: readonly string[];
}
