/** Pods of an MPI job: how they are recognized, and what is different for them without SSH. Pure. */
import type { Container, EnvVar, Pod, PodSpec } from "../../../platform/kube/kubernetes.ts";
import { MPI } from "../../../crds/policy_names.ts";
import { LAUNCH_AGENT } from "../../../crds/pod_names.ts";
import { V1_MPI } from "../../../crds/v1/names.ts";

/**
 * A pod of an MPI job, by what all its pods mount and no others: of a TrainJob the Secret with its SSH keys, of an
 * MPIJob the ConfigMap with its script for remote commands.
 */
export interface MpiPod {
  /** The same for all pods of a job, and for no other. */
  readonly job: string;
  /** The container that has the mount: commands of other pods run in it. */
  readonly container: string;
}

/** Addresses of the agent for a container. */
export interface AgentAddress {
  /** Path of the agent's program. */
  readonly program: string;
  readonly socket: string;
  readonly token: string;
}

/** A pod as it can run here. */
export interface AdaptedPod {
  readonly pod: Pod;
  /** Paths of the fields that were left out. */
  readonly ignored: readonly string[];
  /** Containers whose SSH server has a stand-in. */
  readonly replaced: readonly string[];
}

/** Fields that say as which user the SSH server and its sessions run; here all run as one user. */
const USER_FIELDS = new Set([
  "runAsUser",
  "runAsGroup",
  "fsGroup",
  "fsGroupChangePolicy",
  "supplementalGroups",
]);

const PROBES = ["startupProbe", "readinessProbe", "livenessProbe"] as const;

/** Waits as an SSH server does, and ends with 0 at SIGTERM as that does. */
const STAND_IN = [
  "/bin/sh",
  "-c",
  "trap 'exit 0' TERM; " +
  "echo 'No SSH server runs here: the kubelet runs the commands of the launcher in this container.'; " +
  "sleep infinity & wait $! 2> /dev/null",
];

function mounts({ volumeMounts }: Container, volume: string): boolean {
  return volumeMounts?.some(({ name }) => name === volume) ?? false;
}

/** Whether commands of other pods run in the container. */
function isReached(container: Container): boolean {
  return mounts(container, MPI.sshAuth.volume) || mounts(container, V1_MPI.volume);
}

/** The object that only pods of one job mount, and the name of its volume. */
function commonVolume(pod: Pod): { volume: string; object: string } | undefined {
  for (const { name, secret, configMap } of pod.spec?.volumes ?? []) {
    if (name === MPI.sshAuth.volume && secret?.secretName) {
      return { volume: name, object: secret.secretName };
    }
    if (name === V1_MPI.volume && configMap?.name) {
      return { volume: name, object: `configmaps/${configMap.name}` };
    }
  }
  return undefined;
}

/** Recognizes a pod of an MPI job. */
export function mpiPodOf(pod: Pod): MpiPod | undefined {
  const common = commonVolume(pod);
  const container = common && pod.spec?.containers.find((it) => mounts(it, common.volume));
  if (!common || !container) return undefined;
  return {
    job: `${pod.metadata?.namespace ?? ""}/${common.object}`,
    container: container.name,
  };
}

/** Splits a security context into what stays and the fields that name users. */
function withoutUsers<T extends object>(context: T | undefined): [T | undefined, string[]] {
  if (context === undefined) return [undefined, []];
  const fields = Object.keys(context).filter((field) => USER_FIELDS.has(field));
  const rest = { ...context };
  for (const field of fields) Reflect.deleteProperty(rest, field);
  return [rest, fields];
}

/** Whether the command is an SSH server, as in the runtimes for MPI. */
function isSshServer({ command }: Container): boolean {
  return /(^|\/)sshd$/.test(command?.[0] ?? "");
}

/** The container without its SSH server, nor the probes of the port that would listen. */
function withStandIn(container: Container): Container {
  const result = { ...container, command: STAND_IN };
  delete result.args;
  for (const probe of PROBES) {
    if (result[probe]?.tcpSocket) delete result[probe];
  }
  return result;
}

/**
 * The variables by which mpirun finds the agent. Open MPI reads a list with arguments, in which a path with blanks
 * or colons cannot stand: such a program is found by its name, on the search path.
 */
export function agentVariables({ program, socket, token }: AgentAddress): EnvVar[] {
  const agent = /[\s:,]/.test(program) ? LAUNCH_AGENT.program : program;
  return [
    ...LAUNCH_AGENT.agentEnv.map((name) => ({ name, value: agent })),
    { name: LAUNCH_AGENT.socketEnv, value: socket },
    { name: LAUNCH_AGENT.tokenEnv, value: token },
  ];
}

/** The variables of a container without those by which the launcher of an MPIJob calls kubectl. */
function ownVariables({ env = [] }: Container): EnvVar[] {
  const script = `${V1_MPI.path}/${V1_MPI.remoteShell}`;
  const names: readonly string[] = LAUNCH_AGENT.agentEnv;
  return env.filter(({ name, value }) => !names.includes(name) || value !== script);
}

/** The hostfile of an MPIJob as Open MPI 5 reads it; the Training Operator names it only for Open MPI 4. */
function hostfileVariables({ env = [] }: Container): EnvVar[] {
  const value = `${V1_MPI.path}/${V1_MPI.hostfile}`;
  return env.some((it) => it.value === value)
    ? [{ name: "PRTE_MCA_prte_default_hostfile", value }]
    : [];
}

/** Splits init containers into those that run and what brings kubectl, which nobody needs here. */
function withoutDelivery(spec: PodSpec): [Container[], string[]] {
  const all = spec.initContainers ?? [];
  const isDelivery = ({ name }: Container) =>
    name === V1_MPI.delivery && spec.volumes?.some((it) => it.name === V1_MPI.volume);
  const left = all.filter(isDelivery).map(({ name }) => `spec.initContainers[${name}]`);
  return [all.filter((it) => !isDelivery(it)), left];
}

/** Adapts a pod of an MPI job. Variables that a container has itself win over those of the agent. */
export function adaptMpiPod(pod: Pod, address: AgentAddress): AdaptedPod {
  const { spec } = pod;
  if (!spec) return { pod, ignored: [], replaced: [] };
  const [securityContext, fields] = withoutUsers(spec.securityContext);
  const [initContainers, delivery] = withoutDelivery(spec);
  const ignored = [...delivery, ...fields.map((field) => `spec.securityContext.${field}`)];
  const replaced: string[] = [];
  const containers = spec.containers.map((container) => {
    if (!isReached(container)) return container;
    const [own, ownFields] = withoutUsers(container.securityContext);
    const path = `spec.containers[${container.name}].securityContext`;
    ignored.push(...ownFields.map((field) => `${path}.${field}`));
    if (isSshServer(container)) replaced.push(container.name);
    return {
      ...isSshServer(container) ? withStandIn(container) : container,
      env: [
        ...agentVariables(address),
        ...hostfileVariables(container),
        ...ownVariables(container),
      ],
      securityContext: own,
    };
  });
  return {
    pod: { ...pod, spec: { ...spec, securityContext, initContainers, containers } },
    ignored,
    replaced,
  };
}
