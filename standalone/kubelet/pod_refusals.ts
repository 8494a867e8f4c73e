/** Refusals: fields of a pod that this kubelet does not support, by their paths. Pure. */
import { type FieldProblem, problemsSummary } from "../../crds/field_problem.ts";
import type { Container, Pod, PodSpec, Volume } from "../../platform/kube/kubernetes.ts";

/** Volume sources that become files in the pod's folder. */
const VOLUME_SOURCES = ["configMap", "secret", "emptyDir", "projected", "downwardAPI"];
/** The source that is a folder of the machine if the kubelet has folders for claims. */
const CLAIM_SOURCE = "persistentVolumeClaim";
/** Parts of a projected volume. */
const PROJECTIONS = new Set(["serviceAccountToken", "configMap", "secret", "downwardAPI"]);
/** Pod security fields that change nothing for a plain process of the same user. */
const HARMLESS_POD_SECURITY = new Set(["seccompProfile", "runAsNonRoot"]);
/** Container security fields that change nothing, or only remove rights that nothing relies on. */
const HARMLESS_SECURITY = new Set([
  "allowPrivilegeEscalation",
  "capabilities",
  "readOnlyRootFilesystem",
  "seccompProfile",
  "runAsNonRoot",
]);

/** Whether a field is set: not absent, empty, false or zero. */
function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "" || value === 0) {
    return false;
  }
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** Fields of an object that are present: also those set to an empty object. */
function present(object: object): string[] {
  return Object.entries(object).filter(([, value]) => value !== undefined && value !== null)
    .map(([key]) => key);
}

const NO_NAMESPACES = "processes share the machine's namespaces";
const NO_USERS = "processes run as the user of the kubelet";

/** Fields of the pod, with the message about each if it is set. */
const POD_FIELDS: Readonly<Partial<Record<keyof PodSpec, string>>> = {
  hostNetwork: "pods have a loopback address of their own",
  hostPID: NO_NAMESPACES,
  hostIPC: NO_NAMESPACES,
  hostAliases: "names and addresses are the kubelet's own",
  dnsConfig: "the machine's own resolver holds",
  ephemeralContainers: "ephemeral containers cannot be started",
  runtimeClassName: "there is no container runtime",
  shareProcessNamespace: NO_NAMESPACES,
  setHostnameAsFQDN: "processes see the short host name",
  readinessGates: "nothing sets their conditions",
  resourceClaims: "there are no devices to claim",
};

/** Refusals of the pod's own fields. */
function podRefusals(spec: PodSpec): FieldProblem[] {
  const found: FieldProblem[] = [];
  const values = new Map<string, unknown>(Object.entries(spec));
  for (const [field, message] of Object.entries(POD_FIELDS)) {
    if (isSet(values.get(field))) found.push({ field: `spec.${field}`, message });
  }
  for (const field of present(spec.securityContext ?? {})) {
    if (HARMLESS_POD_SECURITY.has(field)) continue;
    found.push({ field: `spec.securityContext.${field}`, message: NO_USERS });
  }
  if (spec.hostUsers === false) found.push({ field: "spec.hostUsers", message: NO_NAMESPACES });
  if (spec.os?.name && spec.os.name !== "linux") {
    found.push({ field: "spec.os.name", message: "this machine runs Linux" });
  }
  return found;
}

/** Refusals of one volume. */
function volumeRefusals(volume: Volume, path: string, claims: boolean): FieldProblem[] {
  const known = claims ? [...VOLUME_SOURCES, CLAIM_SOURCE] : VOLUME_SOURCES;
  const sources = present(volume).filter((key) => key !== "name");
  const found = sources.filter((source) => !known.includes(source)).map((source) => ({
    field: `${path}.${source}`,
    message: `volumes can be ${known.join(", ")}`,
  }));
  for (const [index, part] of (volume.projected?.sources ?? []).entries()) {
    for (const source of present(part).filter((key) => !PROJECTIONS.has(key))) {
      const field = `${path}.projected.sources[${index}].${source}`;
      found.push({ field, message: `projected sources can be ${[...PROJECTIONS].join(", ")}` });
    }
  }
  return found;
}

