/**
 * Admission policy for the manager's writes of ConfigMaps, Secrets and webhook configurations, what TrainJobs it
 * makes, and its deletions of TrainJobs and Jobs. RBAC can limit neither a creation by name nor a patch by owner nor a deletion by state, so a role that suffices for the manager allows more than it
 * does. Of others only the authors of OptimizationJobs are affected, whose TrainJobs the manager makes for them.
 */
import { type JobKinds, TRAINJOB } from "../crds/job_kinds.ts";
import { childNames, MANAGER, policyChildNames, TRAINJOB_CONDITIONS } from "../crds/names.ts";
import { KINDS } from "../crds/kinds.ts";
import { V1_KIND_LIST } from "../crds/v1/kinds.ts";
import { V1_GROUP } from "../crds/v1/names.ts";
import { trialRecordsName } from "../crds/trial_records.ts";
import { mutatingConfiguration, validatingConfiguration } from "../webhook/configurations.ts";
import type { Manifest, Settings } from "./installation_settings.ts";
import {
  celList,
  managerVariables,
  policyManifests,
  resourceRule,
  validation,
} from "./policy_manifests.ts";

const CONFIGURATIONS = [
  { kind: KINDS.mutatingWebhookConfiguration, name: MANAGER.mutatingConfiguration },
  { kind: KINDS.validatingWebhookConfiguration, name: MANAGER.validatingConfiguration },
];

/** Names of a TrainJob's objects, by the TrainJob's name. */
type ChildNames = Readonly<Record<string, (trainJob: string) => string>>;

const CONFIG_MAPS: ChildNames = { ...childNames, ...policyChildNames.configMaps };

/** The CA of a v1 job, and the files of an MPIJob's launcher (`controller/jobs/kinds/mpi_children.ts`). */
const V1_CONFIG_MAPS: ChildNames = {
  tlsConfig: childNames.tlsConfig,
  config: (job) => `${job}-config`,
};

const RECORDS: ChildNames = { records: trialRecordsName };

/** A Secret of this type would be filled with a token of the service account that it names. */
const TOKEN_TYPE = "kubernetes.io/service-account-token";

/** Kinds of jobs that control objects. */
interface ParentKinds {
  readonly group: string;
  readonly kinds: readonly string[];
}

const TRAINJOBS: ParentKinds = { group: TRAINJOB.group, kinds: [TRAINJOB.kind] };
const V1_JOBS: ParentKinds = { group: V1_GROUP, kinds: V1_KIND_LIST.map(({ kind }) => kind) };

const SEARCHES: ParentKinds = {
  group: KINDS.optimizationJob.group,
  kinds: [KINDS.optimizationJob.kind],
};

/** Whether one of these kinds controls an object; of its owner `r` more may be asked. */
function isControlled(object: string, { group, kinds }: ParentKinds, more = "true"): string {
  return `${object}.metadata.?ownerReferences.orValue([]).exists(r, ` +
    `r.?controller.orValue(false) && r.kind in ${celList(kinds)} && ` +
    `r.apiVersion.startsWith('${group}/') && ${more})`;
}

/** Whether an object has one of those names of the job of these kinds that controls it. */
function isChild(object: string, childNames: ChildNames, parents: ParentKinds): string {
  const names = Object.values(childNames).map((nameOf) => `r.name + '${nameOf("")}'`).join(", ");
  return isControlled(object, parents, `${object}.metadata.name in [${names}]`);
}

/** Whether an object, and the one that it replaces, is such a child. */
const isAlwaysChild = (childNames: ChildNames, parents = TRAINJOBS) =>
  `${isChild("object", childNames, parents)} && ` +
  `(oldObject == null || ${isChild("oldObject", childNames, parents)})`;

/** Whether a Secret is the manager's own one, which is in its own namespace. */
const IS_CERTIFICATE = "object.metadata.namespace == variables.managerNamespace && " +
  `object.metadata.name == '${MANAGER.certificateSecret}'`;

/** Whether a ConfigMap is the public one, which is installed with the manager. */
const IS_PUBLIC = "object.metadata.namespace == variables.managerNamespace && " +
  `object.metadata.name == '${MANAGER.publicConfigMap}'`;

/** Whether a TrainJob that is deleted has ended. */
const HAS_ENDED = "oldObject.?status.conditions.orValue([]).exists(c, c.status == 'True' && " +
  `c.type in ${celList([TRAINJOB_CONDITIONS.complete, TRAINJOB_CONDITIONS.failed])})`;

/** Whether a Job that is deleted is a JobSet's, or a Trial's, which `--trial-resource` may stop. */
const IS_OF_JOBSET_OR_TRIAL = "oldObject.metadata.?ownerReferences.orValue([]).exists(r, " +
  "r.?controller.orValue(false) && (" +
  [KINDS.jobSet, KINDS.trial].map(({ kind, group }) =>
    `r.kind == '${kind}' && r.apiVersion.startsWith('${group}/')`
  ).join(" || ") + "))";

