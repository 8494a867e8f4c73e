/** The kinds that Milepost reads and writes, each with its REST path and the parser at its door. */
import type { z } from "zod";
import { jobSetSchema } from "./jobset.ts";
import { COSCHEDULING, VOLCANO } from "./gang_names.ts";
import { builtIn, KUBERNETES_KINDS } from "../platform/kube/kubernetes_kinds.ts";
import type { AnyObject } from "../platform/kube/kubernetes.ts";
import { KATIB } from "./katib_names.ts";
import { keptLogSchema } from "./kept_log.ts";
import { STANDALONE, TRAINER_GROUP, TRAINER_VERSION } from "./names.ts";
import { JOBSET_GROUP, JOBSET_VERSION } from "./jobset_names.ts";
import { optimizationJobSchema } from "./optimization_job.ts";
import { clusterTrainingRuntimeSchema, trainingRuntimeSchema } from "./training_runtime.ts";
import { trainJobSchema } from "./trainjob.ts";
import { trialSchema } from "./trial.ts";
import { guessPlural, type Kind } from "../platform/kube/resource.ts";

/** Pod groups of a gang scheduler; their fields are its CRD's to check. */
function podGroup({ group, version }: { group: string; version: string }): Kind<AnyObject> {
  return { ...builtIn<AnyObject>(group, "PodGroup"), version };
}

/** Returns a kind whose objects are read by its schema. */
export function customKind<T>(
  { group, version }: { readonly group: string; readonly version: string },
  kind: string,
  schema: z.ZodType<T>,
  namespaced = true,
): Kind<T> {
  const plural = guessPlural(kind);
  return { group, version, kind, plural, namespaced, parse: (value) => schema.parse(value) };
}

const TRAINER = { group: TRAINER_GROUP, version: TRAINER_VERSION };
const JOBSET = { group: JOBSET_GROUP, version: JOBSET_VERSION };

/** Every kind in use, by name. */
export const KINDS = {
  trainJob: customKind(TRAINER, "TrainJob", trainJobSchema),
  trainingRuntime: customKind(TRAINER, "TrainingRuntime", trainingRuntimeSchema),
  clusterTrainingRuntime: customKind(
    TRAINER,
    "ClusterTrainingRuntime",
    clusterTrainingRuntimeSchema,
    false,
  ),
  optimizationJob: customKind(TRAINER, "OptimizationJob", optimizationJobSchema),
  jobSet: customKind(JOBSET, "JobSet", jobSetSchema),
  trial: customKind(KATIB, KATIB.trialKind, trialSchema),
  keptLog: customKind(STANDALONE, "KeptLog", keptLogSchema),
  ...KUBERNETES_KINDS,
  coschedulingPodGroup: podGroup(COSCHEDULING),
  volcanoPodGroup: podGroup(VOLCANO),
} as const;
