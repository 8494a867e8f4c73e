/** Implementations of MPI: the lines of their hostfiles, and the variables of their launchers. */
import type { EnvVar } from "../../../../platform/kube/kubernetes.ts";
import { MPI } from "../../../../crds/policy_names.ts";

/** What an implementation reads from its surroundings. */
export interface MpiImplementation {
  /** Returns the line of a host with that number of processes. */
  readonly hostLine: (host: string, slots: number) => string;
  /** Returns the variables of the launcher, which a TrainJob must not set itself. */
  readonly variables: (slots: number) => EnvVar[];
  /** Further variables of the launcher, each unless the launcher has a value for it. */
  readonly defaults?: readonly EnvVar[];
}

const HOSTFILE = `${MPI.hostfile.mountPath}/${MPI.hostfile.key}`;
/** Arguments of ssh: the name of a pod may resolve a moment after the pod is ready. */
const SSH_ARGUMENTS = "-o ConnectionAttempts=10";

const openMpi: MpiImplementation = {
  hostLine: (host, slots) => `${host} slots=${slots}`,
  variables: (slots) => [
    { name: "OMPI_MCA_orte_default_hostfile", value: HOSTFILE },
    { name: "OMPI_MCA_orte_keep_fqdn_hostnames", value: "true" },
    { name: "OMPI_MCA_orte_set_default_slots", value: String(slots) },
    { name: "OMPI_MCA_plm_rsh_args", value: SSH_ARGUMENTS },
  ],
  // mpirun of Open MPI 5 is PRRTE's, which ignores the variables of Open MPI 4: without its own for the hostfile it
  // starts every process in the launcher. Upstream has none, so TrainJobs may set them.
  defaults: [
    { name: "PRTE_MCA_prte_default_hostfile", value: HOSTFILE },
    { name: "PRTE_MCA_plm_ssh_args", value: SSH_ARGUMENTS },
  ],
};

/** The line of Hydra, the process manager of MPICH and of Intel MPI. */
const hydraLine = (host: string, slots: number) => `${host}:${slots}`;

const mpich: MpiImplementation = {
  hostLine: hydraLine,
  variables: () => [
    { name: "HYDRA_HOST_FILE", value: HOSTFILE },
    { name: "HYDRA_LAUNCHER", value: "ssh" },
    { name: "HYDRA_LAUNCHER_EXTRA_ARGS", value: SSH_ARGUMENTS },
  ],
};

const intel: MpiImplementation = {
  hostLine: hydraLine,
  variables: (slots) => [
    { name: "I_MPI_HYDRA_HOST_FILE", value: HOSTFILE },
    { name: "I_MPI_HYDRA_BOOTSTRAP", value: "ssh" },
    { name: "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", value: SSH_ARGUMENTS },
    { name: "I_MPI_PERHOST", value: String(slots) },
  ],
};

/** By `mlPolicy.mpi.mpiImplementation`. */
export const MPI_IMPLEMENTATIONS: Readonly<Record<string, MpiImplementation>> = {
  OpenMPI: openMpi,
  Intel: intel,
  IntelMPI: intel,
  MPICH: mpich,
};
