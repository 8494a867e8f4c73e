/** Counts of extended resources, such as nvidia.com/gpu, in a pod and its containers. Pure. */
import { allContainers, isSidecar } from "../../../crds/pod_containers.ts";
import type { Container, PodSpec } from "../../../platform/kube/kubernetes.ts";
import { roundUp } from "../../../platform/base/quantity.ts";

function amountOf({ resources }: Container, resource: string): number {
  return roundUp(resources?.limits?.[resource] ?? resources?.requests?.[resource]) ?? 0;
}

/**
 * Returns the shares of a pod's containers in a resource. Sidecars and main containers run together, so
 * each has devices of its own; an init container has ended before the main ones start, and leaves its
 * devices to them.
 */
export function deviceShares(spec: PodSpec, resource: string) {
  /** By the container's name: the first of its devices, and the first beyond them. */
  const ranges = new Map<string, readonly [from: number, to: number]>();
  let kept = 0;
  let total = 0;
  const give = (container: Container, keeps: boolean) => {
    const end = kept + amountOf(container, resource);
    ranges.set(container.name, [kept, end]);
    total = Math.max(total, end);
    if (keeps) kept = end;
  };
  for (const one of spec.initContainers ?? []) give(one, isSidecar(one));
  for (const one of spec.containers) give(one, true);
  return { total, ranges };
}

/** Returns the amount of each extended resource (its name has a slash) that the pod needs, if above 0. */
export function extendedRequests(spec: PodSpec): Map<string, number> {
  const names = allContainers({ spec }).flatMap(({ resources }) =>
    Object.keys({ ...resources?.requests, ...resources?.limits })
  ).filter((name) => name.includes("/"));
  const amounts = [...new Set(names)].sort().map((name) =>
    [name, deviceShares(spec, name).total] as const
  );
  return new Map(amounts.filter(([, amount]) => amount > 0));
}
