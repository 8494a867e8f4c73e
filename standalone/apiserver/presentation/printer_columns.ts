/** Printer columns of the built-in kinds in `kubectl get`. */
import { isObject, numberAt, objectAt, objectsAt, textAt } from "../../../platform/base/json.ts";
import type { Column, Resource } from "../kinds/api_resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { boundSubjects } from "./binding_columns.ts";
import { age, humanDuration } from "../../../platform/base/human_duration.ts";
import { podRestarts, podStatus, readyContainers } from "./pod_columns.ts";

/** A column with its cell for an object. */
export interface PrinterColumn extends Omit<Column, "jsonPath"> {
  readonly cell: (object: ApiObject, now: number) => unknown;
}

type Cell = PrinterColumn["cell"];

const NONE = "<none>";

/** The first column of every kind. */
export const NAME_COLUMN: PrinterColumn = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name must be unique within a namespace.",
  cell: ({ metadata }) => metadata.name,
};

function column(name: string, cell: Cell, priority = 0): PrinterColumn {
  return { name, type: "string", priority, cell };
}

function integer(name: string, cell: Cell): PrinterColumn {
  return { name, type: "integer", cell };
}

const AGE = column("Age", ({ metadata }, now) => age(metadata.creationTimestamp, now));

/** Returns a cell with the text of a field of spec or status. */
function of(part: "spec" | "status", field: string, otherwise = NONE): Cell {
  return (object) => textAt(object[part], field) || otherwise;
}

function size(value: unknown): number {
  return Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
}

function pairs(value: unknown): string {
  const entries = isObject(value) ? Object.entries(value) : [];
  return entries.length === 0 ? NONE : entries.map(([key, one]) => `${key}=${one}`).join(",");
}

function containers(object: ApiObject) {
  const template = objectAt(object.spec, "template");
  return objectsAt(
    "containers" in objectAt(object, "spec") ? object.spec : template.spec,
    "containers",
  );
}

const CONTAINERS = [
  column("Containers", (o) => containers(o).map((one) => textAt(one, "name")).join(",") || NONE, 1),
  column("Images", (o) => containers(o).map((one) => textAt(one, "image")).join(",") || NONE, 1),
];

function condition(object: ApiObject, type: string): boolean {
  return objectsAt(object.status, "conditions")
    .some((one) => one.type === type && one.status === "True");
}

function jobStatus(job: ApiObject): string {
  if (condition(job, "Complete")) return "Complete";
  if (condition(job, "Failed")) return "Failed";
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating";
  if (condition(job, "Suspended")) return "Suspended";
  if (condition(job, "FailureTarget")) return "FailureTarget";
  return condition(job, "SuccessCriteriaMet") ? "SuccessCriteriaMet" : "Running";
}

function jobCompletions(job: ApiObject): string {
  const done = numberAt(job.status, "succeeded") ?? 0;
  const wanted = numberAt(job.spec, "completions");
  if (wanted !== undefined) return `${done}/${wanted}`;
  const parallel = numberAt(job.spec, "parallelism") ?? 0;
  return parallel > 1 ? `${done}/1 of ${parallel}` : `${done}/1`;
}

function jobDuration(job: ApiObject, now: number): string {
  const start = Date.parse(textAt(job.status, "startTime") ?? "");
  const end = Date.parse(textAt(job.status, "completionTime") ?? "");
  if (Number.isNaN(start)) return "";
  return humanDuration((Number.isNaN(end) ? now : end) - start);
}

function nodeStatus(node: ApiObject): string {
  const ready = objectsAt(node.status, "conditions").find((one) => one.type === "Ready");
  const status = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return objectAt(node, "spec").unschedulable === true ? `${status},SchedulingDisabled` : status;
}

function nodeRoles({ metadata }: ApiObject): string {
  const roles = Object.keys(metadata.labels ?? {})
    .filter((label) => label.startsWith("node-role.kubernetes.io/"))
    .map((label) => label.slice(label.indexOf("/") + 1));
  return roles.sort().join(",") || NONE;
}

function nodeAddress(node: ApiObject, type: string): string {
  const found = objectsAt(node.status, "addresses").find((one) => one.type === type);
  return textAt(found, "address") ?? NONE;
}

function servicePorts(service: ApiObject): string {
  const shown = objectsAt(service.spec, "ports").map((port) =>
    `${port.port}${port.nodePort ? `:${port.nodePort}` : ""}/${port.protocol ?? "TCP"}`
  );
  return shown.join(",") || NONE;
}

function about(event: ApiObject): string {
  const object = objectAt(event, "involvedObject");
  return `${(textAt(object, "kind") ?? "").toLowerCase()}/${textAt(object, "name") ?? ""}`;
}

function lastSeen(event: ApiObject, now: number): string {
  return age(event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp, now);
}

function ready(field: string, wanted: string): Cell {
  return (object) => `${numberAt(object.status, field) ?? 0}/${numberAt(object.spec, wanted) ?? 0}`;
}

function count(part: "spec" | "status", field: string): Cell {
  return (object) => numberAt(object[part], field) ?? 0;
}

