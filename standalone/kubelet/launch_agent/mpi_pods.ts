/** Pods of an MPI job: how they are recognized, and what is different for them without SSH. Pure. */
import type { Container, EnvVar, Pod } from "../../../crds/kubernetes.ts";
import { MPI } from "../../../crds/names.ts";
import { LAUNCH_AGENT } from "../../../crds/pod_names.ts";

/** A pod of an MPI job, by the Secret with the job's SSH keys, which all its pods mount and no others. */
export interface MpiPod {
  /** The same for all pods of a job, and for no other. */
  readonly job: string;
  /** The container that has the keys: commands of other pods run in it. */
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

function hasKeys({ volumeMounts }: Container): boolean {
  return volumeMounts?.some(({ name }) => name === MPI.sshAuth.volume) ?? false;
}

/** Recognizes a pod of an MPI job. */
export function mpiPodOf(pod: Pod): MpiPod | undefined {
  const volume = pod.spec?.volumes?.find(({ name }) => name === MPI.sshAuth.volume);
  const container = pod.spec?.containers.find(hasKeys);
  if (!volume?.secret?.secretName || !container) return undefined;
  return {
    job: `${pod.metadata?.namespace ?? ""}/${volume.secret.secretName}`,
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

/** Adapts a pod of an MPI job. Variables that a container has itself win over those of the agent. */
export function adaptMpiPod(pod: Pod, address: AgentAddress): AdaptedPod {
  const { spec } = pod;
  if (!spec) return { pod, ignored: [], replaced: [] };
  const [securityContext, fields] = withoutUsers(spec.securityContext);
  const ignored = fields.map((field) => `spec.securityContext.${field}`);
  const replaced: string[] = [];
  const containers = spec.containers.map((container) => {
    if (!hasKeys(container)) return container;
    const [own, ownFields] = withoutUsers(container.securityContext);
    const path = `spec.containers[${container.name}].securityContext`;
    ignored.push(...ownFields.map((field) => `${path}.${field}`));
    if (isSshServer(container)) replaced.push(container.name);
    return {
      ...isSshServer(container) ? withStandIn(container) : container,
      env: [...agentVariables(address), ...container.env ?? []],
      securityContext: own,
    };
  });
  return { pod: { ...pod, spec: { ...spec, securityContext, containers } }, ignored, replaced };
}
