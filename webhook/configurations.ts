/** Webhook configurations: what the API server asks the manager about (docs/decisions/0013). Pure. */
import { Buffer } from "node:buffer";
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "../platform/kube/kubernetes.ts";
import type { JobKind } from "../crds/job_kind.ts";
import type { JobKinds } from "../crds/job_kinds.ts";
import { KATIB } from "../crds/katib_names.ts";
import type { LabelRequirement } from "../crds/label_selector.ts";
import {
  ANNOTATIONS,
  LABELS,
  MANAGER,
  PORTS,
  TRAINER_GROUP,
  TRAINER_VERSION,
} from "../crds/names.ts";
import { type V1Kind, v1KindOf } from "../crds/v1/kinds.ts";
import { V1_GROUP, V1_VERSION } from "../crds/v1/names.ts";
import { v1WebhookPaths, WEBHOOK_PATHS, type WebhookPath } from "./webhook_paths.ts";

/** The address of the webhooks for the API server: a Service, or a base URL given by flag. */
export type WebhookTarget =
  | {
    readonly service: { readonly namespace: string; readonly name: string; readonly port?: number };
  }
  | { readonly baseUrl: string };

/** Options of the configurations. */
export interface ConfigurationOptions {
  /** The kinds of jobs whose pods are injected. */
  readonly kinds: JobKinds;
  /** The v1 kinds that the manager runs: of others, nothing is asked. */
  readonly v1Kinds: readonly V1Kind[];
  /** Whether the manager runs OptimizationJobs. */
  readonly optimizationJobs: boolean;
  readonly target: WebhookTarget;
  /** Every CA that may have signed the serving certificate, PEM. */
  readonly caBundle: string;
  /** Whether pods are injected: the feature gate of progress. */
  readonly injectPods: boolean;
}

/** Time the API server waits, in seconds; a pod waits less, since training goes before progress. */
const TIMEOUT_SECONDS = { pods: 5, others: 10 } as const;

/** All that every webhook of ours says, spelled out as the API server would default it. */
const COMMON = {
  admissionReviewVersions: ["v1"],
  sideEffects: "None",
  matchPolicy: "Equivalent",
  namespaceSelector: {},
};

/** The same of the webhooks of jobs and runtimes: nothing that they would refuse is stored. */
const COMMON_OF_JOBS = {
  ...COMMON,
  objectSelector: {},
  failurePolicy: "Fail",
  timeoutSeconds: TIMEOUT_SECONDS.others,
};

const exists = (key: string) => ({ key, operator: "Exists" });
const doesNotExist = (key: string) => ({ key, operator: "DoesNotExist" });

/** The label selector of the pods of a kind. */
function podsOf({ podLabels: { jobName, kind } }: JobKind) {
  const ofKind = kind && { key: kind.key, operator: "In", values: [kind.value] };
  return [exists(jobName), ...(ofKind ? [ofKind] : [])];
}

/** The names of a kind's webhooks; those of the implied kind have none of a kind in them. */
function podWebhookNames({ implied }: JobKinds, kind: JobKind) {
  const suffix = (name: string) =>
    kind === implied ? name : name.replace(/\./, `.${kind.plural}.${kind.group}.`);
  return { plain: suffix(MANAGER.podWebhook), trial: suffix(MANAGER.trialPodWebhook) };
}

function clientConfig(options: ConfigurationOptions, path: WebhookPath) {
  const caBundle = Buffer.from(options.caBundle, "utf8").toString("base64");
  const { target } = options;
  if ("baseUrl" in target) return { caBundle, url: target.baseUrl.replace(/\/+$/, "") + path };
  const { namespace, name, port = PORTS.webhookService } = target.service;
  return { caBundle, service: { namespace, name, path, port } };
}

function rule(group: string, version: string, resource: string, operations: string[]) {
  return {
    apiGroups: [group],
    apiVersions: [version],
    resources: [resource],
    operations,
    scope: "*",
  };
}

/**
 * Spares the updates of a job that is being deleted. Its finalizers are taken away by updates, and a
 * deletion in the foreground must end while no replica answers.
 */
const NOT_BEING_DELETED = {
  name: "not-being-deleted",
  expression: 'request.operation != "UPDATE" || !has(oldObject.metadata.deletionTimestamp)',
};

/** Whether a job has rules in JSON: what they compare is written at admission. */
const HAS_RULES = "has(object.metadata.annotations) && " +
  `${JSON.stringify(ANNOTATIONS.earlyStopping)} in object.metadata.annotations`;

/** A registration of the pod webhook, for pods whose labels meet all these requirements. */
function podWebhook(
  options: ConfigurationOptions,
  name: string,
  failurePolicy: "Fail" | "Ignore",
  matchExpressions: readonly LabelRequirement[],
) {
  return {
    ...COMMON,
    name,
    clientConfig: clientConfig(options, WEBHOOK_PATHS.mutatePods),
    rules: [rule("", "v1", "pods", ["CREATE"])],
    objectSelector: { matchExpressions: [...matchExpressions] },
    failurePolicy,
    timeoutSeconds: TIMEOUT_SECONDS.pods,
    reinvocationPolicy: "IfNeeded",
  };
}

/**
 * The registrations for pods of trial resources: those with Katib's label, and those with only ours; no pod
 * matches both. A trial without its metrics is wasted, so its pods wait for an answer.
 */
