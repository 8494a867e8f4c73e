/**
 * RBAC of the manager: the roles that `deploy/` ships, and under which `standalone` runs it too. Every
 * rule says what needs it.
 */
import { POLICIES } from "../../controller/runtime/policies/table.ts";
import { type Policies, policyRules } from "../../controller/runtime/policy.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { PolicyRule } from "../../crds/kubernetes.ts";
import { JOBSET_GROUP, MANAGER, TRAINER_GROUP } from "../../crds/names.ts";

/** Objects of RBAC as the API server takes them. */
export interface RbacObject {
  apiVersion: "rbac.authorization.k8s.io/v1";
  kind: "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding";
  metadata: { name: string; namespace?: string };
  [field: string]: unknown;
}

const READ = ["get", "list", "watch"];
const ADMISSION = KINDS.mutatingWebhookConfiguration.group;

/** Rules that hold in every namespace, since TrainJobs may live in any. */
export const CLUSTER_RULES: readonly PolicyRule[] = [
  // Reconciling: jobs and runtimes are read, only a job's status is written.
  {
    apiGroups: [TRAINER_GROUP],
    resources: ["trainjobs", "trainingruntimes", "clustertrainingruntimes"],
    verbs: READ,
  },
  { apiGroups: [TRAINER_GROUP], resources: ["trainjobs/status"], verbs: ["patch"] },
  // Children carry blockOwnerDeletion, which asks for this where its admission plugin is on.
  { apiGroups: [TRAINER_GROUP], resources: ["trainjobs/finalizers"], verbs: ["update"] },
  // Trials of Katib's: what a trial's job reports, and that it stopped early (only its status is written).
  { apiGroups: [KATIB.group], resources: ["trials"], verbs: READ },
  { apiGroups: [KATIB.group], resources: ["trials/status"], verbs: ["patch"] },
  // TrainJob → JobSet, and the built-in executor's status of it.
  {
    apiGroups: [JOBSET_GROUP],
    resources: ["jobsets"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  { apiGroups: [JOBSET_GROUP], resources: ["jobsets/status"], verbs: ["update"] },
  { apiGroups: [JOBSET_GROUP], resources: ["jobsets/finalizers"], verbs: ["update"] },
  // The built-in executor: JobSet → Jobs and the headless Service.
  { apiGroups: ["batch"], resources: ["jobs"], verbs: [...READ, "create", "patch", "delete"] },
  // On resume the executor clears a Job's start time, so that its deadline begins anew.
  { apiGroups: ["batch"], resources: ["jobs/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["services"], verbs: ["list", "watch", "create"] },
  // The runtime snapshot and the CA of each job.
  { apiGroups: [""], resources: ["configmaps"], verbs: [...READ, "create", "patch"] },
  // Who pushes: the chain Pod → Job → JobSet → TrainJob, and the pod's service account.
  { apiGroups: [""], resources: ["pods", "serviceaccounts"], verbs: READ },
  {
    apiGroups: ["authentication.k8s.io"],
    resources: ["tokenreviews"],
    verbs: ["create"],
  },
  // Who may read a TrainJob's observation.
  {
    apiGroups: ["authorization.k8s.io"],
    resources: ["subjectaccessreviews"],
    verbs: ["create"],
  },
  {
    nonResourceURLs: ["/.well-known/openid-configuration", "/openid/v1/jwks"],
    verbs: ["get"],
  },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  // Its own webhook configurations, written by the leader; and whether JobSet's controller lives here.
  // Creations cannot be limited by name.
  {
    apiGroups: [ADMISSION],
    resources: ["mutatingwebhookconfigurations"],
    verbs: ["list", "watch", "create"],
  },
  {
    apiGroups: [ADMISSION],
    resources: ["mutatingwebhookconfigurations"],
    resourceNames: [MANAGER.mutatingConfiguration],
    verbs: ["get", "update"],
  },
  { apiGroups: [ADMISSION], resources: ["validatingwebhookconfigurations"], verbs: ["create"] },
  {
    apiGroups: [ADMISSION],
    resources: ["validatingwebhookconfigurations"],
    resourceNames: [MANAGER.validatingConfiguration],
    verbs: [...READ, "update"],
  },
];

/** Rules in the manager's own namespace: its certificates and its lease. */
export const NAMESPACE_RULES: readonly PolicyRule[] = [
  // Certificates: read by every replica, by name; made by the first, changed by the leader.
  { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
  {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [MANAGER.certificateSecret],
    verbs: [...READ, "update"],
  },
  // Leader election.
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames: [MANAGER.lease],
    verbs: ["get", "update"],
  },
];

const RBAC_GROUP = "rbac.authorization.k8s.io";
const apiVersion = `${RBAC_GROUP}/v1`;

/** The account that is given the rights, and the name of the roles. */
export interface RbacSubject {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Default: the name of the manager. */
  readonly name?: string;
}

/** A ClusterRole of that name, bound to the account. */
function clusterAccess(
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

/**
 * Returns the roles and bindings that give a service account the access that the manager needs, with a
 * ClusterRole of its own for each policy that declares rules for its children.
 */
export function managerRbac(subject: RbacSubject, policies: Policies = POLICIES): RbacObject[] {
  const { name = MANAGER.name, namespace, serviceAccount } = subject;
  return [
    ...clusterAccess(name, CLUSTER_RULES, subject),
    { apiVersion, kind: "Role", metadata: { name, namespace }, rules: NAMESPACE_RULES },
    {
      apiVersion,
      kind: "RoleBinding",
      metadata: { name, namespace },
      roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name: serviceAccount, namespace }],
    },
    ...Object.entries(policyRules(policies))
      .flatMap(([policy, rules]) => clusterAccess(`${name}-${policy}`, rules, subject)),
  ];
}
