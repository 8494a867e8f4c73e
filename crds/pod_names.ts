/** Names that Kubernetes' kubelet and scheduler write, which our own kubelet writes as they do. */

/** Conditions of a pod that kubelet and scheduler write (Kubernetes core/v1). */
export const POD_CONDITIONS = {
  scheduled: "PodScheduled",
  initialized: "Initialized",
  containersReady: "ContainersReady",
  ready: "Ready",
  disruptionTarget: "DisruptionTarget",
} as const;

/** Whether that is the phase of a pod whose containers have all ended for good. */
export const isEndedPhase = (phase: string | undefined): boolean =>
  phase === "Succeeded" || phase === "Failed";

/** Reasons on pods and containers, as Kubernetes' own kubelet and scheduler spell them. */
export const POD_REASONS = {
  unschedulable: "Unschedulable",
  schedulingGated: "SchedulingGated",
  failedScheduling: "FailedScheduling",
  deadlineExceeded: "DeadlineExceeded",
  notReady: "ContainersNotReady",
  notInitialized: "ContainersNotInitialized",
  completed: "PodCompleted",
  terminatedByKubelet: "TerminationByKubelet",
  unsupported: "UnsupportedByKubelet",
  notEnforced: "NotEnforced",
  commandReplaced: "CommandReplaced",
  containerCreating: "ContainerCreating",
  podInitializing: "PodInitializing",
  crashLoopBackOff: "CrashLoopBackOff",
  createContainerError: "CreateContainerError",
  createContainerConfigError: "CreateContainerConfigError",
  containerCompleted: "Completed",
  containerError: "Error",
  startError: "StartError",
  outOfMemory: "OOMKilled",
  evicted: "Evicted",
  failedMount: "FailedMount",
  unhealthy: "Unhealthy",
  killing: "Killing",
  started: "Started",
  failed: "Failed",
  backOff: "BackOff",
} as const;

/** Namespace of the kubelet's heartbeats, the labels of every node, and the resources of its disk and GPUs. */
export const NODES = {
  leaseNamespace: "kube-node-lease",
  hostnameLabel: "kubernetes.io/hostname",
  osLabel: "kubernetes.io/os",
  archLabel: "kubernetes.io/arch",
  defaultScheduler: "default-scheduler",
  disk: "ephemeral-storage",
  gpu: "nvidia.com/gpu",
  /** Of our own kubelet, as a Node's `containerRuntimeVersion`. */
  processRuntime: "process://1",
} as const;

/** Variable by which the kubelet finds every process of a container, in any session. */
export const CONTAINER_MARK_ENV = "MILEPOST_CONTAINER";

/**
 * Variable by which the kubelet says where a container's termination message is, since a program that
 * looks for it by its path in Kubernetes may not find it there.
 */
export const TERMINATION_MESSAGE_ENV = "MILEPOST_TERMINATION_LOG";

/** Launch agent: what the kubelet has in place of SSH for the pods of an MPI job (docs/decisions/0048). */
export const LAUNCH_AGENT = {
  /** Command of the executable. */
  command: "launch-agent",
  /** Program in the search path of containers, which runs that command. */
  program: "milepost-launch-agent",
  /** Variables by which it reaches the kubelet, and by which the kubelet knows the job. */
  socketEnv: "MILEPOST_LAUNCH_SOCKET",
  tokenEnv: "MILEPOST_LAUNCH_TOKEN",
  /** Variables that name the agent: of Open MPI 4 and 5, of MPICH's and of Intel MPI's Hydra. */
  agentEnv: [
    "OMPI_MCA_plm_rsh_agent",
    "PRTE_MCA_plm_ssh_agent",
    "HYDRA_LAUNCHER_EXEC",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
  ],
} as const;
