/**
 * RBAC of the manager: the roles that `deploy/` ships, and under which `standalone` runs it too. Every
 * rule says what needs it.
 */
import { POLICIES } from "../../controller/runtime/policies/table.ts";
import { type Policies, policyRules } from "../../controller/runtime/policy.ts";
import type { JobKind } from "../../crds/job_kind.ts";
import { JOB_KINDS, type JobKinds } from "../../crds/job_kinds.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { PolicyRule } from "../../crds/kubernetes.ts";
import { MANAGER, TRAINER_GROUP } from "../../crds/names.ts";
import { JOBSET_GROUP } from "../../crds/jobset_names.ts";

/** Objects of RBAC as the API server takes them. */
export interface RbacObject {
  apiVersion: "rbac.authorization.k8s.io/v1";
  kind: "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding";
  metadata: { name: string; namespace?: string };
  [field: string]: unknown;
}

const READ = ["get", "list", "watch"];
const ADMISSION = KINDS.mutatingWebhookConfiguration.group;

/** Kinds of jobs by their API group, in the order of the table. */
function byGroup({ all }: JobKinds): [string, JobKind[]][] {
  return [...Map.groupBy(all, ({ group }) => group)];
}

/** Rules for the kinds of jobs of one API group. */
function jobRules(group: string, kinds: readonly JobKind[]): PolicyRule[] {
  const isTrainer = group === TRAINER_GROUP;
  const apiGroups = [group];
  const resources = (suffix = "") => kinds.map(({ plural }) => `${plural}${suffix}`);
  const noted = kinds.filter(({ progress }) => progress?.at === "annotation");
  return [
    // Jobs are read, and so are the runtimes of TrainJobs.
    {
      apiGroups,
      resources: [
        ...resources(),
        ...(isTrainer ? ["trainingruntimes", "clustertrainingruntimes"] : []),
      ],
      verbs: READ,
    },
    // Of a job only its status is written: progress, and that it was stopped.
    { apiGroups, resources: resources("/status"), verbs: ["patch"] },
    // Unless an annotation shows its progress.
    ...(noted.length === 0
      ? []
      : [{ apiGroups, resources: noted.map(({ plural }) => plural), verbs: ["patch"] }]),
    // Children carry blockOwnerDeletion, which needs this if its admission plugin is on.
    { apiGroups, resources: resources("/finalizers"), verbs: ["update"] },
  ];
}

/** Rules that hold in every namespace, since jobs may live in any. */
const clusterRules = (kinds: JobKinds): readonly PolicyRule[] => [
  ...byGroup(kinds).flatMap(([group, ofGroup]) => jobRules(group, ofGroup)),
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
  // On resume the executor clears a Job's start time, so that its deadline starts again.
  { apiGroups: ["batch"], resources: ["jobs/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["services"], verbs: ["list", "watch", "create"] },
  // The runtime snapshot and the CA of each job.
  { apiGroups: [""], resources: ["configmaps"], verbs: [...READ, "create", "patch"] },
  // Authorization of pushes: the owners from pod to job, and the pod's service account.
  { apiGroups: [""], resources: ["pods", "serviceaccounts"], verbs: READ },
  {
    apiGroups: ["authentication.k8s.io"],
    resources: ["tokenreviews"],
    verbs: ["create"],
  },
  // Authorization of readers of a job's observation.
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

/** The cluster-wide rules for the kinds of jobs that Milepost knows. */
export const CLUSTER_RULES = clusterRules(JOB_KINDS);

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

/** The tables whose entries need rules; default: those of Milepost. */
export interface RbacTables {
  readonly policies?: Policies;
  readonly kinds?: JobKinds;
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
export function managerRbac(subject: RbacSubject, tables: RbacTables = {}): RbacObject[] {
  const { policies = POLICIES, kinds = JOB_KINDS } = tables;
  const { name = MANAGER.name, namespace, serviceAccount } = subject;
  return [
    ...clusterAccess(name, clusterRules(kinds), subject),
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
