/** TrainJob, `trainer.kubeflow.org/v1alpha1`: a training run. */
import { z } from "zod";
import { schemas } from "../platform/kube/kubernetes.ts";
import { CONDITION_REASON, DNS_LABEL_1035 } from "./name_syntax.ts";
import {
  DNS_LABEL_MAX,
  EARLY_STOPPING_GRACE_MAX_MS,
  MULTIKUEUE_CONTROLLER,
  PUSH_LIMITS,
  TRAINER_API_VERSION,
  TRAINER_GROUP,
  TRAINJOB_CONTROLLER,
  TRAINJOB_STATES,
} from "./names.ts";
import { jobFailureSchema } from "./job_failure.ts";
import { jobCheckpointSchema, jobRestartSchema } from "./job_restart.ts";
import { jobPaceSchema, jobStallSchema } from "./job_stall.ts";
import { jobTimeSpentSchema } from "./job_time_spent.ts";
import { runtimePatchSchema } from "./runtime_patch.ts";
import { atomicList, checked, immutable, int32, int64, listMap } from "./schema_marks.ts";

const runtimeRefSchema = z.looseObject({
  name: z.string().min(1).max(253),
  apiGroup: z.string().max(253).optional().meta({ default: TRAINER_GROUP }),
  kind: z.string().max(253).optional().meta({ default: "ClusterTrainingRuntime" }),
});
export type RuntimeRef = z.infer<typeof runtimeRefSchema>;

const initializerStepSchema = z.looseObject({
  storageUri: z.string().max(2048).optional().meta(checked(
    "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",
    "storageUri may be empty, or it must be a valid URI (scheme://...)",
  )),
  env: listMap(schemas.envVar, ["name"]).max(128).optional(),
  secretRef: schemas.localObjectReference.optional(),
});
export type InitializerStep = z.infer<typeof initializerStepSchema>;

const initializerSchema = z.looseObject({
  dataset: initializerStepSchema.optional(),
  model: initializerStepSchema.optional(),
});

const argument = z.string().max(1_048_576);

/** Most variables that a TrainJob gives its trainer. */
export const TRAINER_ENV_MAX = 128;

const trainerSchema = z.looseObject({
  image: z.string().max(500).optional().meta({ description: "Image of the training container." }),
  command: atomicList(argument).max(128).optional().meta({
    description: "Replaces the command of the training container.",
  }),
  args: atomicList(argument).max(128).optional().meta({
    description: "Replaces the arguments of the training container.",
  }),
  env: listMap(schemas.envVar, ["name"]).max(TRAINER_ENV_MAX).optional(),
  numNodes: int32().min(0).optional().meta({ description: "Pods that train together." }),
  resourcesPerNode: schemas.resourceRequirements.optional(),
  numProcPerNode: int32().optional()
    .meta(checked("self >= 1", "numProcPerNode must be greater than or equal to 1")),
});
export type Trainer = z.infer<typeof trainerSchema>;

/** Where a patch of a runtime has what a field of a former API said; there the field is refused, as it would be dropped without a word. */
const PATCHED = "template.spec.replicatedJobs[].template.spec.template";
const ANYTHING = z.looseObject({}).meta({ "x-kubernetes-preserve-unknown-fields": true });
const former = (what: string) => ({
  ...checked(
    "size(self) == 0",
    `not in this version of the API: write ${what} of an item of spec.runtimePatches, ` +
      "which has a manager, such as example.com/me",
  ),
  description: "Of a former version of the API. It is refused: write runtimePatches.",
});

/** The spec of a TrainJob in a template, as upstream's definitions of those who make TrainJobs have it. */
export const templatedTrainJobSpecSchema = z.looseObject({
  runtimeRef: runtimeRefSchema.meta({
    ...immutable,
    description: "The runtime that this job is made from.",
  }),
  initializer: initializerSchema.optional().meta({
    ...immutable,
    description: "What fetches the data set and the model before training begins.",
  }),
  trainer: trainerSchema.optional().meta({
    ...immutable,
    description: "What runs on each node; what is left out comes from the runtime.",
  }),
  runtimePatches: listMap(runtimePatchSchema, ["manager"]).max(16).optional().meta({
    description:
      "Changes laid over the runtime's template, in this order; only while the job is suspended.",
  }),
  suspend: z.boolean().optional().meta({
    default: false,
    description: "Whether the job is paused: its pods go, and come back when it is resumed.",
  }),
  activeDeadlineSeconds: int64().min(1).optional().meta({
    ...immutable,
    description:
      "Seconds after which the job fails, counted from its start or its last resumption.",
  }),
  managedBy: z.string().max(253).optional().meta({
    default: TRAINJOB_CONTROLLER,
    description: "The controller that runs the job.",
    "x-kubernetes-validations": [
      {
        rule: `self in ['${TRAINJOB_CONTROLLER}', '${MULTIKUEUE_CONTROLLER}']`,
        message: `ManagedBy must be ${TRAINJOB_CONTROLLER} or ${MULTIKUEUE_CONTROLLER} if set`,
      },
      { rule: "self == oldSelf", message: "field is immutable" },
    ],
  }),
});

const trainJobSpecSchema = templatedTrainJobSpecSchema.extend({
  podTemplateOverrides: atomicList(ANYTHING).optional()
    .meta(former(`trainingRuntimeSpec.${PATCHED}`)),
  labels: z.record(z.string(), z.string()).optional()
    .meta(former(`trainingRuntimeSpec.template.metadata.labels`)),
  annotations: z.record(z.string(), z.string()).optional()
    .meta(former(`trainingRuntimeSpec.template.metadata.annotations`)),
});
export type TrainJobSpec = z.infer<typeof trainJobSpecSchema>;

const counter = () => int32().min(0);

