/** The kinds that Milepost reads and writes, each with its REST path and the parser at its door. */
import { z } from "zod";
import { type JobSet, jobSetSchema } from "./jobset.ts";
import { COSCHEDULING, VOLCANO } from "./gang_names.ts";
import { isObject } from "../platform/base/json.ts";
import type * as k from "./kubernetes.ts";
import { KATIB } from "./katib_names.ts";
import { TRAINER_GROUP, TRAINER_VERSION } from "./names.ts";
import { JOBSET_GROUP, JOBSET_VERSION } from "./jobset_names.ts";
import {
  type ClusterTrainingRuntime,
  clusterTrainingRuntimeSchema,
  type TrainingRuntime,
  trainingRuntimeSchema,
} from "./training_runtime.ts";
import { type TrainJob, trainJobSchema } from "./trainjob.ts";
import { type Trial, trialSchema } from "./trial.ts";

/** API paths of a kind, and the parser of its objects. */
export interface Kind<T> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Whether reads request no more than the metadata. Default false. */
  readonly metadataOnly?: boolean;
  /** Reads an object from the API server. Throws if it is not one of this kind. */
  readonly parse: (value: unknown) => T;
}

/** Kubernetes' own objects: the API server has checked their fields. */
function builtIn<T>(group: string, kind: string, plural: string, namespaced = true): Kind<T> {
  const schema = z.custom<T>(
    (value) => isObject(value) && isObject(value.metadata),
    { error: `must be a ${kind} with metadata` },
  );
  return { group, version: "v1", kind, plural, namespaced, parse: (value) => schema.parse(value) };
}

/** Pod groups of a gang scheduler; their fields are its CRD's to check. */
function podGroup({ group, version }: { group: string; version: string }): Kind<k.AnyObject> {
  return { ...builtIn<k.AnyObject>(group, "PodGroup", "podgroups"), version };
}

function trainer<T>(
  kind: string,
  plural: string,
  schema: z.ZodType<T>,
  namespaced = true,
): Kind<T> {
  const parse = (value: unknown) => schema.parse(value);
  return { group: TRAINER_GROUP, version: TRAINER_VERSION, kind, plural, namespaced, parse };
}

/** Every kind in use, by name. */
export const KINDS = {
  trainJob: trainer<TrainJob>("TrainJob", "trainjobs", trainJobSchema),
  trainingRuntime: trainer<TrainingRuntime>(
    "TrainingRuntime",
    "trainingruntimes",
    trainingRuntimeSchema,
  ),
  clusterTrainingRuntime: trainer<ClusterTrainingRuntime>(
    "ClusterTrainingRuntime",
    "clustertrainingruntimes",
    clusterTrainingRuntimeSchema,
    false,
  ),
  jobSet: {
    group: JOBSET_GROUP,
    version: JOBSET_VERSION,
    kind: "JobSet",
    plural: "jobsets",
    namespaced: true,
    parse: (value: unknown) => jobSetSchema.parse(value),
  } satisfies Kind<JobSet> as Kind<JobSet>,
  trial: {
    group: KATIB.group,
    version: KATIB.version,
    kind: KATIB.trialKind,
    plural: "trials",
    namespaced: true,
    parse: (value: unknown) => trialSchema.parse(value),
  } satisfies Kind<Trial> as Kind<Trial>,
  job: builtIn<k.Job>("batch", "Job", "jobs"),
  pod: builtIn<k.Pod>("", "Pod", "pods"),
  service: builtIn<k.Service>("", "Service", "services"),
  endpointSlice: builtIn<k.AnyObject>("discovery.k8s.io", "EndpointSlice", "endpointslices"),
  configMap: builtIn<k.ConfigMap>("", "ConfigMap", "configmaps"),
  secret: builtIn<k.Secret>("", "Secret", "secrets"),
  serviceAccount: builtIn<k.ServiceAccount>("", "ServiceAccount", "serviceaccounts"),
  horizontalPodAutoscaler: {
    ...builtIn<k.AnyObject>("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    version: "v2",
  },
  role: builtIn<k.AnyObject>("rbac.authorization.k8s.io", "Role", "roles"),
  roleBinding: builtIn<k.AnyObject>("rbac.authorization.k8s.io", "RoleBinding", "rolebindings"),
  event: builtIn<k.CoreEvent>("", "Event", "events"),
  persistentVolumeClaim: builtIn<k.PersistentVolumeClaim>(
    "",
    "PersistentVolumeClaim",
    "persistentvolumeclaims",
  ),
  namespace: builtIn<k.Namespace>("", "Namespace", "namespaces", false),
  node: builtIn<k.Node>("", "Node", "nodes", false),
  lease: builtIn<k.Lease>("coordination.k8s.io", "Lease", "leases"),
  priorityClass: builtIn<k.PriorityClass>(
    "scheduling.k8s.io",
    "PriorityClass",
    "priorityclasses",
    false,
  ),
  coschedulingPodGroup: podGroup(COSCHEDULING),
  volcanoPodGroup: podGroup(VOLCANO),
  customResourceDefinition: builtIn<k.AnyObject>(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    false,
  ),
  tokenReview: builtIn<k.TokenReview>(
    "authentication.k8s.io",
    "TokenReview",
    "tokenreviews",
    false,
  ),
  subjectAccessReview: builtIn<k.SubjectAccessReview>(
    "authorization.k8s.io",
    "SubjectAccessReview",
    "subjectaccessreviews",
    false,
  ),
  mutatingWebhookConfiguration: builtIn<k.MutatingWebhookConfiguration>(
    "admissionregistration.k8s.io",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    false,
  ),
  validatingWebhookConfiguration: builtIn<k.ValidatingWebhookConfiguration>(
    "admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    false,
  ),
} as const;

/** `apiVersion` of a kind: `v1`, or `group/version`. */
export function apiVersionOf(kind: Pick<Kind<unknown>, "group" | "version">): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}
