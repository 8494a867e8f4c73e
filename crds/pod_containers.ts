/** Containers of a pod: all of them, their statuses, and which are sidecars. Pure. */
import type { Container, Pod } from "../platform/kube/kubernetes.ts";

/** Whether an init container is a sidecar, which runs as long as the pod. */
export function isSidecar({ restartPolicy }: Pick<Container, "restartPolicy">): boolean {
  return restartPolicy === "Always";
}

/** All containers, the init containers first; a template has them, too. */
export function allContainers({ spec }: Pick<Pod, "spec">): Container[] {
  return [...spec?.initContainers ?? [], ...spec?.containers ?? []];
}

/** Statuses of all containers, the init containers first. */
export function containerStatuses({ status }: Pick<Pod, "status">) {
  return [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []];
}
