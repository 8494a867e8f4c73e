/** The kinds that Milepost reads and writes, each with its REST path and the parser at its door. */
import type { z } from "zod";
import { type JobSet, jobSetSchema } from "./jobset.ts";
import { COSCHEDULING, VOLCANO } from "./gang_names.ts";
import { builtIn, KUBERNETES_KINDS } from "../platform/kube/kubernetes_kinds.ts";
import type { AnyObject } from "../platform/kube/kubernetes.ts";
import { KATIB } from "./katib_names.ts";
import { type KeptLog, keptLogSchema } from "./kept_log.ts";
import { STANDALONE, TRAINER_GROUP, TRAINER_VERSION } from "./names.ts";
import { JOBSET_GROUP, JOBSET_VERSION } from "./jobset_names.ts";
import {
  type ClusterTrainingRuntime,
  clusterTrainingRuntimeSchema,
  type TrainingRuntime,
  trainingRuntimeSchema,
} from "./training_runtime.ts";
import { type TrainJob, trainJobSchema } from "./trainjob.ts";
import { type Trial, trialSchema } from "./trial.ts";
import { guessPlural, type Kind } from "../platform/kube/resource.ts";

/** Pod groups of a gang scheduler; their fields are its CRD's to check. */
function podGroup({ group, version }: { group: string; version: string }): Kind<AnyObject> {
  return { ...builtIn<AnyObject>(group, "PodGroup"), version };
}

/** Returns a kind whose objects are read by its schema. */
function custom<T>(
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
  trainJob: custom<TrainJob>(TRAINER, "TrainJob", trainJobSchema),
  trainingRuntime: custom<TrainingRuntime>(TRAINER, "TrainingRuntime", trainingRuntimeSchema),
  clusterTrainingRuntime: custom<ClusterTrainingRuntime>(
    TRAINER,
    "ClusterTrainingRuntime",
    clusterTrainingRuntimeSchema,
    false,
  ),
  jobSet: custom<JobSet>(JOBSET, "JobSet", jobSetSchema),
  trial: custom<Trial>(KATIB, KATIB.trialKind, trialSchema),
  keptLog: custom<KeptLog>(STANDALONE, "KeptLog", keptLogSchema),
  ...KUBERNETES_KINDS,
  coschedulingPodGroup: podGroup(COSCHEDULING),
  volcanoPodGroup: podGroup(VOLCANO),
} as const;