/** Refusals of a container's mounts. */
function mountRefusals(container: Container, volumes: ReadonlySet<string>, path: string) {
  const found: FieldProblem[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `${path}.volumeMounts[${index}]`;
    const add = (field: string, message: string) =>
      found.push({ field: `${at}.${field}`, message });
    if (!volumes.has(mount.name)) add("name", `there is no volume "${mount.name}"`);
    if (!mount.mountPath.startsWith("/")) add("mountPath", "must begin with a slash");
    if (/^\/*$/.test(mount.mountPath)) add("mountPath", "the root folder cannot be replaced");
    if (mount.subPathExpr) add("subPathExpr", "use subPath");
    if (mount.subPath && /^\/|(^|\/)\.\.(\/|$)/.test(mount.subPath)) {
      add("subPath", "must be relative and without ..");
    }
    if (mount.mountPropagation && mount.mountPropagation !== "None") {
      add("mountPropagation", "mounts are private");
    }
  }
  return found;
}

/** Refusals of a container's probes and hooks. */
function handlerRefusals(container: Container, path: string): FieldProblem[] {
  const found: FieldProblem[] = [];
  const add = (field: string, message: string) =>
    found.push({ field: `${path}.${field}`, message });
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"] as const) {
    const { httpGet, grpc } = container[probe] ?? {};
    if (httpGet?.scheme === "HTTPS") add(`${probe}.httpGet.scheme`, "use HTTP, exec or tcpSocket");
    if (grpc) add(`${probe}.grpc`, "use exec, httpGet or tcpSocket");
  }
  const { postStart, preStop, stopSignal } = container.lifecycle ?? {};
  if (postStart) add("lifecycle.postStart", "only preStop.exec runs");
  if (stopSignal) add("lifecycle.stopSignal", "SIGTERM is sent");
  for (const hook of present(preStop ?? {}).filter((key) => key !== "exec" && key !== "sleep")) {
    add(`lifecycle.preStop.${hook}`, "only exec and sleep run");
  }
  return found;
}

/** Refusals of one container. */
function containerRefusals(container: Container, volumes: ReadonlySet<string>, path: string) {
  const found: FieldProblem[] = [];
  const add = (field: string, message: string) =>
    found.push({ field: `${path}.${field}`, message });
  if (!container.command?.length) {
    add(
      "command",
      `images are not pulled, so the entrypoint of "${container.image ?? ""}" is not known; ` +
        "name a program of this machine",
    );
  }
  for (const [index, port] of (container.ports ?? []).entries()) {
    if (port.hostPort) add(`ports[${index}].hostPort`, "ports are not mapped");
  }
  for (const field of present(container.securityContext ?? {})) {
    if (
      !HARMLESS_SECURITY.has(field) &&
      !(field === "privileged" && !container.securityContext?.privileged)
    ) {
      add(`securityContext.${field}`, NO_USERS);
    }
  }
  if (isSet(container.volumeDevices)) add("volumeDevices", "there are no block devices");
  if (isSet(container.stdin)) add("stdin", "processes have no input");
  if (isSet(container.tty)) add("tty", "processes have no terminal");
  for (const [index, variable] of (container.env ?? []).entries()) {
    if (variable.valueFrom?.fileKeyRef) {
      add(`env[${index}].valueFrom.fileKeyRef`, "use a ConfigMap or a Secret");
    }
  }
  return [
    ...found,
    ...mountRefusals(container, volumes, path),
    ...handlerRefusals(container, path),
  ];
}

/** All unsupported fields of the pod; empty if it can run. `claims`: whether claims are folders here. */
export function refusalsOf(pod: Pod, { claims = false } = {}): FieldProblem[] {
  const spec = pod.spec;
  if (!spec) return [{ field: "spec", message: "is missing" }];
  const found = podRefusals(spec);
  const volumes = new Set((spec.volumes ?? []).map((volume) => volume.name));
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    found.push(...volumeRefusals(volume, `spec.volumes[${index}]`, claims));
  }
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const path = `spec.initContainers[${index}]`;
    found.push(...containerRefusals(container, volumes, path));
    if (container.restartPolicy && container.restartPolicy !== "Always") {
      found.push({ field: `${path}.restartPolicy`, message: "can only be Always (a sidecar)" });
    }
  }
  for (const [index, container] of spec.containers.entries()) {
    const path = `spec.containers[${index}]`;
    found.push(...containerRefusals(container, volumes, path));
    if (container.restartPolicy) {
      found.push({ field: `${path}.restartPolicy`, message: "use the pod's restartPolicy" });
    }
  }
  return found;
}

/** One message for all refusals. */
export function refusalMessage(refusals: readonly FieldProblem[]): string {
  const list = problemsSummary(refusals);
  return `This node runs containers as plain processes and cannot run this pod: ${list}`;
}
