/** Names of JobSets that Milepost reads or writes: API group, controllers, labels, annotations, conditions and reasons. */

/** API group of JobSets. */
export const JOBSET_GROUP = "jobset.x-k8s.io";
/** The one version of the JobSet group. */
export const JOBSET_VERSION = "v1alpha2";
/** `apiVersion` of JobSets. */
export const JOBSET_API_VERSION = `${JOBSET_GROUP}/${JOBSET_VERSION}`;

/** Value of `spec.managedBy` of a JobSet that the built-in executor runs (docs/decisions/0028). */
export const MILEPOST_JOBSET_CONTROLLER = "trainer.kubeflow.org/milepost";
/** Value of `spec.managedBy` of a JobSet that upstream's controller runs. */
export const UPSTREAM_JOBSET_CONTROLLER = "jobset.sigs.k8s.io/jobset-controller";
/** Upstream's webhook configuration, by which `--jobset auto` knows that upstream's controller lives here. */
export const UPSTREAM_JOBSET_WEBHOOK = "jobset-mutating-webhook-configuration";

/** Labels and annotations of a JobSet's Jobs and pods (kubernetes-sigs/jobset: api/jobset/v1alpha2/jobset_types.go). */
export const JOBSET_KEYS = {
  jobSetName: "jobset.sigs.k8s.io/jobset-name",
  jobSetUid: "jobset.sigs.k8s.io/jobset-uid",
  replicatedJobName: "jobset.sigs.k8s.io/replicatedjob-name",
  replicatedJobReplicas: "jobset.sigs.k8s.io/replicatedjob-replicas",
  jobIndex: "jobset.sigs.k8s.io/job-index",
  jobGlobalIndex: "jobset.sigs.k8s.io/job-global-index",
  globalReplicas: "jobset.sigs.k8s.io/global-replicas",
  groupName: "jobset.sigs.k8s.io/group-name",
  groupReplicas: "jobset.sigs.k8s.io/group-replicas",
  jobGroupIndex: "jobset.sigs.k8s.io/job-group-index",
  jobKey: "jobset.sigs.k8s.io/job-key",
  restartAttempt: "jobset.sigs.k8s.io/restart-attempt",
  coordinator: "jobset.sigs.k8s.io/coordinator",
  /** Restarts of the one Job; only in JobSets whose failure policy restarts single Jobs. */
  jobRestartAttempt: "jobset.sigs.k8s.io/job-restart-attempt",
  /** Annotations of exclusive placement; the built-in executor refuses the first without the second. */
  exclusiveTopology: "alpha.jobset.sigs.k8s.io/exclusive-topology",
  nodeSelectorStrategy: "alpha.jobset.sigs.k8s.io/node-selector",
} as const;

/** Nodes that are reserved for one Job by exclusive placement. */
export const RESERVED_NODES = {
  /** Label of the node: the namespace and the name of the Job. */
  label: "alpha.jobset.sigs.k8s.io/namespaced-job",
  /** Taint that keeps all other pods away. */
  taint: "alpha.jobset.sigs.k8s.io/no-schedule",
} as const;

/** The part of the manager that has the rights to volume claims, and the end of the name of its ClusterRole. */
export const VOLUME_CLAIMS_PART = "volume-claims";

/** Conditions of a JobSet (kubernetes-sigs/jobset: api/jobset/v1alpha2/jobset_types.go). */
export const JOBSET_CONDITIONS = {
  completed: "Completed",
  failed: "Failed",
  suspended: "Suspended",
  startupInProgress: "StartupPolicyInProgress",
  startupCompleted: "StartupPolicyCompleted",
  restarting: "RestartingJobSet",
  /** Of the built-in executor: the spec holds something that it does not execute, or that is wrong. */
  refused: "Refused",
} as const;

/** Reasons of JobSet conditions and events (kubernetes-sigs/jobset: pkg/constants/constants.go). */
export const JOBSET_REASONS = {
  allJobsCompleted: "AllJobsCompleted",
  failedJobs: "FailedJobs",
  reachedMaxRestarts: "ReachedMaxRestarts",
  failJobSetAction: "FailJobSetFailurePolicyAction",
  suspended: "SuspendedJobs",
  resumed: "ResumeJobs",
  startupInProgress: "InOrderStartupPolicyInProgress",
  startupCompleted: "InOrderStartupPolicyCompleted",
  defaultFailurePolicy: "DefaultFailurePolicy",
  failurePolicyRulePrefix: "FailurePolicy_",
  jobsReady: "JobsReady",
  restartEndedByCompletion: "JobSetCompleted",
  restartEndedByFailure: "JobSetFailed",
  restartEndedBySuspension: "JobSetSuspended",
  jobCreationFailed: "JobCreationFailed",
  serviceCreationFailed: "HeadlessServiceCreationFailed",
  claimCreationFailed: "PVCCreationFailed",
  /** Of the built-in executor: a claim is being deleted, for some time already. */
  claimBeingDeleted: "PVCBeingDeleted",
  /** Of the built-in executor: a message pattern that does not compile, and so matches nothing. */
  invalidPattern: "InvalidFailurePolicyPattern",
  notSupported: "NotSupported",
  invalid: "Invalid",
  accepted: "Accepted",
} as const;
