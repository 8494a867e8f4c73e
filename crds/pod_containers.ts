/** Containers of a pod: the statuses of all of them, and which are sidecars. Pure. */
import type { Container, Pod } from "../platform/kube/kubernetes.ts";

/** Whether an init container is a sidecar, which runs as long as the pod. */
export function isSidecar({ restartPolicy }: Pick<Container, "restartPolicy">): boolean {
  return restartPolicy === "Always";
}

/** Statuses of all containers, the init containers first. */
export function containerStatuses({ status }: Pick<Pod, "status">) {
  return [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []];
}
