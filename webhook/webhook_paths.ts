/** The URL paths of the admission server: one table, for the server and the webhook configurations. */

/** Path of each webhook; those of TrainJobs and runtimes are upstream's. */
export const WEBHOOK_PATHS = {
  mutatePods: "/mutate--v1-pod",
  defaultTrainJobs: "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
  validateTrainJobs: "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
  validateTrainingRuntimes: "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime",
  validateClusterTrainingRuntimes: "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime",
} as const;

/** One of the paths that the admission server answers. */
export type WebhookPath = typeof WEBHOOK_PATHS[keyof typeof WEBHOOK_PATHS];