const jobStatusSchema = z.looseObject({
  name: z.string().min(1).max(253),
  ready: counter(),
  succeeded: counter(),
  failed: counter(),
  active: counter(),
  suspended: counter(),
});
export type JobStatus = z.infer<typeof jobStatusSchema>;

const metricSchema = z.looseObject({
  name: z.string().min(1).max(PUSH_LIMITS.metricNameLength),
  value: z.string().min(1).max(PUSH_LIMITS.metricValueLength),
});

/** Last report of a pod (KEP-2779). */
export const trainerStatusSchema = z.looseObject({
  progressPercentage: int32().min(0).max(100).optional().meta({
    description: "How much of the training is done, in percent.",
  }),
  estimatedRemainingSeconds: int32().min(0).optional().meta({
    description: "Seconds until the training will be done.",
  }),
  metrics: atomicList(metricSchema).max(PUSH_LIMITS.metrics).optional().meta({
    description: "What the training measures, such as its loss.",
  }),
  lastUpdatedTime: z.string().meta({
    format: "date-time",
    description: "When the pods said so.",
  }),
});
export type TrainerStatus = z.infer<typeof trainerStatusSchema>;

/** Limits of the decision to stop a job early. */
export const STOP_LIMITS = {
  /** Characters of the reason: it becomes that of a condition, as the message does. */
  reasonLength: 1024,
  messageLength: 32_768,
  userLength: 1024,
  graceSeconds: EARLY_STOPPING_GRACE_MAX_MS / 1000,
} as const;

/** The decision to stop a job early (docs/decisions/0043). */
export const jobStopSchema = z.looseObject({
  reason: z.string().min(1).max(STOP_LIMITS.reasonLength).regex(CONDITION_REASON).meta({
    description: "Why the job is stopped, in one word: the reason of its condition EarlyStopped.",
  }),
  message: z.string().max(STOP_LIMITS.messageLength).meta({
    description: "Why the job is stopped, for people.",
  }),
  time: z.string().meta({ format: "date-time", description: "When it was decided." }),
  user: z.string().max(STOP_LIMITS.userLength).optional().meta({
    description: "Who asked for it; absent if the job's rules were met.",
  }),
  graceSeconds: int32().min(0).max(STOP_LIMITS.graceSeconds).optional().meta({
    description: "How long after that time the job may go on, to save its work.",
  }),
});
export type JobStop = z.infer<typeof jobStopSchema>;

/** State of a TrainJob before its controller has set one. */
const INITIAL_STATE = "Created" satisfies typeof TRAINJOB_STATES[number];

/** What Milepost adds to the status of each kind that it runs. */
export const statusParts = {
  trainerStatus: trainerStatusSchema.optional().meta({
    description: "What the job's pods last reported.",
  }),
  stop: jobStopSchema.optional().meta({
    description: "The decision to stop the job early. It holds once it is here.",
  }),
  failure: jobFailureSchema.optional(),
  stalled: jobStallSchema.optional(),
  pace: jobPaceSchema.optional(),
  timeSpent: jobTimeSpentSchema.optional(),
  checkpoint: jobCheckpointSchema.optional().meta({
    description: "The newest checkpoint that the job's pods reported.",
  }),
  restart: jobRestartSchema.optional(),
};

const trainJobStatusSchema = z.looseObject({
  conditions: listMap(schemas.condition, ["type"]).max(8).optional(),
  jobsStatus: listMap(jobStatusSchema, ["name"]).max(100).optional(),
  ...statusParts,
  startTime: z.string().optional().meta({
    format: "date-time",
    description: "When the job was last resumed. Absent while it is suspended, and until then.",
  }),
  restarts: int32().min(0).optional().meta({
    description: "How often the job was started again as a whole: after failures, and by restarts.",
  }),
  state: z.enum(TRAINJOB_STATES).optional().meta({ default: INITIAL_STATE }),
}).meta({ minProperties: 1 });
export type TrainJobStatus = z.infer<typeof trainJobStatusSchema>;

export const trainJobSchema = z.looseObject({
  apiVersion: z.literal(TRAINER_API_VERSION),
  kind: z.literal("TrainJob"),
  metadata: schemas.objectMeta,
  spec: trainJobSpecSchema,
  // A default that the API server shows, so that it need not be written.
  status: trainJobStatusSchema.optional().meta({ default: { state: INITIAL_STATE } }),
}).meta({
  "x-kubernetes-validations": [
    {
      rule: `self.metadata.name.matches('^${DNS_LABEL_1035}$')`,
      message: "metadata.name must match RFC 1035 DNS label format",
    },
    {
      rule: `size(self.metadata.name) <= ${DNS_LABEL_MAX}`,
      message: `metadata.name must be no more than ${DNS_LABEL_MAX} characters`,
    },
  ],
});
export type TrainJob = z.infer<typeof trainJobSchema>;

/** Returns the TrainJob's reference to its runtime, with the schema's defaults. */
export function runtimeRefOf(
  { spec }: Pick<TrainJob, "spec">,
): { name: string; apiGroup: string; kind: string } {
  const { name, apiGroup = TRAINER_GROUP, kind = "ClusterTrainingRuntime" } = spec.runtimeRef;
  return { name, apiGroup, kind };
}

/** Returns the scope of the runtime that the TrainJob refers to; undefined for an unknown kind. */
export function runtimeScope(
  trainJob: Pick<TrainJob, "spec">,
): "namespaced" | "cluster" | undefined {
  const { apiGroup, kind } = runtimeRefOf(trainJob);
  if (apiGroup !== TRAINER_GROUP) return undefined;
  if (kind === "TrainingRuntime") return "namespaced";
  return kind === "ClusterTrainingRuntime" ? "cluster" : undefined;
}
