/** Defaults of Kubernetes' types that OpenAPI does not describe, wherever an object of the type stands. */
import { at, isObject, type JsonObject, objectAt, textAt } from "../../../platform/base/json.ts";

/** Fills defaults into a copy that may be changed in place, whose members have theirs. */
export type Fill = (object: JsonObject) => void;

function fill(target: JsonObject, defaults: JsonObject): void {
  for (const [key, value] of Object.entries(defaults)) {
    if (target[key] === undefined || target[key] === "") target[key] = structuredClone(value);
  }
}

const filling = (defaults: JsonObject): Fill => (object) => fill(object, defaults);

function each(list: unknown, change: Fill): void {
  for (const item of Array.isArray(list) ? list : []) if (isObject(item)) change(item);
}

/** Images without a tag, or with `latest`, are always pulled. */
function pullPolicy(image: string): string {
  const name = image.split("/").at(-1) ?? "";
  if (name.includes("@")) return "IfNotPresent";
  const tag = name.includes(":") ? name.split(":").at(-1) : "latest";
  return tag === "latest" ? "Always" : "IfNotPresent";
}

function containerDefaults(container: JsonObject): void {
  fill(container, {
    imagePullPolicy: pullPolicy(textAt(container, "image") ?? ""),
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
  });
}

function volumeDefaults(volume: JsonObject): void {
  const sources = Object.keys(volume).filter((key) => key !== "name" && volume[key] !== undefined);
  if (sources.length === 0) volume.emptyDir = {};
}

function podSpecDefaults(spec: JsonObject): void {
  fill(spec, {
    restartPolicy: "Always",
    dnsPolicy: "ClusterFirst",
    terminationGracePeriodSeconds: 30,
    schedulerName: "default-scheduler",
    securityContext: {},
  });
  // The deprecated field has the same value.
  const account = textAt(spec, "serviceAccountName") || textAt(spec, "serviceAccount");
  if (account) fill(spec, { serviceAccountName: account, serviceAccount: account });
}

/** Sets missing requests to the limits. */
function requestsFromLimits(container: JsonObject): void {
  const limits = at(container, "resources", "limits");
  if (!isObject(limits) || !isObject(container.resources)) return;
  container.resources.requests = { ...limits, ...objectAt(container, "resources", "requests") };
}

function podDefaults(pod: JsonObject): void {
  if (!isObject(pod.spec)) return;
  fill(pod.spec, { enableServiceLinks: true });
  each(pod.spec.containers, requestsFromLimits);
  each(pod.spec.initContainers, requestsFromLimits);
}

const INT32_MAX = 2 ** 31 - 1;

function jobDefaults(job: JsonObject): void {
  const { spec } = job;
  if (!isObject(spec)) return;
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  fill(spec, {
    parallelism: 1,
    backoffLimit: spec.backoffLimitPerIndex === undefined ? 6 : INT32_MAX,
    completionMode: "NonIndexed",
    manualSelector: false,
    suspend: false,
    podReplacementPolicy: spec.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed",
  });
  const labels = objectAt(spec, "template", "metadata", "labels");
  if (Object.keys(objectAt(job, "metadata", "labels")).length === 0 && isObject(job.metadata)) {
    if (Object.keys(labels).length > 0) job.metadata.labels = structuredClone(labels);
  }
}

function serviceDefaults(service: JsonObject): void {
  if (!isObject(service.spec)) service.spec = {};
  const spec = objectAt(service, "spec");
  fill(spec, { type: "ClusterIP", sessionAffinity: "None" });
  if (spec.type !== "ExternalName") fill(spec, { internalTrafficPolicy: "Cluster" });
  each(spec.ports, (port) => fill(port, { targetPort: port.port }));
  const address = textAt(spec, "clusterIP");
  if (address !== undefined && address !== "") fill(spec, { clusterIPs: [address] });
}

/** Moves `stringData`, which is write-only, to `data`. */
function secretDefaults(secret: JsonObject): void {
  fill(secret, { type: "Opaque" });
  const { stringData } = secret;
  if (!isObject(stringData)) return;
  const texts = Object.entries(stringData).map(([key, text]) => [
    key,
    new TextEncoder().encode(String(text)).toBase64(),
  ]);
  secret.data = { ...objectAt(secret, "data"), ...Object.fromEntries(texts) };
  delete secret.stringData;
}

function namespaceDefaults(namespace: JsonObject): void {
  if (isObject(namespace.metadata) && textAt(namespace, "metadata", "name")) {
    namespace.metadata.labels = {
      ...objectAt(namespace, "metadata", "labels"),
      "kubernetes.io/metadata.name": namespace.metadata.name,
    };
  }
}

const RBAC = "rbac.authorization.k8s.io";

function subjectDefaults(subject: JsonObject): void {
  if (subject.kind === "User" || subject.kind === "Group") fill(subject, { apiGroup: RBAC });
}

const WEBHOOK = {
  failurePolicy: "Fail",
  matchPolicy: "Equivalent",
  timeoutSeconds: 10,
  namespaceSelector: {},
  objectSelector: {},
};
const FILES = filling({ defaultMode: 0o644 });
/** To Kubernetes an empty text is no protocol; OpenAPI's default is for one that is not there. */
const PORT = filling({ protocol: "TCP" });

/** The defaults of each type, by the end of the name of its schema. */
const FILLS: Readonly<Record<string, Fill>> = {
  "core.v1.Container": containerDefaults,
  "core.v1.ContainerPort": PORT,
  "core.v1.Probe": filling({
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  }),
  "core.v1.HTTPGetAction": filling({ path: "/", scheme: "HTTP" }),
  "core.v1.ObjectFieldSelector": filling({ apiVersion: "v1" }),
  "core.v1.Volume": volumeDefaults,
  "core.v1.ConfigMapVolumeSource": FILES,
  "core.v1.SecretVolumeSource": FILES,
  "core.v1.DownwardAPIVolumeSource": FILES,
  "core.v1.ProjectedVolumeSource": FILES,
  "core.v1.HostPathVolumeSource": filling({ type: "" }),
  "core.v1.ServiceAccountTokenProjection": filling({ expirationSeconds: 3600 }),
  "core.v1.PodSpec": podSpecDefaults,
  "core.v1.Pod": podDefaults,
  "core.v1.Service": serviceDefaults,
  "core.v1.ServicePort": PORT,
  "core.v1.Secret": secretDefaults,
  "core.v1.Namespace": namespaceDefaults,
  "batch.v1.Job": jobDefaults,
  "admissionregistration.v1.MutatingWebhook": filling({ ...WEBHOOK, reinvocationPolicy: "Never" }),
  "admissionregistration.v1.ValidatingWebhook": filling(WEBHOOK),
  "admissionregistration.v1.RuleWithOperations": filling({ scope: "*" }),
  "admissionregistration.v1.ServiceReference": filling({ port: 443 }),
  "rbac.v1.RoleRef": filling({ apiGroup: RBAC }),
  "rbac.v1.Subject": subjectDefaults,
};

/** Returns what fills in the defaults of the type whose schema has that name; undefined if it has none of these. */
export function fillOf(schemaName: string): Fill | undefined {
  return FILLS[schemaName.replace("io.k8s.api.", "")];
}
