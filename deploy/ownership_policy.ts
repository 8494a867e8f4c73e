/**
 * Admission policy for the ownership of pods (docs/decisions/0029), generated from the table of job kinds.
 * Whoever may create pods in a namespace could otherwise forge owner references, or the labels by which the
 * Job controller adopts pods, and so report progress for somebody else's job.
 *
 * CEL of Kubernetes: an expression sees `object`, `oldObject`, `request` and `variables`. A change is
 * judged by what it adds: what stays or goes is no claim. The policy covers those subresources that change
 * metadata: the status of pods and Jobs, and bindings, whose labels the pod gets.
 */
import { type JobKind, selectingLabels } from "../crds/job_kind.ts";
import type { JobKinds } from "../crds/job_kinds.ts";
import { LABELS, MANAGER } from "../crds/names.ts";
import { JOB_KEYS } from "../crds/job_names.ts";
import { JOBSET_GROUP, JOBSET_KEYS } from "../crds/jobset_names.ts";
import { V1_GROUP, V1_LABELS } from "../crds/v1/names.ts";
import type { Manifest, Settings } from "./installation_settings.ts";
import {
  celList as list,
  managerVariables,
  policyManifests,
  resourceRule,
  validation as rule,
} from "./policy_manifests.ts";

/**
 * Labels by which the Job controller selects, and so adopts, pods. Selectors that it generates have no
 * `job-name`, so anybody may set that.
 */
const JOB_UID_LABELS = [JOB_KEYS.controllerUid, JOB_KEYS.legacyControllerUid];
const JOBSET_PREFIX = `${JOBSET_KEYS.jobSetName.split("/")[0]}/`;

/** The parts of the expressions that follow from the table of job kinds. */
interface Claims {
  /** Labels of pods that only controllers of jobs may set: those that select pods, and the trial's. */
  readonly labels: readonly string[];
  /** Labels that others use as well: they select, and are claimed, only beside the one of {@link labels}. */
  readonly besides: readonly {
    readonly label: string;
    readonly beside: string;
    /** The kinds that control pods with these labels. */
    readonly controllers: readonly string[];
  }[];
  /** Kinds along the owner paths from a pod to its job. */
  readonly chainKinds: readonly string[];
  readonly delegations: readonly Delegation[];
}

/** Claims that some users besides may make. */
interface Delegation {
  /** Labels that they may set on pods. */
  readonly labels: readonly string[];
  /** CEL that says whether the reference `r` is one to a job that they may make a controller. */
  readonly owner: string;
  /** CEL of the list of the users. */
  readonly users: string;
}

/** Whether the reference `r` is one to a trial resource, of any version. */
const IS_TRIAL_RESOURCE = "variables.trialResources.exists(t, t.startsWith(r.kind + '.') && " +
  "t.endsWith('.' + r.apiVersion.split('/')[0]))";

function chainKindsOf(kinds: readonly JobKind[]): string[] {
  const links = kinds.flatMap(({ ownerPaths, kind }) => [
    ...ownerPaths.flatMap(({ through }) => through.map(({ owner }) => owner.kind)),
    kind,
  ]);
  return [...new Set(links)];
}

/** The kinds with users of their own; those of the v1 kinds are a setting. */
function delegationsOf({ all }: JobKinds): Delegation[] {
  const own = all.filter(({ controllers }) => controllers.length > 0).map((kind) => ({
    labels: [...selectingLabels(kind), LABELS.trial],
    owner: `r.kind == '${kind.kind}' && r.apiVersion.startsWith('${kind.group}/')`,
    users: list(kind.controllers),
  }));
  const resources = {
    labels: [LABELS.trial],
    owner: `!(r.kind in ${list(chainKindsOf(all))}) && ${IS_TRIAL_RESOURCE}`,
    users: "variables.trialResourceControllers",
  };
  const v1 = all.filter(({ group }) => group === V1_GROUP).map(({ kind }) => kind);
  if (v1.length === 0) return [...own, resources];
  return [...own, resources, {
    labels: [V1_LABELS.jobName],
    owner: `r.kind in ${list(v1)} && r.apiVersion.startsWith('${V1_GROUP}/')`,
    users: "variables.v1JobControllers",
  }];
}

/** The labels with the names of jobs whose kind another label says. */
function besidesOf({ all }: JobKinds): Claims["besides"] {
  const named = all.filter(({ podLabels }) => podLabels.kind !== undefined);
  return [...Map.groupBy(named, ({ podLabels }) => podLabels.jobName)].map(([label, kinds]) => ({
    label,
    beside: kinds[0]?.podLabels.kind?.key ?? label,
    controllers: [
      ...new Set(
        kinds.flatMap(({ kind, ownerPaths }) =>
          ownerPaths.map(({ through: [first] }) => first?.owner.kind ?? kind)
        ),
      ),
    ],
  }));
}

