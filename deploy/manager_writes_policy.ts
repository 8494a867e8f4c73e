/**
 * Admission policy for the manager's writes of ConfigMaps and webhook configurations. RBAC can limit neither
 * a creation by name nor a patch by owner, so a role that suffices for the manager allows more than it does.
 * Nobody else is affected.
 */
import { type JobKinds, TRAINJOB } from "../crds/job_kinds.ts";
import { childNames, MANAGER, policyChildNames } from "../crds/names.ts";
import { KINDS } from "../crds/kinds.ts";
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

/** Whether an object has the name of a helper object of the TrainJob that controls it. */
function isChild(object: string): string {
  const names = Object.values({ ...childNames, ...policyChildNames.configMaps })
    .map((nameOf) => `r.name + '${nameOf("")}'`).join(", ");
  return `${object}.metadata.?ownerReferences.orValue([]).exists(r, ` +
    `r.?controller.orValue(false) && r.kind == '${TRAINJOB.kind}' && ` +
    `r.apiVersion.startsWith('${TRAINJOB.group}/') && ${object}.metadata.name in [${names}])`;
}

/** API groups and resources of all webhooks that the manager has. */
function intercepted(kinds: JobKinds) {
  const options = { kinds, target: { baseUrl: "" }, caBundle: "", injectPods: true };
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
      resourceRule([""], [KINDS.configMap.plural], writes),
      resourceRule([KINDS.mutatingWebhookConfiguration.group], plurals, writes, "Cluster"),
    ],
    variables: {
      ...managerVariables(settings),
      isChild: `${isChild("object")} && (oldObject == null || ${isChild("oldObject")})`,
      isOwnConfiguration: CONFIGURATIONS.map(({ kind, name }) =>
        `${is(kind.plural)} && object.metadata.name == '${name}'`
      ).join(" || "),
      foreignRules: `${is(KINDS.configMap.plural)} ? [] : object.?webhooks.orValue([])` +
        ".filter(w, !w.?rules.orValue([]).all(r, " +
        `r.?apiGroups.orValue([]).all(g, g in ${celList(groups)}) && ` +
        `r.?resources.orValue([]).all(it, it in ${celList(resources)}))).map(w, w.name)`,
    },
    validations: [
      validation(
        `!variables.isManager || !(${is(KINDS.configMap.plural)}) || variables.isChild`,
        "the manager may write only ConfigMaps that it makes for a TrainJob",
        "object.metadata.name",
      ),
      validation(
        `!variables.isManager || ${is(KINDS.configMap.plural)} || variables.isOwnConfiguration`,
        "the manager may write only its own webhook configurations",
        "object.metadata.name",
      ),
      validation(
        "!variables.isManager || size(variables.foreignRules) == 0",
        "the manager's webhooks may only be called for TrainJobs, runtimes and pods",
        "variables.foreignRules.join(', ')",
      ),
    ],
  });
}