const REPLICAS = [
  integer("Desired", count("spec", "replicas")),
  integer("Current", count("status", "replicas")),
  integer("Ready", count("status", "readyReplicas")),
];
const SELECTOR = column(
  "Selector",
  (o) => pairs(objectAt(o, "spec", "selector").matchLabels),
  1,
);
const role = (binding: ApiObject) =>
  `${textAt(binding.roleRef, "kind")}/${textAt(binding.roleRef, "name")}`;

const CREATED_AT = column("Created At", ({ metadata }) => metadata.creationTimestamp);
const BINDING = [
  column("Role", role),
  AGE,
  column("Users", boundSubjects("User"), 1),
  column("Groups", boundSubjects("Group"), 1),
  column("ServiceAccounts", boundSubjects("ServiceAccount"), 1),
];

const COLUMNS: Readonly<Record<string, readonly PrinterColumn[]>> = {
  "/pods": [
    column("Ready", readyContainers),
    column("Status", podStatus),
    column("Restarts", podRestarts),
    AGE,
    column("IP", of("status", "podIP"), 1),
    column("Node", of("spec", "nodeName"), 1),
    column("Nominated Node", of("status", "nominatedNodeName"), 1),
    column("Readiness Gates", () => NONE, 1),
  ],
  "batch/jobs": [
    column("Status", jobStatus),
    column("Completions", jobCompletions),
    column("Duration", jobDuration),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  "batch/cronjobs": [
    column("Schedule", of("spec", "schedule")),
    column("Suspend", (o) => objectAt(o, "spec").suspend === true ? "True" : "False"),
    integer("Active", (o) => size(objectAt(o, "status").active)),
    column("Last Schedule", (o, now) => {
      const time = textAt(o.status, "lastScheduleTime");
      return time === undefined ? NONE : age(time, now);
    }),
    AGE,
  ],
  "/events": [
    column("Last Seen", lastSeen),
    column("Type", (o) => textAt(o, "type")),
    column("Reason", (o) => textAt(o, "reason")),
    column("Object", about),
    column("Message", (o) => (textAt(o, "message") ?? "").trim()),
  ],
  "/nodes": [
    column("Status", nodeStatus),
    column("Roles", nodeRoles),
    AGE,
    column("Version", (o) => textAt(o, "status", "nodeInfo", "kubeletVersion")),
    column("Internal-IP", (o) => nodeAddress(o, "InternalIP"), 1),
    column("OS-Image", (o) => textAt(o, "status", "nodeInfo", "osImage"), 1),
  ],
  "/services": [
    column("Type", of("spec", "type", "ClusterIP")),
    column("Cluster-IP", of("spec", "clusterIP")),
    column("External-IP", () => NONE),
    column("Port(s)", servicePorts),
    AGE,
    column("Selector", (o) => pairs(objectAt(o, "spec").selector), 1),
  ],
  "/namespaces": [column("Status", of("status", "phase")), AGE],
  "/configmaps": [integer("Data", (o) => size(o.data) + size(o.binaryData)), AGE],
  "/secrets": [
    column("Type", (o) => textAt(o, "type")),
    integer("Data", (o) => size(o.data)),
    AGE,
  ],
  "/serviceaccounts": [AGE],
  "/persistentvolumeclaims": [
    column("Status", of("status", "phase")),
    column("Volume", of("spec", "volumeName", "")),
    column("StorageClass", of("spec", "storageClassName", "")),
    AGE,
  ],
  "coordination.k8s.io/leases": [column("Holder", of("spec", "holderIdentity", "")), AGE],
  "apps/deployments": [
    column("Ready", ready("readyReplicas", "replicas")),
    integer("Up-to-date", count("status", "updatedReplicas")),
    integer("Available", count("status", "availableReplicas")),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  "apps/replicasets": [...REPLICAS, AGE, ...CONTAINERS, SELECTOR],
  "/replicationcontrollers": [...REPLICAS, AGE, ...CONTAINERS],
  "apps/statefulsets": [column("Ready", ready("readyReplicas", "replicas")), AGE, ...CONTAINERS],
  "rbac.authorization.k8s.io/roles": [CREATED_AT],
  "rbac.authorization.k8s.io/clusterroles": [CREATED_AT],
  "rbac.authorization.k8s.io/rolebindings": BINDING,
  "rbac.authorization.k8s.io/clusterrolebindings": BINDING,
  "scheduling.k8s.io/priorityclasses": [
    integer("Value", ({ value }) => value),
    column("Global-Default", ({ globalDefault }) => `${globalDefault === true}`),
    AGE,
  ],
  "apiextensions.k8s.io/customresourcedefinitions": [
    CREATED_AT,
  ],
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": [
    integer("Webhooks", ({ webhooks }) => size(webhooks)),
    AGE,
  ],
  "admissionregistration.k8s.io/validatingwebhookconfigurations": [
    integer("Webhooks", ({ webhooks }) => size(webhooks)),
    AGE,
  ],
};

/** Returns the columns of a built-in kind; name and age by default. */
export function printersOf({ group, resource }: Resource): readonly PrinterColumn[] {
  const columns = COLUMNS[`${group}/${resource}`] ?? [AGE];
  // The names of events say nothing, so that they come last.
  if (group === "" && resource === "events") {
    return [...columns, { ...NAME_COLUMN, format: undefined, priority: 1 }];
  }
  return [NAME_COLUMN, ...columns];
}