function claimsOf(kinds: JobKinds): Claims {
  const { all } = kinds;
  return {
    labels: [
      ...new Set([
        ...all.map(({ podLabels: { jobName, kind } }) => kind?.key ?? jobName),
        LABELS.trial,
      ]),
    ],
    besides: besidesOf(kinds),
    // Through Jobs and JobSets a pod reaches a TrainJob, whichever other kinds exist.
    chainKinds: chainKindsOf(all),
    delegations: delegationsOf(kinds),
  };
}

/** Leaves out the claims that are delegated to the user. */
const unlessDelegated = ({ delegations }: Claims, claimed: (it: Delegation) => string) =>
  delegations.map((it) => ` && !(${claimed(it)} && variables.user in ${it.users})`).join("");

const isJobSetLabel = `k.startsWith('${JOBSET_PREFIX}')`;
/** Whether the key `k` of the labels `all` is one of ours. */
const isOurLabel = ({ labels, besides }: Claims, all: string) =>
  [
    `k in ${list(labels)}`,
    ...besides.map(({ label, beside }) => `(k == '${label}' && '${beside}' in ${all})`),
  ].join(" || ");
const isJobUidLabel = `k in ${list(JOB_UID_LABELS)}`;

/** Leaves out the labels that the controllers of a kind may set on pods. */
const labelsOfOthers = (claims: Claims) =>
  claims.delegations.length === 0
    ? ""
    : `.filter(k, true${unlessDelegated(claims, ({ labels }) => `k in ${list(labels)}`)})`;

/** The keys of `labels` that fit and are not in `before` with the same value. */
const addedKeys = (labels: string, before: string, fits: string) =>
  `${labels}.filter(k, (${fits}) && !(k in ${before} && ${before}[k] == ${labels}[k]))`;

/** The added labels that say of which kind the job is that controls the pod, if no job of such a kind does. */
function foreignKindLabels({ besides }: Claims): string {
  const foreign = besides.map(({ beside, controllers }) => {
    const added = addedKeys("variables.labels", "variables.oldLabels", `k == '${beside}'`);
    return `(variables.isBinding || !object.metadata.?ownerReferences.orValue([]).exists(r, ` +
      `r.?controller.orValue(false) && r.kind in ${list(controllers)}) ? ${added} : [])`;
  });
  return foreign.length === 0 ? "[]" : foreign.join(" + ");
}

function variables(settings: Settings, claims: Claims): Record<string, unknown> {
  const { jobControllers, jobSetControllers, v1JobControllers } = settings;
  const { trialControllers, trialResources, trialResourceControllers } = settings;
  const users = (value: unknown) =>
    Array.isArray(value) ? list(value.map((it) => String(it))) : value;
  const old = (path: string, otherwise: string) =>
    `oldObject == null ? ${otherwise} : oldObject.${path}.orValue(${otherwise})`;
  return {
    ...managerVariables(settings),
    jobControllers: users(jobControllers),
    jobSetControllers: users(jobSetControllers),
    v1JobControllers: users(v1JobControllers),
    trialControllers: users(trialControllers),
    trialResources: users(trialResources),
    trialResourceControllers: users(trialResourceControllers),
    isExecutor: "variables.isManager || variables.user in variables.jobSetControllers",
    isWriter: "variables.isExecutor || variables.user in variables.jobControllers",
    isPod: "request.resource.resource in ['pods', 'bindings']",
    isBinding: "request.resource.resource == 'bindings' || " +
      "request.?subResource.orValue('') == 'binding'",
    labels: "object.metadata.?labels.orValue({})",
    oldLabels: old("metadata.?labels", "{}"),
    addedLabels: addedKeys(
      "variables.labels",
      "variables.oldLabels",
      `${isJobSetLabel} || ${isOurLabel(claims, "variables.labels")}`,
    ) + labelsOfOthers(claims),
    foreignKindLabels: foreignKindLabels(claims),
    // A binding's owners say nothing about the pod that gets its labels.
    jobUids: "variables.isBinding ? [] : object.metadata.?ownerReferences.orValue([])" +
      ".filter(r, r.?controller.orValue(false) && r.kind == 'Job' && " +
      "r.apiVersion.startsWith('batch/')).map(r, r.uid)",
    foreignUidLabels: addedKeys("variables.labels", "variables.oldLabels", isJobUidLabel) +
      ".filter(k, !(variables.labels[k] in variables.jobUids))",
    oldOwners: old("metadata.?ownerReferences", "[]"),
    addedControllers: "object.metadata.?ownerReferences.orValue([])" +
      `.filter(r, r.?controller.orValue(false) && (r.kind in ${list(claims.chainKinds)} || ` +
      `${IS_TRIAL_RESOURCE}) && ` +
      "!variables.oldOwners.exists(o, o.?controller.orValue(false) && o.uid == r.uid && " +
      "o.name == r.name && o.kind == r.kind && o.apiVersion == r.apiVersion)" +
      unlessDelegated(claims, ({ owner }) => owner) + ")",
    templateLabels: "object.spec.?template.?metadata.?labels.orValue({})",
    oldTemplateLabels: old("spec.?template.?metadata.?labels", "{}"),
    isJob: "request.resource.resource == 'jobs'",
    isJobSet: "request.resource.resource == 'jobsets'",
  };
}

