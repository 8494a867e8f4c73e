/** Names of the Training Operator's v1 API: group, labels of both generations, managers and annotations. */

export const V1_GROUP = "kubeflow.org";
export const V1_VERSION = "v1";
export const V1_API_VERSION = `${V1_GROUP}/${V1_VERSION}`;

/** Name of the part of the manager that runs the v1 kinds, and of its role. */
export const V1_JOBS_PART = "v1-jobs";
/** The part that gives launchers of MPIJobs the right to run commands in their workers. */
export const V1_MPI_PART = "v1-mpi";
/** The part that makes pod groups. */
export const V1_GANGS_PART = "v1-gangs";
/** The part that makes the autoscalers of elastic PyTorchJobs. */
export const V1_ELASTIC_PART = "v1-elastic";

/** Labels of pods and Services since version 1.4 of the operator. They select, they never authorize. */
export const V1_LABELS = {
  jobName: "training.kubeflow.org/job-name",
  operatorName: "training.kubeflow.org/operator-name",
  /** In lower case. */
  replicaType: "training.kubeflow.org/replica-type",
  replicaIndex: "training.kubeflow.org/replica-index",
  /** {@link MASTER_ROLE}, on pods only. */
  jobRole: "training.kubeflow.org/job-role",
} as const;

/** Labels of earlier versions, which dashboards and scripts still select by. */
export const V1_FORMER_LABELS = {
  groupName: "group-name",
  jobName: "job-name",
  replicaType: "replica-type",
  replicaIndex: "replica-index",
  jobRole: "job-role",
} as const;

/** Value of {@link V1_LABELS.jobRole} of the pod that speaks for the job. */
export const MASTER_ROLE = "master";

/** The value of `runPolicy.managedBy` that means this controller, as its absence does. */
export const V1_CONTROLLER = "kubeflow.org/training-operator";

/** Values of TFJob's `successPolicy`; the empty one is the default. */
export const SUCCESS_POLICIES = ["", "AllWorkers"] as const;

/** Values of MXJob's `jobMode`. */
export const MX_JOB_MODES = ["MXTrain", "MXTune"] as const;

/** On a CustomResourceDefinition: Milepost runs the kind. `milepost crds --v1` writes it. */
export const V1_RUN_BY_ANNOTATION = "trainer.kubeflow.org/run-by";
/** The value of {@link V1_RUN_BY_ANNOTATION} that means Milepost. */
export const V1_RUN_BY = "milepost";

/** In the pods of an MPIJob: the volume of its ConfigMap and where that is, its script for remote commands and its hostfile, what brings kubectl. */
export const V1_MPI = {
  volume: "mpi-job-config",
  path: "/etc/mpi",
  remoteShell: "kubexec.sh",
  hostfile: "hostfile",
  delivery: "kubectl-delivery",
} as const;

/** Values of `restartPolicy` of a replica type. */
export const RESTART_POLICIES = ["Always", "OnFailure", "Never", "ExitCode"] as const;
export type RestartPolicy = typeof RESTART_POLICIES[number];

/** Values of `runPolicy.cleanPodPolicy`. */
export const CLEAN_POD_POLICIES = ["All", "Running", "None"] as const;
export type CleanPodPolicy = typeof CLEAN_POD_POLICIES[number];

/** Types of the conditions of a v1 job. */
export const V1_CONDITIONS = {
  created: "Created",
  running: "Running",
  restarting: "Restarting",
  suspended: "Suspended",
  succeeded: "Succeeded",
  failed: "Failed",
  earlyStopped: "EarlyStopped",
} as const;
export type V1ConditionType = typeof V1_CONDITIONS[keyof typeof V1_CONDITIONS];
