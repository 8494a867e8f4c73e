/** TrainingRuntime and ClusterTrainingRuntime: blueprints of TrainJobs. */
import { z } from "zod";
import { jobSetTemplateSchema } from "./jobset.ts";
import { schemas } from "../platform/kube/kubernetes.ts";
import { TRAINER_API_VERSION } from "./names.ts";
import { checked, int32, listMap, listSet } from "./schema_marks.ts";

const torchPolicySchema = z.looseObject({
  envInjection: z.looseObject({
    targets: listMap(
      z.looseObject({
        jobName: z.string().min(1).max(253),
        containerNames: listSet(z.string().max(63)).min(1).max(8).meta(checked(
          "!self.exists(name, name == 'node')",
          "containerNames must not include the main node container, which always gets the variables",
        )),
      }),
      ["jobName"],
    ).max(16).optional(),
  }).optional(),
});

const numProcPerNode = (policy: string) =>
  int32().optional().meta({
    default: 1,
    ...checked("self >= 1", `NumProcPerNode in ${policy} must be >= 1`),
  });

const mpiPolicySchema = z.looseObject({
  numProcPerNode: numProcPerNode("mpiPolicy"),
  mpiImplementation: z.enum(["OpenMPI", "Intel", "IntelMPI", "MPICH", ""]).optional().meta({
    default: "OpenMPI",
  }),
  sshAuthMountPath: z.string().max(4096).optional().meta({ default: "/root/.ssh" }),
  runLauncherAsNode: z.boolean().optional().meta({ default: false }),
});

const fluxPolicySchema = z.looseObject({ numProcPerNode: numProcPerNode("fluxPolicy") });

/** How a runtime's nodes find each other; at most one of the frameworks. */
const mlPolicySchema = z.looseObject({
  numNodes: int32().optional(),
  torch: torchPolicySchema.optional(),
  mpi: mpiPolicySchema.optional(),
  jax: z.looseObject({}).optional(),
  xgboost: z.looseObject({}).optional(),
  flux: fluxPolicySchema.optional(),
  tensorflow: z.looseObject({}).optional(),
}).meta(checked(
  "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost), has(self.flux), has(self.tensorflow)].filter(x, x).size() <= 1",
  "Only one of the policy can be configured",
));
export type MlPolicy = z.infer<typeof mlPolicySchema>;

const podGroupPolicySchema = z.looseObject({
  coscheduling: z.looseObject({
    scheduleTimeoutSeconds: int32().optional().meta({ default: 60 }),
  }).optional(),
  volcano: z.looseObject({
    networkTopology: z.looseObject({
      mode: z.enum(["hard", "soft"]).optional().meta({ default: "hard" }),
      highestTierAllowed: z.int().optional().meta({ default: 1 }),
    }).optional(),
  }).optional(),
});

const trainingRuntimeSpecSchema = z.looseObject({
  mlPolicy: mlPolicySchema.optional(),
  podGroupPolicy: podGroupPolicySchema.optional(),
  template: jobSetTemplateSchema,
}).meta({ minProperties: 1 });
export type TrainingRuntimeSpec = z.infer<typeof trainingRuntimeSpecSchema>;

export const trainingRuntimeSchema = z.looseObject({
  apiVersion: z.literal(TRAINER_API_VERSION),
  kind: z.literal("TrainingRuntime"),
  metadata: schemas.objectMeta,
  spec: trainingRuntimeSpecSchema.optional(),
});
export type TrainingRuntime = z.infer<typeof trainingRuntimeSchema>;

export const clusterTrainingRuntimeSchema = trainingRuntimeSchema.extend({
  kind: z.literal("ClusterTrainingRuntime"),
});
export type ClusterTrainingRuntime = z.infer<typeof clusterTrainingRuntimeSchema>;

/** Either kind of runtime: they differ in scope only. */
export type AnyTrainingRuntime = TrainingRuntime | ClusterTrainingRuntime;
