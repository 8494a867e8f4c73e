/** Conformance of the validation of Jobs, Services, ConfigMaps, Secrets and metadata. */
import assert from "node:assert/strict";
import type { Answer, Case, Sandbox } from "./api.ts";
import { configMap, deployment, job, object, podTemplate, service } from "./objects.ts";

const RBAC = "rbac.authorization.k8s.io/v1";

/** An object at a path, with the causes of its refusal: `reason field`. */
interface Refusal {
  readonly path: string;
  readonly body: Answer | ((api: Sandbox) => Answer);
  readonly causes: string[];
}

function jobWith(spec: Record<string, unknown>, ...causes: string[]): Refusal {
  return { path: "batch/v1/jobs", body: job("a", spec), causes };
}

function serviceWith(spec: Record<string, unknown>, ...causes: string[]): Refusal {
  return { path: "services", body: service("a", spec), causes };
}

function named(metadata: Record<string, unknown>, ...causes: string[]): Refusal {
  return { path: "configmaps", body: configMap("a", metadata), causes };
}

function leaseWith(spec: Record<string, unknown>, ...causes: string[]): Refusal {
  const body = object("coordination.k8s.io/v1", "Lease", "a", { spec });
  return { path: "coordination.k8s.io/v1/leases", body, causes };
}

const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" };
const NEVER = { restartPolicy: "Never" };

