/** MPIJob (v1): a launcher that reaches its workers through the API server, without SSH. */
import type { Container, EnvVar } from "../../../crds/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules, Standing, TypeVerdict } from "../kind_rules.ts";
import { type Replica, type Replicas, replicasOf, type Run } from "../run.ts";
import { variables } from "./rendezvous.ts";
import { decides } from "./verdicts.ts";

const kind = V1_KINDS.MPIJob;
/** Folder of the launcher's scripts and hostfile. */
export const MPI_CONFIG_PATH = "/etc/mpi";
const REMOTE_SHELL = `${MPI_CONFIG_PATH}/kubexec.sh`;

/** Whether the pods of a type ask for GPUs. */
export function asksForGpus({ template }: Replicas): boolean {
  const limits = (template.spec?.containers ?? []).flatMap(({ resources }) =>
    Object.keys(resources?.limits ?? {})
  );
  return limits.some((name) => name.includes("gpu"));
}

const has = ({ env }: Container, name: string) => env?.some((it) => it.name === name) ?? false;

/** Variables of the launcher: how it starts its processes, and that it sees no GPU unless it asked for one. */
function environment(_run: Run, { of }: Replica): EnvVar[] {
  const [container] = of.template.spec?.containers ?? [];
  if (of.type !== "Launcher" || container === undefined) return [];
  const hydra = { I_MPI_HYDRA_BOOTSTRAP: "rsh", I_MPI_HYDRA_BOOTSTRAP_EXEC: REMOTE_SHELL };
  const missing = Object.entries(hydra).filter(([name]) => !has(container, name));
  return variables({
    OMPI_MCA_plm_rsh_agent: REMOTE_SHELL,
    OMPI_MCA_orte_default_hostfile: `${MPI_CONFIG_PATH}/hostfile`,
    ...Object.fromEntries(missing),
    ...(asksForGpus(of) ? {} : { NVIDIA_VISIBLE_DEVICES: "", NVIDIA_DRIVER_CAPABILITIES: "" }),
  });
}

/** A worker that was evicted ends the job: the launcher cannot reach it any more. */
function judge(run: Run, type: string, standing: Standing): TypeVerdict {
  if (type === "Launcher") return decides(run, type, standing);
  const count = replicasOf(run, type)?.count ?? 0;
  const evicted = Array.from({ length: count }, (_, index) => standing.pod(type, index))
    .some((pod) => pod?.status?.phase === "Failed" && pod.status.reason === "Evicted");
  return { running: false, succeeded: false, failed: evicted };
}

export const mpiJob: KindRules = {
  kind,
  environment,
  onlyTrainingContainer: true,
  isMaster: (_, { of }) => of.type === "Launcher",
  judge,
  namesNamespace: () => false,
};
