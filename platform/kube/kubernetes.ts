/**
 * Kubernetes' own types as they are on the wire: client-node's classes with times as strings, and
 * zod schemas that stand for them by the name of their OpenAPI schema.
 */
import type * as k8s from "@kubernetes/client-node";
import { z } from "zod";
import { isObject } from "../base/json.ts";

/** A client-node type as JSON has it: every time is an RFC 3339 string. */
export type Wire<T> = T extends Date ? string
  : T extends readonly (infer Item)[] ? Wire<Item>[]
  : T extends object ? { [Key in keyof T]: Wire<T[Key]> }
  : T;

export type ObjectMeta = Wire<k8s.V1ObjectMeta>;
export type OwnerReference = Wire<k8s.V1OwnerReference>;
export type Condition = Wire<k8s.V1Condition>;
export type ConfigMap = Wire<k8s.V1ConfigMap>;
export type Container = Wire<k8s.V1Container>;
export type EnvVar = Wire<k8s.V1EnvVar>;
export type CoreEvent = Wire<k8s.CoreV1Event>;
export type Job = Wire<k8s.V1Job>;
export type JobTemplateSpec = Wire<k8s.V1JobTemplateSpec>;
export type LabelSelector = Wire<k8s.V1LabelSelector>;
export type Lease = Wire<k8s.V1Lease>;
export type MetricSpec = Wire<k8s.V2MetricSpec>;
export type Namespace = Wire<k8s.V1Namespace>;
export type Node = Wire<k8s.V1Node>;
export type PersistentVolumeClaim = Wire<k8s.V1PersistentVolumeClaim>;
export type PolicyRule = Wire<k8s.V1PolicyRule>;
export type Pod = Wire<k8s.V1Pod>;
export type PodSpec = Wire<k8s.V1PodSpec>;
export type PriorityClass = Wire<k8s.V1PriorityClass>;
export type PodTemplateSpec = Wire<k8s.V1PodTemplateSpec>;
export type ResourceRequirements = Wire<k8s.V1ResourceRequirements>;
export type Secret = Wire<k8s.V1Secret>;
export type Service = Wire<k8s.V1Service>;
export type ServiceAccount = Wire<k8s.V1ServiceAccount>;
export type Volume = Wire<k8s.V1Volume>;
export type VolumeMount = Wire<k8s.V1VolumeMount>;
export type TokenReview = Wire<k8s.V1TokenReview>;
export type SelfSubjectAccessReview = Wire<k8s.V1SelfSubjectAccessReview>;
export type SelfSubjectReview = Wire<k8s.V1SelfSubjectReview>;
export type SubjectAccessReview = Wire<k8s.V1SubjectAccessReview>;
export type MutatingWebhookConfiguration = Wire<k8s.V1MutatingWebhookConfiguration>;
export type ValidatingWebhookConfiguration = Wire<k8s.V1ValidatingWebhookConfiguration>;

/** An object of any kind that has a name. */
export const namedObjectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});

/** An object of a kind whose fields nothing here reads. */
export interface AnyObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** Metadata key under which a zod schema names the OpenAPI schema that it stands for. */
export const OPENAPI_NAME = "kubernetesSchema";

/**
 * A schema for what Kubernetes defines. Parsing checks that it is an object; its fields are the API
 * server's to check, by the OpenAPI schema of that name (`crds/kubernetes_schemas.json`).
 */
export function kubernetesSchema<T>(openApiName: string): z.ZodType<T> {
  return z.custom<T>(isObject, { error: "must be an object" }).meta({
    [OPENAPI_NAME]: openApiName,
  });
}

/** Short names of the OpenAPI schemas that our kinds embed. */
export const schemas = {
  objectMeta: kubernetesSchema<ObjectMeta>(
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
  ),
  condition: kubernetesSchema<Condition>("io.k8s.apimachinery.pkg.apis.meta.v1.Condition"),
  envVar: kubernetesSchema<EnvVar>("io.k8s.api.core.v1.EnvVar"),
  localObjectReference: kubernetesSchema<Wire<k8s.V1LocalObjectReference>>(
    "io.k8s.api.core.v1.LocalObjectReference",
  ),
  resourceRequirements: kubernetesSchema<ResourceRequirements>(
    "io.k8s.api.core.v1.ResourceRequirements",
  ),
  volume: kubernetesSchema<Volume>("io.k8s.api.core.v1.Volume"),
  volumeMount: kubernetesSchema<VolumeMount>("io.k8s.api.core.v1.VolumeMount"),
  affinity: kubernetesSchema<Wire<k8s.V1Affinity>>("io.k8s.api.core.v1.Affinity"),
  toleration: kubernetesSchema<Wire<k8s.V1Toleration>>("io.k8s.api.core.v1.Toleration"),
  podSchedulingGate: kubernetesSchema<Wire<k8s.V1PodSchedulingGate>>(
    "io.k8s.api.core.v1.PodSchedulingGate",
  ),
  podSecurityContext: kubernetesSchema<Wire<k8s.V1PodSecurityContext>>(
    "io.k8s.api.core.v1.PodSecurityContext",
  ),
  securityContext: kubernetesSchema<Wire<k8s.V1SecurityContext>>(
    "io.k8s.api.core.v1.SecurityContext",
  ),
  jobTemplateSpec: kubernetesSchema<JobTemplateSpec>("io.k8s.api.batch.v1.JobTemplateSpec"),
  persistentVolumeClaim: kubernetesSchema<PersistentVolumeClaim>(
    "io.k8s.api.core.v1.PersistentVolumeClaim",
  ),
} as const;
