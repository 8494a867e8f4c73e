/** Store keys of the kinds that the server itself reads. */
import type { ResourceKey } from "./store.ts";

/** API group of roles and bindings. */
export const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Store keys, by short name. */
export const KEYS = {
  events: { group: "", resource: "events" },
  jobs: { group: "batch", resource: "jobs" },
  namespaces: { group: "", resource: "namespaces" },
  nodes: { group: "", resource: "nodes" },
  pods: { group: "", resource: "pods" },
  secrets: { group: "", resource: "secrets" },
  serviceAccounts: { group: "", resource: "serviceaccounts" },
  roles: { group: RBAC_GROUP, resource: "roles" },
  clusterRoles: { group: RBAC_GROUP, resource: "clusterroles" },
  roleBindings: { group: RBAC_GROUP, resource: "rolebindings" },
  clusterRoleBindings: { group: RBAC_GROUP, resource: "clusterrolebindings" },
  mutatingWebhooks: {
    group: "admissionregistration.k8s.io",
    resource: "mutatingwebhookconfigurations",
  },
  validatingWebhooks: {
    group: "admissionregistration.k8s.io",
    resource: "validatingwebhookconfigurations",
  },
  customResourceDefinitions: {
    group: "apiextensions.k8s.io",
    resource: "customresourcedefinitions",
  },
} as const satisfies Record<string, ResourceKey>;

/** Says if two keys name the same kind. */
export function sameKey(one: ResourceKey, other: ResourceKey): boolean {
  return one.group === other.group && one.resource === other.resource;
}