function trialResourceWebhooks(options: ConfigurationOptions) {
  const foreign = options.kinds.all.find(({ isForeign }) => isForeign);
  if (!options.injectPods || foreign === undefined) return [];
  const others = (foreign.podLabels.without ?? []).map(doesNotExist);
  const onlyOurs = [exists(LABELS.trial), doesNotExist(KATIB.trialLabel)];
  const name = (role: string) => `${role}.${MANAGER.trialPodWebhook}`;
  return [
    podWebhook(options, name("resource"), "Fail", [exists(KATIB.trialLabel), ...others]),
    podWebhook(options, name("labelled-resource"), "Fail", [...onlyOurs, ...others]),
  ];
}

/** Both registrations of the pod webhook for a kind; no pod matches both. */
function podWebhooks(options: ConfigurationOptions, kind: JobKind) {
  const { plain, trial } = podWebhookNames(options.kinds, kind);
  const pods = podsOf(kind);
  return [
    podWebhook(options, plain, "Ignore", [...pods, doesNotExist(LABELS.trial)]),
    podWebhook(options, trial, "Fail", [...pods, exists(LABELS.trial)]),
  ];
}

/** What the webhooks of a kind of the Trainer have in common. */
function trainerWebhook(
  options: ConfigurationOptions,
  name: `${"defaulter" | "validator"}.${string}`,
  path: WebhookPath,
) {
  const resource = `${name.slice(name.indexOf(".") + 1)}s`;
  return {
    ...COMMON_OF_JOBS,
    name: `${name}.${TRAINER_GROUP}`,
    clientConfig: clientConfig(options, path),
    rules: [rule(TRAINER_GROUP, TRAINER_VERSION, resource, ["CREATE", "UPDATE"])],
  };
}

/** What the webhooks of a v1 kind have in common; their names end as upstream's do. */
function v1Webhook({ singular, plural }: V1Kind, role: string) {
  return {
    ...COMMON_OF_JOBS,
    name: `${role}.${singular}.training-operator.${V1_GROUP}`,
    // Another version of a definition is another operator's.
    matchPolicy: "Exact",
    rules: [rule(V1_GROUP, V1_VERSION, plural, ["CREATE", "UPDATE"])],
  };
}

function v1Defaulter(options: ConfigurationOptions, kind: V1Kind) {
  return {
    ...v1Webhook(kind, "defaulter"),
    clientConfig: clientConfig(options, v1WebhookPaths(kind).mutate),
    // Our definitions have the default of the run policy themselves; upstream's do not.
    matchConditions: [NOT_BEING_DELETED, {
      name: "has-no-run-policy-or-has-rules",
      expression: `has(object.spec) && !has(object.spec.runPolicy) || ${HAS_RULES}`,
    }],
    reinvocationPolicy: "Never",
  };
}

function v1Validator(options: ConfigurationOptions, kind: V1Kind) {
  return {
    ...v1Webhook(kind, "validator"),
    clientConfig: clientConfig(options, v1WebhookPaths(kind).validate),
    matchConditions: [NOT_BEING_DELETED],
  };
}

/** The kinds whose pods are injected: of the v1 kinds those that are run. */
function injectedKinds({ injectPods, kinds, v1Kinds }: ConfigurationOptions): readonly JobKind[] {
  if (!injectPods) return [];
  return kinds.all.filter((kind) => {
    if (kind.isForeign) return false;
    const v1 = v1KindOf(kind);
    return v1 === undefined || v1Kinds.includes(v1);
  });
}

/** `milepost-mutating`: identity of pods, defaults of jobs. */
export function mutatingConfiguration(options: ConfigurationOptions): MutatingWebhookConfiguration {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: MANAGER.mutatingConfiguration },
    webhooks: [
      ...injectedKinds(options).flatMap((kind) => podWebhooks(options, kind)),
      ...trialResourceWebhooks(options),
      {
        ...trainerWebhook(options, "defaulter.trainjob", WEBHOOK_PATHS.defaultTrainJobs),
        // Nothing else has a default that the schema cannot give: most TrainJobs need no call.
        matchConditions: [NOT_BEING_DELETED, {
          name: "has-runtime-patches-or-rules",
          expression: `has(object.spec.runtimePatches) || ${HAS_RULES}`,
        }],
        reinvocationPolicy: "Never",
      },
      ...options.v1Kinds.map((kind) => v1Defaulter(options, kind)),
    ],
  };
}

/** `milepost-validating`: jobs, and runtimes that do not opt out by label. */
export function validatingConfiguration(
  options: ConfigurationOptions,
): ValidatingWebhookConfiguration {
  const {
    validateTrainJobs,
    validateTrainingRuntimes,
    validateClusterTrainingRuntimes,
    validateOptimizationJobs,
  } = WEBHOOK_PATHS;
  const jobs = [
    trainerWebhook(options, "validator.trainjob", validateTrainJobs),
    ...(options.optimizationJobs
      ? [trainerWebhook(options, "validator.optimizationjob", validateOptimizationJobs)]
      : []),
  ];
  const objectSelector = {
    matchExpressions: [{ key: LABELS.webhookValidation, operator: "NotIn", values: ["disabled"] }],
  };
  const runtimes = [
    trainerWebhook(options, "validator.trainingruntime", validateTrainingRuntimes),
    trainerWebhook(options, "validator.clustertrainingruntime", validateClusterTrainingRuntimes),
  ];
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: MANAGER.validatingConfiguration },
    webhooks: [
      ...jobs.map((it) => ({ ...it, matchConditions: [NOT_BEING_DELETED] })),
      ...runtimes.map((it) => ({ ...it, objectSelector })),
      ...options.v1Kinds.map((kind) => v1Validator(options, kind)),
    ],
  };
}
