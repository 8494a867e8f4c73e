/** Counters of the v1 jobs and of their objects, as the Training Operator has them. */

/** Which jobs are counted together. */
export interface JobLabels {
  readonly namespace: string;
  /** Such as `pytorch`. */
  readonly framework: string;
}

/** What happens to a job. */
export type JobCount = "created" | "deleted" | "successful" | "failed" | "restarted";

/** Hooks for metrics. */
export interface JobMetrics {
  counted(what: JobCount, labels: JobLabels): void;
  created(what: "pod" | "service" | "podGroup"): void;
  creationFailed(what: "pod" | "service"): void;
  deleted(what: "pod" | "service" | "podGroup"): void;
}
