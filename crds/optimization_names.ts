/** Names of OptimizationJobs: their conditions, and the reasons of those and of their trials. */

/** Conditions of an OptimizationJob. */
export const SEARCH_CONDITIONS = {
  /** False while the TrainJob of a trial cannot be made. */
  created: "Created",
  /** False once the search has ended. */
  running: "Running",
  complete: "Complete",
  failed: "Failed",
} as const;

/** Reasons of those conditions. */
export const SEARCH_REASONS = {
  created: "OptimizationJobCreated",
  creationFailed: "TrainJobsCreationFailed",
  recordsTaken: "TrialRecordsTaken",
  recordsRefused: "TrialRecordsRefused",
  running: "TrialsRunning",
  completed: "OptimizationJobCompleted",
  allFailed: "AllTrialsFailed",
  invalid: "InvalidSearch",
  templateRefused: "TemplateRefused",
} as const;

/** Reasons for which a trial has failed. */
export const TRIAL_REASONS = {
  failed: "TrainJobFailed",
  deleted: "TrainJobDeleted",
  refused: "TrainJobRefused",
  nameTaken: "TrainJobNameTaken",
  metricsUnavailable: "MetricsUnavailable",
} as const;