/** Whether the key `k` is the label of a Trial's pods, set by whoever makes the Trial's job. */
const IS_TRIALS_LABEL = `(k == '${LABELS.trial}' && variables.user in variables.trialControllers)`;

/** Added labels of a Job's pod template that fit. */
const addedToTemplate = (fits: string) =>
  addedKeys("variables.templateLabels", "variables.oldTemplateLabels", fits);

/** Whether no pod template of a JobSet has labels of ours that it did not have. */
const jobSetTemplatesAreClean = (claims: Claims) => {
  const labels = (job: string) => `${job}.?template.?spec.?template.?metadata.?labels.orValue({})`;
  const before = "(oldObject == null ? [] : oldObject.spec.?replicatedJobs.orValue([]))";
  return "object.spec.?replicatedJobs.orValue([]).all(r, " +
    `${labels("r")}.all(k, !(${isOurLabel(claims, labels("r"))}) || ${IS_TRIALS_LABEL} || ` +
    `${before}.exists(o, ` +
    `o.name == r.name && k in ${labels("o")} && ${labels("o")}[k] == ${labels("r")}[k])))`;
};

/** The labels by which a Job selects pods, if they belong to another Job. */
const isForeignJobLabel = `${isJobUidLabel} && variables.templateLabels[k] != object.metadata.uid`;

function validations(claims: Claims) {
  const owners = "variables.addedControllers.map(r, r.kind + ' ' + r.name).join(', ')";
  const added = addedToTemplate(
    `${isJobSetLabel} || ${isOurLabel(claims, "variables.templateLabels")}`,
  ) + `.filter(k, !(${IS_TRIALS_LABEL}))`;
  const foreign = addedToTemplate(isForeignJobLabel);
  return [
    rule(
      "!variables.isPod || variables.isWriter || size(variables.addedControllers) == 0",
      "only the Job controller, JobSet controllers and the manager may make a pod belong to a job",
      owners,
    ),
    rule(
      "!variables.isPod || variables.isWriter || size(variables.addedLabels) == 0",
      "only the Job controller, JobSet controllers and the manager may set these labels on pods",
      "variables.addedLabels.join(', ')",
    ),
    // For everybody: where all controllers of Kubernetes share an account, that of the Job controller also
    // makes the pods of a ReplicaSet with any labels, and orphans them for the Job to adopt.
    rule(
      "!variables.isPod || size(variables.foreignUidLabels) == 0",
      "these labels of a pod must be the UID of the Job that controls it",
      "variables.foreignUidLabels.join(', ')",
    ),
    // For everybody, for the same reason: what has this label is a job's pod from its beginning.
    rule(
      "!variables.isPod || size(variables.foreignKindLabels) == 0",
      "only a pod that a job of a kind of kubeflow.org controls has this label",
      "variables.foreignKindLabels.join(', ')",
    ),
    rule(
      "!variables.isJob || variables.isExecutor || size(variables.addedControllers) == 0",
      "only JobSet controllers and the manager may make a Job belong to another object of a TrainJob",
      owners,
    ),
    rule(
      `!variables.isJob || variables.isExecutor || size(${added}) == 0`,
      "only JobSet controllers and the manager may set these labels on the pods of a Job",
      `${added}.join(', ')`,
    ),
    // For everybody: by a Job with a selector of its own, pods could be made that another adopts.
    rule(
      `!variables.isJob || size(${foreign}) == 0`,
      "these labels of a Job's pods must be the UID of that Job",
      `${foreign}.join(', ')`,
    ),
    rule(
      "!variables.isJobSet || variables.isManager || size(variables.addedControllers) == 0",
      "only the manager may make a JobSet belong to a TrainJob",
      owners,
    ),
    rule(
      `!variables.isJobSet || variables.isManager || ${jobSetTemplatesAreClean(claims)}`,
      "only the manager may set these labels on the pods of a JobSet",
      `'${claims.labels.join(", ")}'`,
    ),
  ];
}

/** The policy and its binding. */
export function ownershipPolicy(settings: Settings, kinds: JobKinds): Manifest[] {
  const claims = claimsOf(kinds);
  return policyManifests(MANAGER.admissionPolicy, {
    resourceRules: [
      resourceRule([""], ["pods", "pods/status"], ["CREATE", "UPDATE"]),
      resourceRule([""], ["bindings", "pods/binding"], ["CREATE"]),
      resourceRule(["batch"], ["jobs", "jobs/status"], ["CREATE", "UPDATE"]),
      resourceRule([JOBSET_GROUP], ["jobsets", "jobsets/status"], ["CREATE", "UPDATE"]),
    ],
    variables: variables(settings, claims),
    validations: validations(claims),
  });
}
