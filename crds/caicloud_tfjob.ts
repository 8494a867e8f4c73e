/** TFJob of 2018, `kubeflow.caicloud.io/v1alpha1`: names and schema of a kind that is converted, and never served. */
import { z } from "zod";
import { kubernetesSchema, type PodTemplateSpec, schemas } from "../platform/kube/kubernetes.ts";
import { int32 } from "./schema_marks.ts";

export const CAICLOUD_API_VERSION = "kubeflow.caicloud.io/v1alpha1";
export const CAICLOUD_TFJOB = "TFJob";

/** Labels that its controller wrote into the templates of a job, instead of those that were there. */
export const CAICLOUD_LABELS: readonly string[] = [
  "kubeflow.caicloud.io",
  "tf_job_name",
  "runtime_id",
  "job_type",
  "index",
];

/** The key of the replica types; and that of later versions of TFJob, by which some write it. */
export const CAICLOUD_SPECS_KEYS = ["tfReplicaSpec", "tfReplicaSpecs"] as const;

/** Values of `tfReplicaType`. */
const CAICLOUD_REPLICA_TYPES = ["Local", "PS", "Worker"] as const;

/** The pods of one type. */
const replicaSpecSchema = z.strictObject({
  replicas: int32().optional(),
  tfReplicaType: z.enum(CAICLOUD_REPLICA_TYPES),
  template: kubernetesSchema<PodTemplateSpec>("io.k8s.api.core.v1.PodTemplateSpec").optional(),
  terminationPolicy: z.unknown().optional(),
});
export type CaicloudReplicaSpec = z.infer<typeof replicaSpecSchema>;

const text = () => z.string().optional();

/** A job. Another field than these is a mistake, for there is no later version that could have more. */
export const caicloudTfJobSchema = z.looseObject({
  metadata: schemas.objectMeta,
  spec: z.strictObject({
    runtimeID: text(),
    dataDir: text(),
    modelDir: text(),
    logDir: text(),
    exportDir: text(),
    tfReplicaSpec: z.array(replicaSpecSchema).optional(),
    tfReplicaSpecs: z.array(replicaSpecSchema).optional(),
  }),
});
export type CaicloudTfJob = z.infer<typeof caicloudTfJobSchema>;
