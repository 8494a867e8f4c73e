/** Counters of the v1 jobs and of their objects, as the Training Operator has them. */

/** What happens to a job. */
export type JobCount = "created" | "deleted" | "successful" | "failed" | "restarted";

/** Hooks for metrics. */
export interface JobMetrics {
  counted(what: JobCount, labels: {
    readonly namespace: string;
    /** Such as `pytorch`. */
    readonly framework: string;
  }): void;
  created(what: "pod" | "service" | "podGroup"): void;
  creationFailed(what: "pod" | "service"): void;
  deleted(what: "pod" | "service" | "podGroup"): void;
}
