/**
 * Table of the manager's rights: the rules of RBAC for each of its parts, and which settings run that part.
 * `deploy/` ships a role for each, `standalone` runs the manager under them, and a test reads the API
 * server's audit log to see that each part uses all of its rights and no other.
 */
import type { JobKind } from "../../crds/job_kind.ts";
import { JOB_KINDS, type JobKinds } from "../../crds/job_kinds.ts";
import { JOBSET_GROUP, VOLUME_CLAIMS_PART } from "../../crds/jobset_names.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { PolicyRule } from "../../platform/kube/kubernetes.ts";
import { MANAGER, POLICY_SECRETS, TRAINER_GROUP } from "../../crds/names.ts";
import { V1_KIND_LIST, v1CrdName } from "../../crds/v1/kinds.ts";
import {
  V1_ELASTIC_PART,
  V1_GANGS_PART,
  V1_GROUP,
  V1_JOBS_PART,
  V1_MPI_PART,
} from "../../crds/v1/names.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";

/** The settings that decide which parts a manager runs. */
export type PartSettings = Pick<
  ManagerConfiguration,
  "jobset" | "featureGates" | "leaderElect" | "gangSchedulerName"
>;

/**
 * The parts of the manager that have rights of their own. The first one always has them. The Secrets of policies are
 * always made, and the v1 kinds always run, if an installation grants the rights to it.
 */
export const MANAGER_PARTS = [
  "controller",
  POLICY_SECRETS.role,
  "executor",
  VOLUME_CLAIMS_PART,
  "progress",
  "trials",
  V1_JOBS_PART,
  V1_MPI_PART,
  V1_ELASTIC_PART,
  V1_GANGS_PART,
  "election",
] as const;
export type ManagerPart = typeof MANAGER_PARTS[number];

/** Rights of one part. */
interface PartRights {
  /** Reports whether a manager with these settings runs the part. */
  readonly runs: (settings: PartSettings) => boolean;
  /** Rules that hold in every namespace, since jobs may live in any. */
  readonly clusterRules?: (kinds: JobKinds) => PolicyRule[];
  /** Rules in the manager's own namespace. */
  readonly namespaceRules?: readonly PolicyRule[];
}

const READ = ["get", "list", "watch"];
const ADMISSION = KINDS.mutatingWebhookConfiguration.group;

/** Rules for the kinds of jobs of one API group. */
function jobRules(
  group: string,
  kinds: readonly { readonly plural: string }[],
): PolicyRule[] {
  const isTrainer = group === TRAINER_GROUP;
  const apiGroups = [group];
  const resources = (suffix = "") => kinds.map(({ plural }) => `${plural}${suffix}`);
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
    // Only the status of a job is written: its state, its progress, and that it was stopped.
    { apiGroups, resources: resources("/status"), verbs: ["patch"] },
    // Children carry blockOwnerDeletion, which needs this if its admission plugin is on.
    { apiGroups, resources: resources("/finalizers"), verbs: ["update"] },
  ];
}

/** The kinds by their API group, in the order of the table. */
const byGroup = (kinds: readonly JobKind[]) => [...Map.groupBy(kinds, ({ group }) => group)];

