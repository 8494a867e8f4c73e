/** Roles of the manager and their bindings, from the table of its rights (`rights.ts`). */
import { POLICIES } from "../../controller/runtime/policies/table.ts";
import { type Policies, policyRules } from "../../controller/runtime/policy.ts";
import { JOB_KINDS, type JobKinds } from "../../crds/job_kinds.ts";
import type { PolicyRule } from "../../platform/kube/kubernetes.ts";
import { MANAGER } from "../../crds/names.ts";
import { clusterRulesOf, MANAGER_PARTS, type ManagerPart, namespaceRulesOf } from "./rights.ts";

/** Objects of RBAC as the API server takes them. */
export interface RbacObject {
  apiVersion: "rbac.authorization.k8s.io/v1";
  kind: "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding";
  metadata: { name: string; namespace?: string };
  [field: string]: unknown;
}

const RBAC_GROUP = "rbac.authorization.k8s.io";
const apiVersion = `${RBAC_GROUP}/v1`;

/** The account that is given the rights, and the name of the roles. */
export interface RbacSubject {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Default: the name of the manager. */
  readonly name?: string;
}

/** The tables whose entries need rules; default: those of Milepost. */
export interface RbacTables {
  readonly policies?: Policies;
  readonly kinds?: JobKinds;
}

/** Returns a ClusterRole of that name, bound to the account. */
export function clusterAccess(
  name: string,
  rules: readonly PolicyRule[],
  { namespace, serviceAccount }: RbacSubject,
): RbacObject[] {
  return [
    { apiVersion, kind: "ClusterRole", metadata: { name }, rules },
    {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name: serviceAccount, namespace }],
    },
  ];
}

/** Returns the ClusterRole of a part with its binding; nothing if the part has no rules. */
export function partRbac(
  part: ManagerPart,
  subject: RbacSubject,
  { kinds = JOB_KINDS }: RbacTables = {},
): RbacObject[] {
  const rules = clusterRulesOf(part, kinds);
  const { name = MANAGER.name } = subject;
  const roleName = part === "controller" ? name : `${name}-${part}`;
  return rules.length === 0 ? [] : clusterAccess(roleName, rules, subject);
}

/** Returns the Role of the manager's own namespace for those parts, with its binding. */
export function namespaceRbac(
  parts: readonly ManagerPart[],
  { name = MANAGER.name, namespace, serviceAccount }: RbacSubject,
): RbacObject[] {
  const metadata = { name, namespace };
  return [
    { apiVersion, kind: "Role", metadata, rules: parts.flatMap(namespaceRulesOf) },
    {
      apiVersion,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name: serviceAccount, namespace }],
    },
  ];
}

/** Returns a ClusterRole with its binding for each policy that declares rules for its children. */
export function policyRbac(
  subject: RbacSubject,
  { policies = POLICIES }: RbacTables = {},
): RbacObject[] {
  const { name = MANAGER.name } = subject;
  return Object.entries(policyRules(policies))
    .flatMap(([policy, rules]) => clusterAccess(`${name}-${policy}`, rules, subject));
}

/** Returns the roles and bindings that give a service account what those parts need; default: all parts. */
export function managerRbac(
  subject: RbacSubject,
  tables: RbacTables = {},
  parts: readonly ManagerPart[] = MANAGER_PARTS,
): RbacObject[] {
  return [
    ...parts.flatMap((part) => partRbac(part, subject, tables)),
    ...namespaceRbac(parts, subject),
    ...policyRbac(subject, tables),
  ];
}

/** Returns the Role by which every authenticated user reads the public ConfigMap, with its binding. */
export function publicReading(metadata: RbacObject["metadata"]): RbacObject[] {
  const { name } = metadata;
  return [
    {
      apiVersion,
      kind: "Role",
      metadata,
      rules: [{
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: [name],
        verbs: ["get"],
      }],
    },
    {
      apiVersion,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name },
      subjects: [{ apiGroup: RBAC_GROUP, kind: "Group", name: "system:authenticated" }],
    },
  ];
}
