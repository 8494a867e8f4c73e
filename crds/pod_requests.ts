/**
 * Resource requests of a pod as a scheduler counts them (k8s.io/component-helpers: resource/helpers.go). Pure.
 * A limit without a request counts as the request, which is what the API server makes of it when the pod is created.
 */
import type { PodSpec, ResourceRequirements } from "../platform/kube/kubernetes.ts";
import { isSidecar } from "./pod_containers.ts";
import { type ResourceList, ResourceSum } from "../platform/base/resource_list.ts";

/** Resources that may be set for a pod as a whole. */
function isOfPods(resource: string): boolean {
  return resource === "cpu" || resource === "memory" || resource.startsWith("hugepages-");
}

function requestsOf(resources: ResourceRequirements | undefined): ResourceList {
  return { ...resources?.limits, ...resources?.requests };
}

/** The containers together, or the hungriest init container beside the sidecars before it. */
function ofContainers({ containers, initContainers = [] }: PodSpec): ResourceList {
  const sum = new ResourceSum();
  for (const { resources } of containers) sum.add(requestsOf(resources));
  const sidecars = new ResourceSum();
  const initializing = new ResourceSum();
  for (const container of initContainers) {
    const requests = requestsOf(container.resources);
    if (isSidecar(container)) {
      sum.add(requests);
      initializing.raise(sidecars.add(requests).toList());
    } else {
      initializing.raise(new ResourceSum().add(requests).add(sidecars.toList()).toList());
    }
  }
  return sum.raise(initializing.toList()).toList();
}

/** Returns the requests of pods together: of each spec as many as its count says. */
export function sumOfRequests(
  pods: readonly { readonly spec: PodSpec | undefined; readonly count: number }[],
): Record<string, string> {
  const sum = new ResourceSum();
  for (const { spec, count } of pods) {
    if (spec) sum.add(new ResourceSum().add(podRequests(spec)).times(count).toList());
  }
  return sum.toList();
}

/** Returns the requests of one pod, its overhead included. */
export function podRequests(pod: PodSpec): ResourceList {
  const containers = ofContainers(pod);
  const ofPod = Object.entries({
    ...pod.resources?.limits,
    ...containers,
    ...pod.resources?.requests,
  })
    .filter(([name]) => isOfPods(name));
  const asked = pod.resources === undefined ? {} : Object.fromEntries(ofPod);
  return new ResourceSum().add({ ...containers, ...asked }).add(pod.overhead).toList();
}