/** API groups and resources of all webhooks that the manager has. */
function intercepted(kinds: JobKinds) {
  const options = {
    kinds,
    v1Kinds: V1_KIND_LIST,
    optimizationJobs: true,
    target: { baseUrl: "" },
    caBundle: "",
    injectPods: true,
  };
  const { webhooks: mutating = [] } = mutatingConfiguration(options);
  const { webhooks: validating = [] } = validatingConfiguration(options);
  const rules = [...mutating, ...validating].flatMap(({ rules = [] }) => rules);
  const unique = (values: (string[] | undefined)[]) => [
    ...new Set(values.flatMap((it) => it ?? [])),
  ];
  return {
    groups: unique(rules.map(({ apiGroups }) => apiGroups)),
    resources: unique(rules.map(({ resources }) => resources)),
  };
}

/** The policy and its binding. */
export function managerWritesPolicy(settings: Settings, kinds: JobKinds): Manifest[] {
  const { groups, resources } = intercepted(kinds);
  const plurals = CONFIGURATIONS.map(({ kind }) => kind.plural);
  const is = (resource: string) => `request.resource.resource == '${resource}'`;
  const writes = ["CREATE", "UPDATE"];
  return policyManifests(MANAGER.writesPolicy, {
    resourceRules: [
      resourceRule([""], [KINDS.configMap.plural, KINDS.secret.plural], writes),
      resourceRule([KINDS.mutatingWebhookConfiguration.group], plurals, writes, "Cluster"),
      resourceRule([TRAINJOB.group], [TRAINJOB.plural], ["CREATE", "DELETE"]),
      resourceRule([KINDS.job.group], [KINDS.job.plural], ["DELETE"]),
      resourceRule([KINDS.optimizationJob.group], [KINDS.optimizationJob.plural], ["CREATE"]),
    ],
    variables: {
      ...managerVariables(settings),
      isChild: isAlwaysChild(CONFIG_MAPS),
      isChildOfV1Job: isAlwaysChild(V1_CONFIG_MAPS, V1_JOBS),
      isChildOfSearch: isAlwaysChild(RECORDS, SEARCHES),
      isOwnSecret: `(${IS_CERTIFICATE}) || (${isAlwaysChild(policyChildNames.secrets)} && ` +
        `object.?type.orValue('') != '${TOKEN_TYPE}')`,
      isOwnConfiguration: CONFIGURATIONS.map(({ kind, name }) =>
        `${is(kind.plural)} && object.metadata.name == '${name}'`
      ).join(" || "),
      isConfiguration: plurals.map(is).join(" || "),
      foreignRules: "!variables.isConfiguration ? [] : object.?webhooks.orValue([])" +
        ".filter(w, !w.?rules.orValue([]).all(r, " +
        `r.?apiGroups.orValue([]).all(g, g in ${celList(groups)}) && ` +
        `r.?resources.orValue([]).all(it, it in ${celList(resources)}))).map(w, w.name)`,
    },
    validations: [
      validation(
        `!variables.isManager || !(${is(KINDS.configMap.plural)}) || variables.isChild || ` +
          `variables.isChildOfV1Job || variables.isChildOfSearch || (${IS_PUBLIC})`,
        `the manager may write only ${MANAGER.publicConfigMap} and ConfigMaps that it makes for a TrainJob, an MPIJob or ` +
          "an OptimizationJob",
        "object.metadata.name",
      ),
      validation(
        `!variables.isManager || !(${is(KINDS.secret.plural)}) || variables.isOwnSecret`,
        "the manager may write only its certificate and Secrets that it makes for a TrainJob",
        "object.metadata.name",
      ),
      validation(
        "!variables.isManager || !variables.isConfiguration || variables.isOwnConfiguration",
        "the manager may write only its own webhook configurations",
        "object.metadata.name",
      ),
      validation(
        `!variables.isManager || !(${is(TRAINJOB.plural)}) || request.operation != 'CREATE' || ` +
          isControlled("object", SEARCHES),
        "the manager may make only TrainJobs that an OptimizationJob controls",
        "object.metadata.name",
      ),
      validation(
        `!variables.isManager || !(${is(TRAINJOB.plural)}) || request.operation != 'DELETE' || ` +
          HAS_ENDED,
        "the manager may delete only TrainJobs that have ended",
        "oldObject.metadata.name",
      ),
      validation(
        `!variables.isManager || !(${is(KINDS.job.plural)}) || ${IS_OF_JOBSET_OR_TRIAL}`,
        "the manager may delete only Jobs of JobSets and of Trials",
        "oldObject.metadata.name",
      ),
      validation(
        "!variables.isManager || size(variables.foreignRules) == 0",
        "the manager's webhooks may only be called for jobs, runtimes and pods",
        "variables.foreignRules.join(', ')",
      ),
      // The manager makes these TrainJobs, with a right of its own.
      validation(
        `!(${is(KINDS.optimizationJob.plural)}) || authorizer.group('${TRAINJOB.group}')` +
          `.resource('${TRAINJOB.plural}').namespace(request.namespace).check('create').allowed()`,
        "trials are TrainJobs, and their author has no right to create these in the namespace",
        "variables.user",
      ),
    ],
  });
}
