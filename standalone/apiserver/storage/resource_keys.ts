/** The kinds that authentication, authorization and admission look up, by store key. */

/** Store keys, by short name. */
export const KEYS = {
  namespaces: { group: "", resource: "namespaces" },
  nodes: { group: "", resource: "nodes" },
  pods: { group: "", resource: "pods" },
  secrets: { group: "", resource: "secrets" },
  serviceAccounts: { group: "", resource: "serviceaccounts" },
  roles: { group: "rbac.authorization.k8s.io", resource: "roles" },
  clusterRoles: { group: "rbac.authorization.k8s.io", resource: "clusterroles" },
  roleBindings: { group: "rbac.authorization.k8s.io", resource: "rolebindings" },
  clusterRoleBindings: { group: "rbac.authorization.k8s.io", resource: "clusterrolebindings" },
  mutatingWebhooks: {
    group: "admissionregistration.k8s.io",
    resource: "mutatingwebhookconfigurations",
  },
  validatingWebhooks: {
    group: "admissionregistration.k8s.io",
    resource: "validatingwebhookconfigurations",
  },
} as const;
/** API group of roles and bindings. */
export const RBAC_GROUP = "rbac.authorization.k8s.io";
