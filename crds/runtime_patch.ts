/** RuntimePatch: changes of a TrainJob, or of Kueue, to the template of its runtime. */
import { z } from "zod";
import { schemas } from "../platform/kube/kubernetes.ts";
import { atomicList, embeddedMeta, immutable, int64, listMap } from "./schema_marks.ts";

const containerPatchSchema = z.looseObject({
  name: z.string().min(1).max(253),
  env: listMap(schemas.envVar, ["name"]).max(128).optional(),
  volumeMounts: listMap(schemas.volumeMount, ["mountPath"]).max(128).optional(),
  securityContext: schemas.securityContext.optional(),
});
export type ContainerPatch = z.infer<typeof containerPatchSchema>;

const podSpecPatchSchema = z.looseObject({
  serviceAccountName: z.string().max(253).optional().meta(immutable),
  volumes: listMap(schemas.volume, ["name"]).max(128).optional().meta(immutable),
  initContainers: listMap(containerPatchSchema, ["name"]).max(64).optional().meta(immutable),
  containers: listMap(containerPatchSchema, ["name"]).max(64).optional().meta(immutable),
  imagePullSecrets: listMap(schemas.localObjectReference, ["name"]).max(64).optional()
    .meta(immutable),
  securityContext: schemas.podSecurityContext.optional().meta(immutable),
  terminationGracePeriodSeconds: int64().min(0).optional().meta(immutable),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  affinity: schemas.affinity.optional(),
  tolerations: atomicList(schemas.toleration).max(128).optional(),
  schedulingGates: listMap(schemas.podSchedulingGate, ["name"]).max(16).optional(),
});
export type PodSpecPatch = z.infer<typeof podSpecPatchSchema>;

const replicatedJobPatchSchema = z.looseObject({
  name: z.string().min(1).max(253),
  template: z.looseObject({
    metadata: embeddedMeta().optional(),
    spec: z.looseObject({
      template: z.looseObject({
        metadata: embeddedMeta().optional(),
        spec: podSpecPatchSchema.optional(),
      }).optional(),
    }).optional(),
  }).optional(),
});
export type ReplicatedJobPatch = z.infer<typeof replicatedJobPatchSchema>;

export const runtimePatchSchema = z.looseObject({
  manager: z.string().min(1).max(253).meta(immutable),
  time: z.string().optional().meta({ format: "date-time" }),
  trainingRuntimeSpec: z.looseObject({
    template: z.looseObject({
      metadata: embeddedMeta().optional(),
      spec: z.looseObject({
        replicatedJobs: listMap(replicatedJobPatchSchema, ["name"]).max(100).optional(),
      }).optional(),
    }).optional(),
  }).optional(),
});
export type RuntimePatch = z.infer<typeof runtimePatchSchema>;
