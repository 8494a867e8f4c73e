/** JobSet, `jobset.x-k8s.io/v1alpha2`: the workload of a TrainJob (docs/decisions/0028). */
import { z } from "zod";
import { schemas } from "../platform/kube/kubernetes.ts";
import { JOBSET_API_VERSION } from "./jobset_names.ts";
import { atomicList, checked, embeddedMeta, int32, listMap } from "./schema_marks.ts";

const IMMUTABLE = checked("self == oldSelf", "Value is immutable");

/** Another replicated job, and the state it must have reached before this one starts. */
const dependsOnSchema = z.looseObject({
  name: z.string(),
  status: z.enum(["Ready", "Complete"]),
});

const replicatedJobSchema = z.looseObject({
  name: z.string(),
  groupName: z.string().optional().meta({ default: "default" }),
  replicas: int32().min(0).optional().meta({ default: 1 }),
  template: schemas.jobTemplateSpec,
  dependsOn: listMap(dependsOnSchema, ["name"]).max(5).optional()
    .meta(IMMUTABLE),
});
export type ReplicatedJob = z.infer<typeof replicatedJobSchema>;

const networkSchema = z.looseObject({
  enableDNSHostnames: z.boolean().optional(),
  subdomain: z.string().optional(),
  publishNotReadyAddresses: z.boolean().optional(),
});

const successPolicySchema = z.looseObject({
  operator: z.enum(["All", "Any"]),
  targetReplicatedJobs: atomicList(z.string()).optional(),
});

/** Action of a failure policy rule; RestartJob and RestartJobAndIgnoreMaxRestarts are behind a gate. */
const FAILURE_ACTIONS = [
  "FailJobSet",
  "RestartJobSet",
  "RestartJobSetAndIgnoreMaxRestarts",
  "RestartJob",
  "RestartJobAndIgnoreMaxRestarts",
] as const;

const failurePolicyRuleSchema = z.looseObject({
  name: z.string(),
  action: z.enum(FAILURE_ACTIONS),
  onJobFailureReasons: z.array(z.string()).optional(),
  onJobFailureMessagePatterns: z.array(z.string()).optional(),
  targetReplicatedJobs: atomicList(z.string()).optional(),
});
export type FailurePolicyRule = z.infer<typeof failurePolicyRuleSchema>;

const failurePolicySchema = z.looseObject({
  maxRestarts: int32().optional(),
  restartStrategy: z.enum(["Recreate", "BlockingRecreate", "InPlaceRestart"]).optional()
    .meta({ default: "Recreate" }),
  rules: z.array(failurePolicyRuleSchema).optional(),
});

const startupPolicySchema = z.looseObject({
  startupPolicyOrder: z.enum(["AnyOrder", "InOrder"]),
});

const coordinatorSchema = z.looseObject({
  replicatedJob: z.string(),
  jobIndex: z.int().optional(),
  podIndex: z.int().optional(),
});

const volumeClaimPolicySchema = z.looseObject({
  templates: atomicList(schemas.persistentVolumeClaim).max(50),
  retentionPolicy: z.looseObject({
    whenDeleted: z.enum(["Delete", "Retain"]).optional().meta({ default: "Delete" }),
  }).optional(),
}).meta(checked(
  "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)",
  "namespace cannot be set for VolumeClaimPolicies templates",
));
export type VolumeClaimPolicy = z.infer<typeof volumeClaimPolicySchema>;

const jobSetSpecSchema = z.looseObject({
  replicatedJobs: listMap(replicatedJobSchema, ["name"]).optional(),
  network: networkSchema.optional().meta(IMMUTABLE),
  successPolicy: successPolicySchema.optional().meta(IMMUTABLE),
  failurePolicy: failurePolicySchema.optional().meta(IMMUTABLE),
  startupPolicy: startupPolicySchema.optional().meta(IMMUTABLE),
  suspend: z.boolean().optional(),
  coordinator: coordinatorSchema.optional(),
  managedBy: z.string().optional(),
  ttlSecondsAfterFinished: int32().min(0).optional(),
  volumeClaimPolicies: atomicList(volumeClaimPolicySchema).max(50).optional()
    .meta(IMMUTABLE),
}).meta(checked(
  "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && has(self.replicatedJobs) && self.replicatedJobs.exists(x, has(x.dependsOn)))",
  "StartupPolicy and DependsOn APIs are mutually exclusive",
));
export type JobSetSpec = z.infer<typeof jobSetSpecSchema>;

/** Counters of one replicated job; all six are required. */
const replicatedJobStatusSchema = z.looseObject({
  name: z.string(),
  ready: int32(),
  succeeded: int32(),
  failed: int32(),
  active: int32(),
  suspended: int32(),
  jobRestarts: atomicList(int32()).max(1024).optional(),
  jobRestartsCountTowardsMax: atomicList(int32()).max(1024).optional(),
});
export type ReplicatedJobStatus = z.infer<typeof replicatedJobStatusSchema>;

const jobSetStatusSchema = z.looseObject({
  conditions: listMap(schemas.condition, ["type"]).optional(),
  terminalState: z.string().optional(),
  restarts: int32().optional(),
  restartsCountTowardsMax: int32().optional(),
  replicatedJobsStatus: listMap(replicatedJobStatusSchema, ["name"]).optional(),
});
export type JobSetStatus = z.infer<typeof jobSetStatusSchema>;

export const jobSetSchema = z.looseObject({
  apiVersion: z.literal(JOBSET_API_VERSION),
  kind: z.literal("JobSet"),
  metadata: schemas.objectMeta,
  spec: jobSetSpecSchema.optional(),
  status: jobSetStatusSchema.optional(),
});
export type JobSet = z.infer<typeof jobSetSchema>;

/** The metadata of a JobSet inside a runtime: labels and annotations. */
export const jobSetTemplateSchema = z.looseObject({
  metadata: embeddedMeta().optional(),
  spec: jobSetSpecSchema.optional(),
}).meta({ minProperties: 1 });
