/** Pods of an MPIJob: the launcher has kubectl, the hostfile and the scripts; the workers wait for commands. */
import type { Container, EnvVar, PodSpec, Volume } from "../../../platform/kube/kubernetes.ts";
import { V1_MPI } from "../../../crds/v1/names.ts";
import { isLauncher, type Replica, type Replicas, type Run } from "../run.ts";
import { variables } from "./rendezvous.ts";

/** Names of the files in the job's ConfigMap. */
export const MPI_FILES = {
  hostfile: V1_MPI.hostfile,
  remoteShell: V1_MPI.remoteShell,
  discoverHosts: "discover_hosts.sh",
} as const;
/** Folder of the launcher in which kubectl is. */
export const KUBECTL_PATH = "/opt/kube";

const KUBECTL_VOLUME = "mpi-job-kubectl";
const DELIVERY_RESOURCES = { cpu: "100m", memory: "512Mi", "ephemeral-storage": "5Gi" };
const EXECUTABLE = 0o555;
const READABLE = 0o444;

const configMount = { name: V1_MPI.volume, mountPath: V1_MPI.path };
const kubectlMount = { name: KUBECTL_VOLUME, mountPath: KUBECTL_PATH };

/** Whether the pods of a type ask for GPUs. */
export function asksForGpus({ template }: Replicas): boolean {
  const limits = (template.spec?.containers ?? []).flatMap(({ resources }) =>
    Object.keys(resources?.limits ?? {})
  );
  return limits.some((name) => name.includes("gpu"));
}

const has = ({ env }: Container, name: string) => env?.some((it) => it.name === name) ?? false;

/** Returns the variables of the launcher: how processes are started, and that it sees no GPU unless it asked for one. */
export function launcherEnvironment(of: Replicas, container: Container): EnvVar[] {
  const remoteShell = `${V1_MPI.path}/${MPI_FILES.remoteShell}`;
  const hydra = { I_MPI_HYDRA_BOOTSTRAP: "rsh", I_MPI_HYDRA_BOOTSTRAP_EXEC: remoteShell };
  return variables({
    OMPI_MCA_plm_rsh_agent: remoteShell,
    OMPI_MCA_orte_default_hostfile: `${V1_MPI.path}/${MPI_FILES.hostfile}`,
    ...(asksForGpus(of) ? {} : { NVIDIA_VISIBLE_DEVICES: "", NVIDIA_DRIVER_CAPABILITIES: "" }),
    ...Object.fromEntries(Object.entries(hydra).filter(([name]) => !has(container, name))),
  });
}

function configVolume(run: Run, files: readonly (readonly [key: string, mode: number])[]): Volume {
  const items = files.map(([key, mode]) => ({ key, path: key, mode }));
  return { name: V1_MPI.volume, configMap: { name: `${run.name}-config`, items } };
}

/** Brings kubectl, which the training image need not have. */
function delivery({ namespace, settings }: Run): Container {
  return {
    name: V1_MPI.delivery,
    image: settings.mpiKubectlDeliveryImage,
    imagePullPolicy: "IfNotPresent",
    env: variables({ TARGET_DIR: KUBECTL_PATH, NAMESPACE: namespace }),
    volumeMounts: [kubectlMount, configMount],
    resources: { limits: DELIVERY_RESOURCES, requests: DELIVERY_RESOURCES },
  };
}

/** The first container, changed. */
function withFirst(containers: readonly Container[], change: (it: Container) => Container) {
  return containers.map((it, place) => place === 0 ? change(it) : it);
}

const mounted = (it: Container, ...mounts: NonNullable<Container["volumeMounts"]>) => ({
  ...it,
  volumeMounts: [...it.volumeMounts ?? [], ...mounts],
});

function launcherSpec(run: Run, spec: PodSpec): PodSpec {
  return {
    ...spec,
    serviceAccountName: spec.serviceAccountName || `${run.name}-launcher`,
    initContainers: [...spec.initContainers ?? [], delivery(run)],
    containers: withFirst(spec.containers, (it) => mounted(it, kubectlMount, configMount)),
    volumes: [
      ...spec.volumes ?? [],
      { name: KUBECTL_VOLUME, emptyDir: {} },
      configVolume(run, [
        [MPI_FILES.remoteShell, EXECUTABLE],
        [MPI_FILES.hostfile, READABLE],
        [MPI_FILES.discoverHosts, EXECUTABLE],
      ]),
    ],
  };
}

/** A worker without a command of its own sleeps. It has the script because Open MPI looks for it in every rank. */
function workerSpec(run: Run, spec: PodSpec): PodSpec {
  const sleeps = { command: ["sleep"], args: ["365d"] };
  return {
    ...spec,
    containers: withFirst(spec.containers, (it) => ({
      ...mounted(it, configMount),
      ...((it.command ?? []).length === 0 && sleeps),
    })),
    volumes: [...spec.volumes ?? [], configVolume(run, [[MPI_FILES.remoteShell, EXECUTABLE]])],
  };
}

/** Returns the spec of a replica's pod with what MPI needs. */
export function mpiPodSpec(run: Run, replica: Replica, spec: PodSpec): PodSpec {
  return isLauncher(run, replica) ? launcherSpec(run, spec) : workerSpec(run, spec);
}