const REFUSED: Record<string, Refusal> = {
  "a name in capitals": named({ name: "A" }, "FieldValueInvalid metadata.name"),
  "a name that is too long": named({ name: "a".repeat(254) }, "FieldValueInvalid metadata.name"),
  "an invalid label's key": named(
    { labels: { "a b": "x" } },
    "FieldValueInvalid metadata.labels",
  ),
  "a label's value that is too long": named(
    { labels: { a: "x".repeat(64) } },
    "FieldValueInvalid metadata.labels",
  ),
  "an invalid annotation's key": named(
    { annotations: { "a b": "x" } },
    "FieldValueInvalid metadata.annotations",
  ),
  "annotations over 256 KiB": named(
    { annotations: { a: "x".repeat(262_145) } },
    "FieldValueTooLong metadata.annotations",
  ),
  "a finalizer without a domain": named(
    { finalizers: ["mine"] },
    "FieldValueInvalid metadata.finalizers[0]",
  ),
  "an owner without a UID": named(
    { ownerReferences: [{ ...OWNER, uid: "" }] },
    "FieldValueInvalid metadata.ownerReferences.uid",
  ),
  "two controllers": named(
    {
      ownerReferences: ["a", "b"].map((name) => ({ ...OWNER, name, uid: name, controller: true })),
    },
    "FieldValueInvalid metadata.ownerReferences",
  ),
  "a key of data that is no file name": {
    path: "configmaps",
    body: configMap("a", {}, { data: { "a/b": "x" } }),
    causes: ["FieldValueInvalid data[a/b]"],
  },
  "a key in data and in binaryData": {
    path: "configmaps",
    body: configMap("a", {}, { data: { k: "x" }, binaryData: { k: "AA==" } }),
    causes: ["FieldValueInvalid data[k]"],
  },
  "a Secret's key that is no file name": {
    path: "secrets",
    body: object("v1", "Secret", "a", { data: { "a/b": "AA==" } }),
    causes: ["FieldValueInvalid data[a/b]"],
  },
  "a TLS Secret without its key": {
    path: "secrets",
    body: object("v1", "Secret", "a", { type: "kubernetes.io/tls", data: { "tls.crt": "AA==" } }),
    causes: ["FieldValueRequired data[tls.key]"],
  },
  "a Job that restarts always": jobWith(
    { template: podTemplate() },
    "FieldValueRequired spec.template.spec.restartPolicy",
  ),
  "a Job with a negative back-off limit": jobWith(
    { backoffLimit: -1 },
    "FieldValueInvalid spec.backoffLimit",
  ),
  "a Job with negative parallelism": jobWith(
    { parallelism: -1 },
    "FieldValueInvalid spec.parallelism",
  ),
  "a Job with a negative deadline": jobWith(
    { activeDeadlineSeconds: -1 },
    "FieldValueInvalid spec.activeDeadlineSeconds",
  ),
  "a Job that outlives its end by a negative time": jobWith(
    { ttlSecondsAfterFinished: -1 },
    "FieldValueInvalid spec.ttlSecondsAfterFinished",
  ),
  "an indexed Job without completions": jobWith(
    { completionMode: "Indexed", parallelism: 2 },
    "FieldValueRequired spec.completions",
  ),
  "a Job with a selector of its own that it does not announce": jobWith(
    { selector: { matchLabels: { a: "b" } } },
    "FieldValueInvalid spec.selector",
    "FieldValueInvalid spec.template.metadata.labels",
  ),
  "a Job with back-off by index that is not indexed": jobWith(
    { backoffLimitPerIndex: 1 },
    "FieldValueInvalid spec.backoffLimitPerIndex",
  ),
  "a Job with an unknown action in its failure policy": jobWith(
    {
      podFailurePolicy: {
        rules: [{ action: "Sulk", onPodConditions: [{ type: "x", status: "True" }] }],
      },
    },
    "FieldValueNotSupported spec.podFailurePolicy.rules[0].action",
  ),
  "a Job managed by a name without a domain": jobWith(
    { managedBy: "me" },
    "FieldValueInvalid spec.managedBy",
  ),
  "a Job whose pods are wrong": jobWith(
    { template: podTemplate({ ...NEVER, containers: [] }) },
    "FieldValueRequired spec.template.spec.containers",
  ),
  "a Service with a port out of range": serviceWith(
    { ports: [{ port: 70_000 }] },
    "FieldValueInvalid spec.ports[0].port",
    "FieldValueInvalid spec.ports[0].targetPort",
  ),
  "a Service with two ports without names": serviceWith(
    { ports: [{ port: 1 }, { port: 2 }] },
    "FieldValueRequired spec.ports[0].name",
    "FieldValueRequired spec.ports[1].name",
  ),
  "a Service of an unknown type": serviceWith(
    { type: "Magic", ports: [{ port: 1 }] },
    "FieldValueNotSupported spec.type",
  ),
  "a Service whose selector is no label": serviceWith(
    { selector: { "a b": "x" }, ports: [{ port: 1 }] },
    "FieldValueInvalid spec.selector",
  ),
  "a lease that lasts no time": leaseWith(
    { leaseDurationSeconds: 0 },
    "FieldValueInvalid spec.leaseDurationSeconds",
  ),
  "a lease with negative transitions": leaseWith(
    { leaseTransitions: -1 },
    "FieldValueInvalid spec.leaseTransitions",
  ),
  "a role with a rule without verbs": {
    path: `${RBAC}/roles`,
    body: object(RBAC, "Role", "a", { rules: [{ apiGroups: [""], resources: ["pods"] }] }),
    causes: ["FieldValueRequired rules[0].verbs"],
  },
  "a role with paths": {
    path: `${RBAC}/roles`,
    body: object(RBAC, "Role", "a", { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] }),
    causes: ["FieldValueInvalid rules[0].nonResourceURLs"],
  },
  "a binding to an unknown kind": {
    path: `${RBAC}/rolebindings`,
    body: object(RBAC, "RoleBinding", "a", {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Pod", name: "x" },
    }),
    causes: ["FieldValueNotSupported roleRef.kind"],
  },
  "a Deployment whose selector does not fit its pods": {
    path: "apps/v1/deployments",
    body: deployment("a", { selector: { matchLabels: { other: "x" } } }),
    causes: ["FieldValueInvalid spec.template.metadata.labels"],
  },
  "a Deployment without a selector": {
    path: "apps/v1/deployments",
    body: deployment("a", { selector: undefined }),
    causes: [
      "FieldValueRequired spec.selector",
      "FieldValueInvalid spec.template.metadata.labels",
    ],
  },
  "an event about another namespace": {
    path: "events",
    body: object("v1", "Event", "a", { involvedObject: { namespace: "other", name: "x" } }),
    causes: ["FieldValueInvalid involvedObject.namespace"],
  },
};

export const validation: Case[] = Object.entries(REFUSED).map(([what, { path, body, causes }]) => ({
  name: `${what} is invalid`,
  async run(api) {
    const answer = await api.refused(422, "POST", `${path}?dryRun=All`, { body });
    assert.equal(answer.reason, "Invalid");
    const given = answer.details.causes.map((cause: Answer) => `${cause.reason} ${cause.field}`);
    assert.deepEqual(given, causes, answer.message);
  },
}));
