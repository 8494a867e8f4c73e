/** Jobs of the v1 kinds: schemas of what they share, and of what single kinds have besides. */
import { z } from "zod";
import {
  kubernetesSchema,
  type LabelSelector,
  type MetricSpec,
  OPENAPI_NAME,
  type PodTemplateSpec,
  schemas,
} from "../../platform/kube/kubernetes.ts";
import { atomicList, checked, int32, int64 } from "../schema_marks.ts";
import { statusParts } from "../trainjob.ts";
import type { V1Kind } from "./kinds.ts";

const podTemplateSpec = kubernetesSchema<PodTemplateSpec>("io.k8s.api.core.v1.PodTemplateSpec");

const quantity = z.custom<string | number>(
  (value) => typeof value === "string" || typeof value === "number",
  { error: "must be a quantity" },
).meta({ [OPENAPI_NAME]: "io.k8s.apimachinery.pkg.api.resource.Quantity" });
const time = () => z.string().meta({ format: "date-time" });

/** The pods of one replica type. */
const replicaSpecSchema = z.looseObject({
  replicas: int32().optional().meta({ description: "How many pods of this type. Default 1." }),
  restartPolicy: z.string().optional().meta({
    description: "Always, OnFailure, Never, or ExitCode: from 128 on the pod is made again.",
  }),
  template: podTemplateSpec.optional().meta({ description: "The pods of this type." }),
});
export type ReplicaSpec = z.infer<typeof replicaSpecSchema>;

/** The replica types of a job, by their names as the job spells them. */
export const replicaSpecsSchema = z.record(z.string(), replicaSpecSchema);
type ReplicaSpecs = z.infer<typeof replicaSpecsSchema>;

const schedulingPolicySchema = z.looseObject({
  minAvailable: int32().optional().meta({
    description: "How many pods start together. Default: all of the job.",
  }),
  queue: z.string().optional().meta({
    description: "The gang scheduler's queue.",
    ...checked("self == oldSelf", "spec.runPolicy.schedulingPolicy.queue is immutable"),
  }),
  minResources: z.record(z.string(), quantity).optional().meta({
    description: "Resources of those pods. Default: what they ask for.",
  }),
  priorityClass: z.string().optional().meta({ description: "The priority of the gang." }),
  scheduleTimeoutSeconds: int32().optional().meta({
    description: "How long the gang scheduler tries.",
  }),
});

const runPolicySchema = z.looseObject({
  cleanPodPolicy: z.string().optional().meta({
    description: "Which pods go when the job ends: All, Running or None. Default None.",
  }),
  ttlSecondsAfterFinished: int32().optional().meta({
    description: "Seconds after its end at which the job is deleted. Default: never.",
  }),
  activeDeadlineSeconds: int64().optional().meta({
    description: "Seconds after its start at which the job fails.",
  }),
  backoffLimit: int32().optional().meta({
    description: "Restarts after which the job fails. Default: none.",
  }),
  schedulingPolicy: schedulingPolicySchema.optional().meta({
    description: "How the pods are scheduled together.",
  }),
  suspend: z.boolean().optional().meta({
    default: false,
    description: "Whether the job is paused: its pods go, and come back when it is resumed.",
  }),
  managedBy: z.string().optional().meta({ description: "The controller that runs the job." }),
});
export type RunPolicy = z.infer<typeof runPolicySchema>;

/** Bounds within which the workers of a PyTorchJob or PaddleJob may be scaled, and how they meet. */
export const elasticPolicySchema = z.looseObject({
  minReplicas: int32().optional(),
  maxReplicas: int32().optional(),
  rdzvBackend: z.string().optional(),
  rdzvPort: int32().optional(),
  rdzvHost: z.string().optional(),
  rdzvId: z.string().optional(),
  rdzvConf: atomicList(z.looseObject({ key: z.string().optional(), value: z.string().optional() }))
    .optional(),
  standalone: z.boolean().optional(),
  nProcPerNode: int32().optional(),
  maxRestarts: int32().optional(),
  metrics: z.array(kubernetesSchema<MetricSpec>("io.k8s.api.autoscaling.v2.MetricSpec")).optional(),
});
export type ElasticPolicy = z.infer<typeof elasticPolicySchema>;

/** Every field of any kind's spec but the replica types, which stand under the kind's own key. */
export const v1SpecSchema = z.looseObject({
  runPolicy: runPolicySchema.optional().meta({
    description: "Limits of the job, and what happens to it and its pods.",
  }),
  /** TFJob. */
  successPolicy: z.string().optional().meta({
    description: "AllWorkers: every worker has to succeed. Default: the first one.",
  }),
  enableDynamicWorker: z.boolean().optional().meta({
    description: "Whether workers may come, go and fail.",
  }),
  /** PyTorchJob. */
  nprocPerNode: z.string().optional().meta({
    description: "Processes on each node: auto, cpu, gpu or a number. Default auto.",
  }),
  /** PyTorchJob, PaddleJob. */
  elasticPolicy: elasticPolicySchema.optional().meta({
    description: "Bounds of the number of workers, and how they meet.",
  }),
  /** MPIJob. */
  slotsPerWorker: int32().optional().meta({ description: "Processes of a worker. Default 1." }),
  mainContainer: z.string().optional().meta({
    description: "The container of a worker in which they run. Default: the first one.",
  }),
  cleanPodPolicy: z.string().optional().meta({ description: "As in runPolicy, which counts." }),
  /** MXJob. */
  jobMode: z.string().optional().meta({ description: "MXTrain or MXTune." }),
});
export type V1Spec = z.infer<typeof v1SpecSchema>;

const v1ConditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
  lastUpdateTime: time().optional(),
  lastTransitionTime: time().optional(),
});
export type V1Condition = z.infer<typeof v1ConditionSchema>;

/** Pods of a replica type by phase; a counter of zero is left out. */
const replicaStatusSchema = z.looseObject({
  active: int32().optional(),
  succeeded: int32().optional(),
  failed: int32().optional(),
  selector: z.string().optional(),
  /** Deprecated upstream in favour of `selector`, and never written. */
  labelSelector: kubernetesSchema<LabelSelector>(
    "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
  ).optional(),
});
export type ReplicaStatus = z.infer<typeof replicaStatusSchema>;

export const v1StatusSchema = z.looseObject({
  conditions: z.array(v1ConditionSchema).optional(),
  replicaStatuses: z.record(z.string(), replicaStatusSchema).optional(),
  startTime: time().optional(),
  completionTime: time().optional(),
  /** Set while a gang waits. */
  lastReconcileTime: time().optional(),
  completedIndexes: z.record(z.string(), z.string()).optional().meta({
    description:
      "By replica type, the indexes whose pods have succeeded, such as 0,2-4. They are not made again.",
  }),
  ...statusParts,
});
export type V1Status = z.infer<typeof v1StatusSchema>;

/** A job of any v1 kind. */
export const v1JobSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: schemas.objectMeta,
  spec: v1SpecSchema.default({}),
  status: v1StatusSchema.optional(),
});
export type V1Job = z.infer<typeof v1JobSchema>;

/** Returns the replica types of a job. Throws if they have another form, which no definition admits. */
export function replicaSpecsOf({ spec }: Pick<V1Job, "spec">, { specsKey }: V1Kind): ReplicaSpecs {
  return replicaSpecsSchema.parse(spec[specsKey] ?? {});
}
