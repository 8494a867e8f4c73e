/** Names of Kubernetes batch/v1 Jobs that Milepost reads or writes: labels, annotations, conditions and reasons. */

/** Labels and annotations that the Job controller gives to pods (Kubernetes batch/v1). */
export const JOB_KEYS = {
  completionIndex: "batch.kubernetes.io/job-completion-index",
  jobName: "batch.kubernetes.io/job-name",
  controllerUid: "batch.kubernetes.io/controller-uid",
  legacyJobName: "job-name",
  legacyControllerUid: "controller-uid",
  /** Finalizer by which the Job controller counts a pod exactly once. */
  trackingFinalizer: "batch.kubernetes.io/job-tracking",
} as const;

/** Conditions of a Job (Kubernetes batch/v1). */
export const JOB_CONDITIONS = {
  suspended: "Suspended",
  complete: "Complete",
  failed: "Failed",
  successCriteriaMet: "SuccessCriteriaMet",
  failureTarget: "FailureTarget",
} as const;

/** Reasons of Job conditions and events (Kubernetes batch/v1). */
export const JOB_REASONS = {
  suspended: "JobSuspended",
  resumed: "JobResumed",
  completionsReached: "CompletionsReached",
  successPolicy: "SuccessPolicy",
  backoffLimitExceeded: "BackoffLimitExceeded",
  deadlineExceeded: "DeadlineExceeded",
  podFailurePolicy: "PodFailurePolicy",
  notSupported: "NotSupported",
  eventCompleted: "Completed",
  eventSuspended: "Suspended",
  eventResumed: "Resumed",
  eventPodCreated: "SuccessfulCreate",
  eventPodDeleted: "SuccessfulDelete",
  eventPodCreationFailed: "FailedCreate",
} as const;

/** Value of `spec.managedBy` of a Job that the Job controller runs; another keeps it away. */
export const JOB_CONTROLLER = "kubernetes.io/job-controller";
/** Variable by which a container of an Indexed Job knows its index. */
export const COMPLETION_INDEX_ENV = "JOB_COMPLETION_INDEX";
