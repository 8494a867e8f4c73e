/** Table of the built-in kinds; `registry.ts` adds the custom ones. */
import type { Resource } from "./api_resource.ts";

type Extras = Partial<Omit<Resource, "group" | "version" | "kind" | "resource" | "custom">>;

function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (/(s|ss|x)$/.test(lower)) return lower === "endpoints" ? lower : `${lower}es`;
  return lower.endsWith("y") ? `${lower.slice(0, -1)}ies` : `${lower}s`;
}

function kind(
  group: string,
  name: string,
  shortNames: string[] = [],
  extras: Extras = {},
): Resource {
  return {
    group,
    version: "v1",
    kind: name,
    listKind: `${name}List`,
    resource: pluralOf(name),
    singular: name.toLowerCase(),
    shortNames,
    categories: [],
    namespaced: true,
    status: false,
    subresources: [],
    generation: false,
    review: false,
    custom: false,
    storageVersion: "v1",
    ...extras,
  };
}

const CLUSTER: Extras = { namespaced: false };
const WANTED: Extras = { status: true, generation: true };
const ALL: Extras = { ...WANTED, categories: ["all"] };
const SCALE = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".spec.selector",
};
const REVIEW: Extras = { review: true, namespaced: false };
const POD_SUBRESOURCES = ["log", "binding", "eviction"];

const CORE = [
  kind("", "ConfigMap", ["cm"]),
  kind("", "Endpoints", ["ep"]),
  kind("", "Event", ["ev"]),
  kind("", "LimitRange", ["limits"]),
  kind("", "Namespace", ["ns"], { ...CLUSTER, status: true, subresources: ["finalize"] }),
  kind("", "Node", ["no"], { ...CLUSTER, status: true }),
  kind("", "PersistentVolumeClaim", ["pvc"], { status: true }),
  kind("", "PersistentVolume", ["pv"], { ...CLUSTER, status: true }),
  kind("", "Pod", ["po"], { ...ALL, subresources: POD_SUBRESOURCES }),
  kind("", "PodTemplate", [], { generation: true }),
  kind("", "ReplicationController", ["rc"], { ...ALL, scale: SCALE }),
  kind("", "ResourceQuota", ["quota"], { status: true }),
  kind("", "Secret"),
  kind("", "ServiceAccount", ["sa"], { subresources: ["token"] }),
  kind("", "Service", ["svc"], { status: true, categories: ["all"] }),
];

const ADMISSION = "admissionregistration.k8s.io";
const ADMISSION_KINDS = [
  kind(ADMISSION, "MutatingWebhookConfiguration", [], { ...CLUSTER, generation: true }),
  kind(ADMISSION, "ValidatingWebhookConfiguration", [], { ...CLUSTER, generation: true }),
  kind(ADMISSION, "ValidatingAdmissionPolicy", [], { ...CLUSTER, ...WANTED }),
  kind(ADMISSION, "ValidatingAdmissionPolicyBinding", [], { ...CLUSTER, generation: true }),
];

const AUTHORIZATION = "authorization.k8s.io";
const REVIEWS = [
  kind("authentication.k8s.io", "TokenReview", [], REVIEW),
  kind("authentication.k8s.io", "SelfSubjectReview", [], REVIEW),
  kind(AUTHORIZATION, "LocalSubjectAccessReview", [], { ...REVIEW, namespaced: true }),
  kind(AUTHORIZATION, "SelfSubjectAccessReview", [], REVIEW),
  kind(AUTHORIZATION, "SelfSubjectRulesReview", [], REVIEW),
  kind(AUTHORIZATION, "SubjectAccessReview", [], REVIEW),
];

const RBAC = "rbac.authorization.k8s.io";
const SCHEDULING = [
  kind("scheduling.k8s.io", "PriorityClass", ["pc"], { ...CLUSTER, generation: true }),
  kind("node.k8s.io", "RuntimeClass", [], CLUSTER),
  kind("storage.k8s.io", "StorageClass", ["sc"], CLUSTER),
  kind("coordination.k8s.io", "Lease"),
  kind("discovery.k8s.io", "EndpointSlice", [], { generation: true }),
];

const WORKLOADS = [
  kind("apps", "ControllerRevision"),
  kind("apps", "DaemonSet", ["ds"], ALL),
  kind("apps", "Deployment", ["deploy"], { ...ALL, scale: SCALE }),
  kind("apps", "ReplicaSet", ["rs"], { ...ALL, scale: SCALE }),
  kind("apps", "StatefulSet", ["sts"], { ...ALL, scale: SCALE }),
  kind("batch", "CronJob", ["cj"], ALL),
  kind("batch", "Job", [], ALL),
  kind("policy", "PodDisruptionBudget", ["pdb"], WANTED),
  kind("networking.k8s.io", "Ingress", ["ing"], WANTED),
  kind("networking.k8s.io", "IngressClass", [], { ...CLUSTER, generation: true }),
  kind("networking.k8s.io", "NetworkPolicy", ["netpol"], { generation: true }),
];

/** Every built-in kind, with groups in the order of discovery. */
export const BUILT_IN: readonly Resource[] = [
  ...CORE,
  ...WORKLOADS,
  ...REVIEWS,
  kind(RBAC, "ClusterRole", [], CLUSTER),
  kind(RBAC, "ClusterRoleBinding", [], CLUSTER),
  kind(RBAC, "Role"),
  kind(RBAC, "RoleBinding"),
  ...ADMISSION_KINDS,
  kind("apiextensions.k8s.io", "CustomResourceDefinition", ["crd", "crds"], {
    ...CLUSTER,
    ...WANTED,
    categories: ["api-extensions"],
  }),
  ...SCHEDULING,
];
