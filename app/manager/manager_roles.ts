/** Roles of the manager and their bindings, from the table of its rights (`rights.ts`). */
import { POLICIES } from "../../controller/runtime/policies/table.ts";
import { type Policies, policyRules } from "../../controller/runtime/policy.ts";
import { JOB_KINDS, type JobKinds } from "../../crds/job_kinds.ts";
import type { PolicyRule } from "../../platform/kube/kubernetes.ts";
import { MANAGER } from "../../crds/names.ts";
import {
  clusterRulesOf,
  MANAGER_PARTS,
  type ManagerPart,
  namespaceRulesOf,
  rule,
} from "./rights.ts";

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

/** Returns a role with its binding; it holds in one namespace if the metadata name it. */
export function boundRole(
  metadata: RbacObject["metadata"],
  rules: readonly PolicyRule[],
  subject: Readonly<Record<string, string>>,
): RbacObject[] {
  const kind = metadata.namespace === undefined ? "ClusterRole" : "Role";
  const roleRef = { apiGroup: RBAC_GROUP, kind, name: metadata.name };
  return [
    { apiVersion, kind, metadata, rules },
    { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects: [subject] },
  ];
}

/** The account as a subject of a binding. */
const accountOf = ({ namespace, serviceAccount: name }: RbacSubject) => ({
  kind: "ServiceAccount",
  name,
  namespace,
});

/** Returns a ClusterRole of that name, bound to the account. */
export const clusterAccess = (
  name: string,
  rules: readonly PolicyRule[],
  subject: RbacSubject,
): RbacObject[] => boundRole({ name }, rules, accountOf(subject));

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
export function namespaceRbac(parts: readonly ManagerPart[], subject: RbacSubject): RbacObject[] {
  const { name = MANAGER.name, namespace } = subject;
  return boundRole({ name, namespace }, parts.flatMap(namespaceRulesOf), accountOf(subject));
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
  const rules = [rule("", ["configmaps"], ["get"], [metadata.name])];
  const everybody = { apiGroup: RBAC_GROUP, kind: "Group", name: "system:authenticated" };
  return boundRole(metadata, rules, everybody);
}
