/** The webhook configurations that make the API server ask us (design, decision 4). Pure. */
import { Buffer } from "node:buffer";
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "../crds/kubernetes.ts";
import { LABELS, MANAGER, PORTS, TRAINER_GROUP, TRAINER_VERSION } from "../crds/names.ts";
import { WEBHOOK_PATHS, type WebhookPath } from "./webhook_paths.ts";

/** Where the API server finds the webhooks: a Service, or a base URL given by flag. */
export type WebhookTarget =
  | {
    readonly service: { readonly namespace: string; readonly name: string; readonly port?: number };
  }
  | { readonly baseUrl: string };

/** What goes into the configurations. */
export interface ConfigurationOptions {
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

const exists = (key: string) => ({ key, operator: "Exists" });
const doesNotExist = (key: string) => ({ key, operator: "DoesNotExist" });

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

const trainerRule = (resource: string) =>
  rule(TRAINER_GROUP, TRAINER_VERSION, resource, ["CREATE", "UPDATE"]);

/** Both registrations of the pod webhook; no pod matches both, and no other pod matches one. */
function podWebhooks(options: ConfigurationOptions) {
  const shared = {
    ...COMMON,
    clientConfig: clientConfig(options, WEBHOOK_PATHS.mutatePods),
    rules: [rule("", "v1", "pods", ["CREATE"])],
    timeoutSeconds: TIMEOUT_SECONDS.pods,
    reinvocationPolicy: "IfNeeded",
  };
  const select = (...matchExpressions: { key: string; operator: string }[]) => ({
    objectSelector: { matchExpressions },
  });
  return [
    {
      ...shared,
      name: MANAGER.podWebhook,
      failurePolicy: "Ignore",
      ...select(exists(LABELS.trainJobName), doesNotExist(LABELS.trial)),
    },
    {
      ...shared,
      name: MANAGER.trialPodWebhook,
      failurePolicy: "Fail",
      ...select(exists(LABELS.trainJobName), exists(LABELS.trial)),
    },
  ];
}

/** `milepost-mutating`: identity of pods, defaults of TrainJobs. */
export function mutatingConfiguration(options: ConfigurationOptions): MutatingWebhookConfiguration {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: MANAGER.mutatingConfiguration },
    webhooks: [
      ...(options.injectPods ? podWebhooks(options) : []),
      {
        ...COMMON,
        name: `defaulter.trainjob.${TRAINER_GROUP}`,
        clientConfig: clientConfig(options, WEBHOOK_PATHS.defaultTrainJobs),
        rules: [trainerRule("trainjobs")],
        objectSelector: {},
        // Nothing else has a default that the schema cannot give: most TrainJobs need no call.
        matchConditions: [{
          name: "has-runtime-patches",
          expression: "has(object.spec.runtimePatches)",
        }],
        failurePolicy: "Fail",
        timeoutSeconds: TIMEOUT_SECONDS.others,
        reinvocationPolicy: "Never",
      },
    ],
  };
}

/** `milepost-validating`: TrainJobs, and runtimes that do not opt out by label. */
export function validatingConfiguration(
  options: ConfigurationOptions,
): ValidatingWebhookConfiguration {
  const webhook = (singular: string, path: WebhookPath, objectSelector: object) => ({
    ...COMMON,
    name: `validator.${singular}.${TRAINER_GROUP}`,
    clientConfig: clientConfig(options, path),
    rules: [trainerRule(`${singular}s`)],
    objectSelector,
    failurePolicy: "Fail",
    timeoutSeconds: TIMEOUT_SECONDS.others,
  });
  const unlessDisabled = {
    matchExpressions: [{ key: LABELS.webhookValidation, operator: "NotIn", values: ["disabled"] }],
  };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: MANAGER.validatingConfiguration },
    webhooks: [
      webhook("trainjob", WEBHOOK_PATHS.validateTrainJobs, {}),
      webhook("trainingruntime", WEBHOOK_PATHS.validateTrainingRuntimes, unlessDisabled),
      webhook(
        "clustertrainingruntime",
        WEBHOOK_PATHS.validateClusterTrainingRuntimes,
        unlessDisabled,
      ),
    ],
  };
}
