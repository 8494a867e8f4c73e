/** Defaults of the built-in kinds that OpenAPI does not describe. */
import {
  asObjects,
  at,
  isObject,
  type JsonObject,
  objectAt,
  textAt,
} from "../../../platform/base/json.ts";

/** Fills defaults into a copy that may be changed in place. */
type Fill = (object: JsonObject) => void;

function fill(target: JsonObject, defaults: JsonObject): void {
  for (const [key, value] of Object.entries(defaults)) {
    if (target[key] === undefined || target[key] === "") target[key] = structuredClone(value);
  }
}

function each(list: unknown, change: Fill): void {
  for (const item of Array.isArray(list) ? list : []) if (isObject(item)) change(item);
}

function probeDefaults(probe: unknown): void {
  if (!isObject(probe)) return;
  fill(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  if (isObject(probe.httpGet)) fill(probe.httpGet, { path: "/", scheme: "HTTP" });
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
  each(container.ports, (port) => fill(port, { protocol: "TCP" }));
  each(container.env, (variable) => {
    const field = at(variable, "valueFrom", "fieldRef");
    if (isObject(field)) fill(field, { apiVersion: "v1" });
  });
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    probeDefaults(container[probe]);
  }
  for (const hook of ["postStart", "preStop"]) {
    const get = at(container, "lifecycle", hook, "httpGet");
    if (isObject(get)) fill(get, { path: "/", scheme: "HTTP" });
  }
}

function volumeDefaults(volume: JsonObject): void {
  const sources = Object.keys(volume).filter((key) => key !== "name" && volume[key] !== undefined);
  if (sources.length === 0) volume.emptyDir = {};
  for (const key of ["configMap", "secret", "downwardAPI", "projected"]) {
    const source = volume[key];
    if (isObject(source)) fill(source, { defaultMode: 0o644 });
  }
  const items = [
    ...asObjects(at(volume, "downwardAPI", "items")),
    ...asObjects(at(volume, "projected", "sources")).flatMap((source) =>
      asObjects(at(source, "downwardAPI", "items"))
    ),
  ];
  for (const item of items) {
    if (isObject(item.fieldRef)) fill(item.fieldRef, { apiVersion: "v1" });
  }
  each(at(volume, "projected", "sources"), (source) => {
    if (isObject(source.serviceAccountToken)) {
      fill(source.serviceAccountToken, { expirationSeconds: 3600 });
    }
  });
  if (isObject(volume.hostPath)) fill(volume.hostPath, { type: "" });
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
  each(spec.containers, containerDefaults);
  each(spec.initContainers, containerDefaults);
  each(spec.volumes, volumeDefaults);
}

/** Sets missing requests to the limits. */
function requestsFromLimits(container: JsonObject): void {
  const limits = at(container, "resources", "limits");
  if (!isObject(limits) || !isObject(container.resources)) return;
  container.resources.requests = { ...limits, ...objectAt(container, "resources", "requests") };
}

function podDefaults(pod: JsonObject): void {
  if (!isObject(pod.spec)) return;
  podSpecDefaults(pod.spec);
  fill(pod.spec, { enableServiceLinks: true });
  each(pod.spec.containers, requestsFromLimits);
  each(pod.spec.initContainers, requestsFromLimits);
}

const INT32_MAX = 2 ** 31 - 1;

function jobSpecDefaults(spec: JsonObject): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  fill(spec, {
    parallelism: 1,
    backoffLimit: spec.backoffLimitPerIndex === undefined ? 6 : INT32_MAX,
    completionMode: "NonIndexed",
    manualSelector: false,
    suspend: false,
    podReplacementPolicy: spec.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed",
  });
  const template = at(spec, "template", "spec");
  if (isObject(template)) podSpecDefaults(template);
}

function jobDefaults(job: JsonObject): void {
  if (!isObject(job.spec)) return;
  jobSpecDefaults(job.spec);
  const labels = objectAt(job, "spec", "template", "metadata", "labels");
  if (Object.keys(objectAt(job, "metadata", "labels")).length === 0 && isObject(job.metadata)) {
    if (Object.keys(labels).length > 0) job.metadata.labels = structuredClone(labels);
  }
}

function serviceDefaults(service: JsonObject): void {
  if (!isObject(service.spec)) service.spec = {};
  const spec = objectAt(service, "spec");
  fill(spec, { type: "ClusterIP", sessionAffinity: "None" });
  if (spec.type !== "ExternalName") fill(spec, { internalTrafficPolicy: "Cluster" });
  each(spec.ports, (port) => fill(port, { protocol: "TCP", targetPort: port.port }));
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

function webhookDefaults(mutating: boolean): Fill {
  return (configuration) =>
    each(configuration.webhooks, (webhook) => {
      fill(webhook, {
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        timeoutSeconds: 10,
        namespaceSelector: {},
        objectSelector: {},
        ...(mutating && { reinvocationPolicy: "Never" }),
      });
      each(webhook.rules, (rule) => fill(rule, { scope: "*" }));
      const service = at(webhook, "clientConfig", "service");
      if (isObject(service)) fill(service, { port: 443 });
    });
}

const RBAC = "rbac.authorization.k8s.io";

function bindingDefaults(binding: JsonObject): void {
  if (isObject(binding.roleRef)) fill(binding.roleRef, { apiGroup: RBAC });
  each(binding.subjects, (subject) => {
    if (subject.kind === "User" || subject.kind === "Group") fill(subject, { apiGroup: RBAC });
  });
}

const FILLS: Readonly<Record<string, Fill>> = {
  "/Pod": podDefaults,
  "/Service": serviceDefaults,
  "/Secret": secretDefaults,
  "/Namespace": namespaceDefaults,
  "batch/Job": jobDefaults,
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": webhookDefaults(true),
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": webhookDefaults(false),
  [`${RBAC}/RoleBinding`]: bindingDefaults,
  [`${RBAC}/ClusterRoleBinding`]: bindingDefaults,
};

/** Returns a copy of the object with the defaults of its kind; other kinds are returned unchanged. */
export function applyNativeDefaults(group: string, kind: string, object: unknown): unknown {
  const change = FILLS[`${group}/${kind}`];
  if (change === undefined || !isObject(object)) return object;
  const copy = structuredClone(object);
  change(copy);
  return copy;
}
