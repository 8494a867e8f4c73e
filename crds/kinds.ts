/** The kinds that Milepost reads and writes, each with its REST path and the parser at its door. */
import type { z } from "zod";
import { type JobSet, jobSetSchema } from "./jobset.ts";
import { COSCHEDULING, VOLCANO } from "./gang_names.ts";
import { builtIn, KUBERNETES_KINDS } from "../platform/kube/kubernetes_kinds.ts";
import type { AnyObject } from "../platform/kube/kubernetes.ts";
import { KATIB } from "./katib_names.ts";
import { TRAINER_GROUP, TRAINER_VERSION } from "./names.ts";
import { JOBSET_GROUP, JOBSET_VERSION } from "./jobset_names.ts";
import {
  type ClusterTrainingRuntime,
  clusterTrainingRuntimeSchema,
  type TrainingRuntime,
  trainingRuntimeSchema,
} from "./training_runtime.ts";
import { type TrainJob, trainJobSchema } from "./trainjob.ts";
import { type Trial, trialSchema } from "./trial.ts";
import type { Kind } from "../platform/kube/resource.ts";

/** Pod groups of a gang scheduler; their fields are its CRD's to check. */
function podGroup({ group, version }: { group: string; version: string }): Kind<AnyObject> {
  return { ...builtIn<AnyObject>(group, "PodGroup", "podgroups"), version };
}

function trainer<T>(
  kind: string,
  plural: string,
  schema: z.ZodType<T>,
  namespaced = true,
): Kind<T> {
  const parse = (value: unknown) => schema.parse(value);
  return { group: TRAINER_GROUP, version: TRAINER_VERSION, kind, plural, namespaced, parse };
}

/** Every kind in use, by name. */
export const KINDS = {
  trainJob: trainer<TrainJob>("TrainJob", "trainjobs", trainJobSchema),
  trainingRuntime: trainer<TrainingRuntime>(
    "TrainingRuntime",
    "trainingruntimes",
    trainingRuntimeSchema,
  ),
  clusterTrainingRuntime: trainer<ClusterTrainingRuntime>(
    "ClusterTrainingRuntime",
    "clustertrainingruntimes",
    clusterTrainingRuntimeSchema,
    false,
  ),
  jobSet: {
    group: JOBSET_GROUP,
    version: JOBSET_VERSION,
    kind: "JobSet",
    plural: "jobsets",
    namespaced: true,
    parse: (value: unknown) => jobSetSchema.parse(value),
  } satisfies Kind<JobSet> as Kind<JobSet>,
  trial: {
    group: KATIB.group,
    version: KATIB.version,
    kind: KATIB.trialKind,
    plural: "trials",
    namespaced: true,
    parse: (value: unknown) => trialSchema.parse(value),
  } satisfies Kind<Trial> as Kind<Trial>,
  ...KUBERNETES_KINDS,
  coschedulingPodGroup: podGroup(COSCHEDULING),
  volcanoPodGroup: podGroup(VOLCANO),
} as const;