/** What every manager does: it makes a JobSet of each TrainJob, and keeps its webhook configurations. */
const controllerRules = ({ all }: JobKinds): PolicyRule[] => [
  ...byGroup(all).filter(([group]) => group !== V1_GROUP)
    .flatMap(([group, kinds]) => jobRules(group, kinds)),
  {
    apiGroups: [JOBSET_GROUP],
    resources: ["jobsets"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  // The runtime snapshot of each job.
  { apiGroups: [""], resources: ["configmaps"], verbs: [...READ, "create"] },
  // Whether a job's pods run.
  { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  // Its own webhook configurations; and whether upstream's JobSet controller and Katib's webhook are there.
  // RBAC cannot limit creations by name; the admission policy does (deploy/manager_writes_policy.ts).
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

/** Certificates: every replica reads them by name; the first one makes them, the leader changes them. */
const CERTIFICATE_RULES: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
  {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [MANAGER.certificateSecret],
    verbs: [...READ, "update"],
  },
  // The CA, for clients that are no pods of jobs.
  {
    apiGroups: [""],
    resources: ["configmaps"],
    resourceNames: [MANAGER.publicConfigMap],
    verbs: ["patch"],
  },
];

/** Keys of policies such as mpi, in the namespaces of their jobs: made once, and looked for by name. */
const policySecretRules = (): PolicyRule[] => [
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create"] },
];

/** The built-in executor: it makes Jobs and a headless Service of each JobSet, and writes its status. */
const executorRules = (): PolicyRule[] => [
  { apiGroups: [JOBSET_GROUP], resources: ["jobsets/status"], verbs: ["update"] },
  { apiGroups: [JOBSET_GROUP], resources: ["jobsets/finalizers"], verbs: ["update"] },
  { apiGroups: ["batch"], resources: ["jobs"], verbs: [...READ, "create", "patch", "delete"] },
  // On resume the executor clears a Job's start time, so that its deadline starts again.
  { apiGroups: ["batch"], resources: ["jobs/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["services"], verbs: ["list", "watch", "create"] },
];

/** Claims of JobSets with volume claim policies: read by name, and never changed. */
const volumeClaimRules = (): PolicyRule[] => [
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["get", "create"] },
];

/** Rules for the kinds whose progress an annotation shows. */
function annotationRules({ all }: JobKinds): PolicyRule[] {
  const annotated = all.filter(({ progress }) => progress?.at === "annotation");
  return byGroup(annotated).map(([group, kinds]) => ({
    apiGroups: [group],
    resources: kinds.map(({ plural }) => plural),
    verbs: ["patch"],
  }));
}

/** The status endpoint and the observation API. */
const progressRules = (kinds: JobKinds): PolicyRule[] => [
  ...annotationRules(kinds),
  // The CA of each job.
  { apiGroups: [""], resources: ["configmaps"], verbs: ["patch"] },
  // Authorization of pushes: the owners from pod to job, and the pod's service account.
  { apiGroups: ["batch"], resources: ["jobs"], verbs: READ },
  { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
  { apiGroups: [""], resources: ["serviceaccounts"], verbs: READ },
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  // Authorization of readers of a job's observation.
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  {
    nonResourceURLs: ["/.well-known/openid-configuration", "/openid/v1/jwks"],
    verbs: ["get"],
  },
];

/** Trials of Katib: what a trial's job reports, and that it stopped early. Only their status is written. */
const trialRules = (): PolicyRule[] => [
  { apiGroups: [KATIB.group], resources: ["trials"], verbs: READ },
  { apiGroups: [KATIB.group], resources: ["trials/status"], verbs: ["patch"] },
];

/** The v1 kinds: which of them are to be run, their jobs, and the pods and Services of those. */
const v1JobRules = (): PolicyRule[] => [
  {
    apiGroups: [KINDS.customResourceDefinition.group],
    resources: [KINDS.customResourceDefinition.plural],
    resourceNames: V1_KIND_LIST.map(v1CrdName),
    verbs: ["get"],
  },
  ...jobRules(V1_GROUP, V1_KIND_LIST),
  // A job that has ended is deleted after its time to live; an annotation shows its progress where its definition
  // has no field for that.
  {
    apiGroups: [V1_GROUP],
    resources: V1_KIND_LIST.map(({ plural }) => plural),
    verbs: ["delete", "patch"],
  },
  // A patch adopts and releases.
  {
    apiGroups: [""],
    resources: ["pods", "services"],
    verbs: [...READ, "create", "patch", "delete"],
  },
];

/** MPIJobs: the launcher's files and account. What its role gives, the manager needs to have itself. */
const v1MpiRules = (): PolicyRule[] => [
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "create", "patch"] },
  { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["get", "create"] },
  {
    apiGroups: [KINDS.role.group],
    resources: [KINDS.role.plural, KINDS.roleBinding.plural],
    verbs: ["get", "create"],
  },
  // Of a job whose number of workers changes.
  { apiGroups: [KINDS.role.group], resources: [KINDS.role.plural], verbs: ["patch"] },
  { apiGroups: [""], resources: ["pods"], verbs: READ },
  { apiGroups: [""], resources: ["pods/exec"], verbs: ["create"] },
];

/** Elastic PyTorchJobs with metrics: their autoscalers. */
const v1ElasticRules = (): PolicyRule[] => [
  {
    apiGroups: [KINDS.horizontalPodAutoscaler.group],
    resources: [KINDS.horizontalPodAutoscaler.plural],
    verbs: ["get", "create", "patch", "delete"],
  },
];

/** Pod groups of either scheduler, and the priorities by which the resources of a group are added up. */
const v1GangRules = (): PolicyRule[] => [
  ...[KINDS.volcanoPodGroup, KINDS.coschedulingPodGroup].map(({ group, plural }) => ({
    apiGroups: [group],
    resources: [plural],
    verbs: ["get", "create", "patch", "delete"],
  })),
  {
    apiGroups: [KINDS.priorityClass.group],
    resources: [KINDS.priorityClass.plural],
    verbs: ["get"],
  },
];

const ELECTION_RULES: readonly PolicyRule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames: [MANAGER.lease],
    verbs: ["get", "update"],
  },
];

const hasExecutor = ({ jobset }: PartSettings) => jobset !== "external";
const hasProgress = ({ featureGates }: PartSettings) => featureGates.trainJobProgress;

const PARTS: Readonly<Record<ManagerPart, PartRights>> = {
  controller: {
    runs: () => true,
    clusterRules: controllerRules,
    namespaceRules: CERTIFICATE_RULES,
  },
  [POLICY_SECRETS.role]: { runs: () => true, clusterRules: policySecretRules },
  executor: { runs: hasExecutor, clusterRules: executorRules },
  [VOLUME_CLAIMS_PART]: { runs: hasExecutor, clusterRules: volumeClaimRules },
  progress: { runs: hasProgress, clusterRules: progressRules },
  trials: { runs: hasProgress, clusterRules: trialRules },
  [V1_JOBS_PART]: { runs: () => true, clusterRules: v1JobRules },
  [V1_MPI_PART]: { runs: () => true, clusterRules: v1MpiRules },
  [V1_ELASTIC_PART]: { runs: () => true, clusterRules: v1ElasticRules },
  [V1_GANGS_PART]: {
    runs: ({ gangSchedulerName }) => gangSchedulerName !== "",
    clusterRules: v1GangRules,
  },
  election: { runs: ({ leaderElect }) => leaderElect, namespaceRules: ELECTION_RULES },
};

/** Returns the parts that a manager with these settings runs. */
export function partsOf(settings: PartSettings): ReadonlySet<ManagerPart> {
  return new Set(MANAGER_PARTS.filter((part) => PARTS[part].runs(settings)));
}

/** Returns the rules that a part needs in every namespace. */
export function clusterRulesOf(part: ManagerPart, kinds: JobKinds = JOB_KINDS): PolicyRule[] {
  return PARTS[part].clusterRules?.(kinds) ?? [];
}

/** Returns the rules that a part needs in the manager's own namespace. */
export function namespaceRulesOf(part: ManagerPart): readonly PolicyRule[] {
  return PARTS[part].namespaceRules ?? [];
}
