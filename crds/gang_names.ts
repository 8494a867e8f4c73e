/** Names of the gang schedulers that pod groups are made for: API groups, labels and annotations. */

/** Coscheduling of kubernetes-sigs/scheduler-plugins (apis/scheduling/v1alpha1/types.go). */
export const COSCHEDULING = {
  group: "scheduling.x-k8s.io",
  version: "v1alpha1",
  /** Label of a pod with the name of its group. */
  podGroupLabel: "scheduling.x-k8s.io/pod-group",
} as const;

/** Volcano (volcano.sh/apis: pkg/apis/scheduling/v1beta1/labels.go). */
export const VOLCANO = {
  group: "scheduling.volcano.sh",
  version: "v1beta1",
  /** Annotation of a pod with the name of its group. */
  groupNameAnnotation: "scheduling.k8s.io/group-name",
  /** Annotation of a pod with its role in the group. */
  taskAnnotation: "volcano.sh/task-spec",
  /** Annotation of a runtime's template, or of a patch to it, with the queue of the group. */
  queueAnnotation: "scheduling.volcano.sh/queue-name",
} as const;

/** Priority classes that always exist (Kubernetes: pkg/apis/scheduling/types.go). */
export const SYSTEM_PRIORITY_CLASSES: readonly string[] = [
  "system-cluster-critical",
  "system-node-critical",
];
