/** The URL paths of the admission server: one table, for the server and the webhook configurations. */
import type { V1Kind } from "../crds/v1/kinds.ts";
import { V1_GROUP, V1_VERSION } from "../crds/v1/names.ts";

/** Path of each webhook; those of TrainJobs and runtimes are upstream's, which has none of OptimizationJobs. */
export const WEBHOOK_PATHS = {
  mutatePods: "/mutate--v1-pod",
  defaultTrainJobs: "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
  validateTrainJobs: "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
  validateTrainingRuntimes: "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime",
  validateClusterTrainingRuntimes: "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime",
  validateOptimizationJobs: "/validate-trainer-kubeflow-org-v1alpha1-optimizationjob",
} as const;

/** The paths of a v1 kind; the one of validation is upstream's. */
export function v1WebhookPaths({ singular }: Pick<V1Kind, "singular">) {
  const resource = `${V1_GROUP.replaceAll(".", "-")}-${V1_VERSION}-${singular}`;
  return { mutate: `/mutate-${resource}`, validate: `/validate-${resource}` } as const;
}

/** One of the paths that the admission server answers. */
export type WebhookPath =
  | typeof WEBHOOK_PATHS[keyof typeof WEBHOOK_PATHS]
  | ReturnType<typeof v1WebhookPaths>["mutate" | "validate"];
