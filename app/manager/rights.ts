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
import {
  MANAGER,
  OPTIMIZATION,
  POLICY_SECRETS,
  RESTARTS,
  TRAINER_GROUP,
} from "../../crds/names.ts";
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
  "jobset" | "featureGates" | "leaderElect" | "gangSchedulerName" | "optimizationJobs"
>;

/**
 * The parts of the manager that have rights of their own. The first one always has them. The Secrets of policies are
 * always made, jobs always restarted, and the v1 kinds always run, if an installation grants the rights to it.
 */
export const MANAGER_PARTS = [
  "controller",
  POLICY_SECRETS.role,
  RESTARTS.role,
  "executor",
  VOLUME_CLAIMS_PART,
  "progress",
  "trials",
  OPTIMIZATION.role,
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

/** Returns a rule for resources of a group; `names`: of only these objects. */
export const rule = (
  group: string,
  resources: string[],
  verbs: string[],
  names?: string[],
): PolicyRule => ({
  apiGroups: [group],
  resources,
  ...(names && { resourceNames: names }),
  verbs,
});

const ADMISSION = KINDS.mutatingWebhookConfiguration.group;

const RUNTIME_PLURALS = [KINDS.trainingRuntime.plural, KINDS.clusterTrainingRuntime.plural];

/** Rules for the kinds of jobs of one API group. */
function jobRules(
  group: string,
  kinds: readonly { readonly plural: string }[],
  runtimes: readonly string[] = [],
): PolicyRule[] {
  const ofKinds = (suffix = "") => kinds.map(({ plural }) => `${plural}${suffix}`);
  return [
    // Jobs are read, and so are the runtimes of TrainJobs.
    rule(group, [...ofKinds(), ...runtimes], READ),
    // Only the status of a job is written: its state, its progress, and that it was stopped.
    rule(group, ofKinds("/status"), ["patch"]),
    // Children carry blockOwnerDeletion, which needs this if its admission plugin is on.
    rule(group, ofKinds("/finalizers"), ["update"]),
  ];
}

/** The kinds by their API group, in the order of the table. */
const byGroup = (kinds: readonly JobKind[]) => [...Map.groupBy(kinds, ({ group }) => group)];

/** What every manager does: it makes a JobSet of each TrainJob, and keeps its webhook configurations. */
const controllerRules = ({ all }: JobKinds): PolicyRule[] => [
  ...byGroup(all).filter(([group]) => group !== V1_GROUP)
    .flatMap(([group, kinds]) =>
      jobRules(group, kinds, group === TRAINER_GROUP ? RUNTIME_PLURALS : [])
    ),
  // Those that have ended go by their time to live.
  rule(TRAINER_GROUP, [KINDS.trainJob.plural], ["delete"]),
  rule(JOBSET_GROUP, ["jobsets"], [...READ, "create", "patch", "delete"]),
  // The runtime snapshot of each job.
  rule("", ["configmaps"], [...READ, "create"]),
  // Whether a job's pods run.
  rule("", ["pods"], ["list", "watch"]),
  rule("", ["events"], ["create", "patch"]),
  // Its own webhook configurations; and whether upstream's JobSet controller and Katib's webhook are there.
  // RBAC cannot limit creations by name; the admission policy does (deploy/manager_writes_policy.ts).
  rule(ADMISSION, ["mutatingwebhookconfigurations"], ["list", "watch", "create"]),
  rule(ADMISSION, ["mutatingwebhookconfigurations"], ["get", "update"], [
    MANAGER.mutatingConfiguration,
  ]),
  rule(ADMISSION, ["validatingwebhookconfigurations"], ["create"]),
  rule(ADMISSION, ["validatingwebhookconfigurations"], [...READ, "update"], [
    MANAGER.validatingConfiguration,
  ]),
];

/** Certificates: every replica reads them by name; the first one makes them, the leader changes them. */
const CERTIFICATE_RULES: readonly PolicyRule[] = [
  rule("", ["secrets"], ["create"]),
  rule("", ["secrets"], [...READ, "update"], [MANAGER.certificateSecret]),
  // The CA, for clients that are no pods of jobs.
  rule("", ["configmaps"], ["patch"], [MANAGER.publicConfigMap]),
];

/** Keys of policies such as mpi, in the namespaces of their jobs: made once, and looked for by name. */
const policySecretRules = (): PolicyRule[] => [
  rule("", ["secrets"], ["get", "create"]),
];

/** Jobs of upstream's executor that a restart makes anew, since an index of theirs has succeeded. */
const restartRules = (): PolicyRule[] => [
  rule("batch", ["jobs"], ["list", "delete"]),
];

/** The built-in executor: it makes Jobs and a headless Service of each JobSet, and writes its status. */
const executorRules = (): PolicyRule[] => [
  rule(JOBSET_GROUP, ["jobsets/status"], ["update"]),
  rule(JOBSET_GROUP, ["jobsets/finalizers"], ["update"]),
  rule("batch", ["jobs"], [...READ, "create", "patch", "delete"]),
  // On resume the executor clears a Job's start time, so that its deadline starts again.
  rule("batch", ["jobs/status"], ["patch"]),
  rule("", ["services"], ["list", "watch", "create"]),
];

/** Claims of JobSets with volume claim policies: read by name, and never changed. */
const volumeClaimRules = (): PolicyRule[] => [
  rule("", ["persistentvolumeclaims"], ["get", "create"]),
];

/** Rules for the kinds whose progress an annotation shows. */
function annotationRules({ all }: JobKinds): PolicyRule[] {
  const annotated = all.filter(({ progress }) => progress?.at === "annotation");
  return byGroup(annotated)
    .map(([group, kinds]) => rule(group, kinds.map(({ plural }) => plural), ["patch"]));
}

/** The status endpoint and the observation API. */
const progressRules = (kinds: JobKinds): PolicyRule[] => [
  ...annotationRules(kinds),
  // The CA of each job.
  rule("", ["configmaps"], ["patch"]),
  // Authorization of pushes: the owners from pod to job, and the pod's service account.
  rule("batch", ["jobs"], READ),
  rule("", ["pods"], ["get"]),
  rule("", ["serviceaccounts"], READ),
  rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
  // Authorization of readers of a job's observation.
  rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
  {
    nonResourceURLs: ["/.well-known/openid-configuration", "/openid/v1/jwks"],
    verbs: ["get"],
  },
];

/** Trials of Katib: what a trial's job reports, and that it stopped early. Only their status is written. */
const trialRules = (): PolicyRule[] => [
  rule(KATIB.group, ["trials"], READ),
  rule(KATIB.group, ["trials/status"], ["patch"]),
];

/**
 * OptimizationJobs: their trials are TrainJobs, whose records are a ConfigMap. RBAC cannot limit creations and patches by
 * owner; the admission policy does (deploy/manager_writes_policy.ts).
 */
const optimizationRules = (): PolicyRule[] => [
  ...jobRules(TRAINER_GROUP, [KINDS.optimizationJob]),
  rule(TRAINER_GROUP, [KINDS.trainJob.plural], ["create"]),
  rule("", ["configmaps"], ["patch"]),
];

/** The v1 kinds: which of them are to be run, their jobs, and the pods and Services of those. */
const v1JobRules = (): PolicyRule[] => [
  rule(
    KINDS.customResourceDefinition.group,
    [KINDS.customResourceDefinition.plural],
    ["get"],
    V1_KIND_LIST.map(v1CrdName),
  ),
  ...jobRules(V1_GROUP, V1_KIND_LIST),
  // A job that has ended is deleted after its time to live; an annotation shows its progress where its definition
  // has no field for that.
  rule(V1_GROUP, V1_KIND_LIST.map(({ plural }) => plural), ["delete", "patch"]),
  // A patch adopts and releases.
  rule("", ["pods", "services"], [...READ, "create", "patch", "delete"]),
];

/** MPIJobs: the launcher's files and account. What its role gives, the manager needs to have itself. */
const v1MpiRules = (): PolicyRule[] => [
  rule("", ["configmaps"], ["get", "create", "patch"]),
  rule("", ["serviceaccounts"], ["get", "create"]),
  rule(KINDS.role.group, [KINDS.role.plural, KINDS.roleBinding.plural], ["get", "create"]),
  // Of a job whose number of workers changes.
  rule(KINDS.role.group, [KINDS.role.plural], ["patch"]),
  rule("", ["pods"], READ),
  rule("", ["pods/exec"], ["create"]),
];

/** Elastic PyTorchJobs with metrics: their autoscalers. */
const v1ElasticRules = (): PolicyRule[] => [
  rule(KINDS.horizontalPodAutoscaler.group, [KINDS.horizontalPodAutoscaler.plural], [
    "get",
    "create",
    "patch",
    "delete",
  ]),
];

/** Pod groups of either scheduler, and the priorities by which the resources of a group are added up. */
const v1GangRules = (): PolicyRule[] => [
  ...[KINDS.volcanoPodGroup, KINDS.coschedulingPodGroup].map((
    { group, plural },
  ) => (rule(group, [plural], ["get", "create", "patch", "delete"]))),
  rule(KINDS.priorityClass.group, [KINDS.priorityClass.plural], ["get"]),
];

const ELECTION_RULES: readonly PolicyRule[] = [
  rule("coordination.k8s.io", ["leases"], ["create"]),
  rule("coordination.k8s.io", ["leases"], ["get", "update"], [MANAGER.lease]),
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
  [RESTARTS.role]: { runs: () => true, clusterRules: restartRules },
  executor: { runs: hasExecutor, clusterRules: executorRules },
  [VOLUME_CLAIMS_PART]: { runs: hasExecutor, clusterRules: volumeClaimRules },
  progress: { runs: hasProgress, clusterRules: progressRules },
  trials: { runs: hasProgress, clusterRules: trialRules },
  [OPTIMIZATION.role]: {
    runs: ({ optimizationJobs }) => optimizationJobs,
    clusterRules: optimizationRules,
  },
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
