/** Jobs of the v1 kinds: schemas of what they share, and of what single kinds have besides. */
import { z } from "zod";
import {
  kubernetesSchema,
  type LabelSelector,
  type MetricSpec,
  OPENAPI_NAME,
  type PodTemplateSpec,
  schemas,
} from "../kubernetes.ts";
import { atomicList, int32, int64 } from "../schema_marks.ts";
import { jobStopSchema, trainerStatusSchema } from "../trainjob.ts";
import type { V1Kind } from "./kinds.ts";

const podTemplateSpec = kubernetesSchema<PodTemplateSpec>("io.k8s.api.core.v1.PodTemplateSpec");

const quantity = z.custom<string | number>(
  (value) => typeof value === "string" || typeof value === "number",
  { error: "must be a quantity" },
).meta({ [OPENAPI_NAME]: "io.k8s.apimachinery.pkg.api.resource.Quantity" });
const time = () => z.string().meta({ format: "date-time" });

/** The pods of one replica type. */
export const replicaSpecSchema = z.looseObject({
  replicas: int32().optional(),
  restartPolicy: z.string().optional(),
  template: podTemplateSpec.optional(),
});
export type ReplicaSpec = z.infer<typeof replicaSpecSchema>;

/** The replica types of a job, by their names as the job spells them. */
export const replicaSpecsSchema = z.record(z.string(), replicaSpecSchema);
export type ReplicaSpecs = z.infer<typeof replicaSpecsSchema>;

export const schedulingPolicySchema = z.looseObject({
  minAvailable: int32().optional(),
  queue: z.string().optional().meta({
    "x-kubernetes-validations": [{
      rule: "self == oldSelf",
      message: "spec.runPolicy.schedulingPolicy.queue is immutable",
    }],
  }),
  minResources: z.record(z.string(), quantity).optional(),
  priorityClass: z.string().optional(),
  scheduleTimeoutSeconds: int32().optional(),
});
export type SchedulingPolicy = z.infer<typeof schedulingPolicySchema>;

export const runPolicySchema = z.looseObject({
  cleanPodPolicy: z.string().optional(),
  ttlSecondsAfterFinished: int32().optional(),
  activeDeadlineSeconds: int64().optional(),
  backoffLimit: int32().optional(),
  schedulingPolicy: schedulingPolicySchema.optional(),
  suspend: z.boolean().optional().meta({ default: false }),
  managedBy: z.string().optional(),
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
  runPolicy: runPolicySchema.optional(),
  /** TFJob. */
  successPolicy: z.string().optional(),
  enableDynamicWorker: z.boolean().optional(),
  /** PyTorchJob. */
  nprocPerNode: z.string().optional(),
  /** PyTorchJob, PaddleJob. */
  elasticPolicy: elasticPolicySchema.optional(),
  /** MPIJob. */
  slotsPerWorker: int32().optional(),
  mainContainer: z.string().optional(),
  cleanPodPolicy: z.string().optional(),
  /** MXJob. */
  jobMode: z.string().optional(),
});
export type V1Spec = z.infer<typeof v1SpecSchema>;

export const v1ConditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
  lastUpdateTime: time().optional(),
  lastTransitionTime: time().optional(),
});
export type V1Condition = z.infer<typeof v1ConditionSchema>;

/** Pods of a replica type by phase; a counter of zero is left out. */
export const replicaStatusSchema = z.looseObject({
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
  trainerStatus: trainerStatusSchema.optional().meta({
    description: "What the job's pods last reported.",
  }),
  stop: jobStopSchema.optional().meta({
    description: "The decision to stop the job early. It holds once it is here.",
  }),
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
