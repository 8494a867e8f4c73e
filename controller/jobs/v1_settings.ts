/** Settings of the administrator for all v1 jobs. */
import { JOB_LIMITS } from "../../crds/job_limits.ts";

/** The settings; each but the last has the meaning and default of the Training Operator's flag. */
export interface V1Settings {
  /** Image in which a PyTorchJob's workers wait for their master's name; it has `sh` and `nslookup` or `getent`. */
  readonly pytorchInitContainerImage: string;
  /** Times that they look for it, every two seconds. */
  readonly pytorchInitContainerMaxTries: number;
  /** Image that brings kubectl to an MPIJob's launcher. */
  readonly mpiKubectlDeliveryImage: string;
  /** Domain behind the names of Services in `TF_CONFIG`, such as `cluster.local`; empty for none. */
  readonly customClusterDomain: string;
  /** How many pods a job may have. */
  readonly maxPodsPerJob: number;
}

/** The defaults. */
export const DEFAULT_V1_SETTINGS: V1Settings = {
  pytorchInitContainerImage: "alpine:3.10",
  pytorchInitContainerMaxTries: 100,
  mpiKubectlDeliveryImage: "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest",
  customClusterDomain: "",
  maxPodsPerJob: JOB_LIMITS.pods,
};
