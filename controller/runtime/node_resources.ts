/** GPUs and CPUs of a node, from which its number of processes follows. */
import type { ResourceRequirements } from "../../platform/kube/kubernetes.ts";
import { roundUp } from "../../platform/base/quantity.ts";

function gpuIn(resources: Record<string, string> | undefined): number | undefined {
  const gpu = Object.entries(resources ?? {}).find(([name]) => name.toLowerCase().includes("gpu"));
  return gpu && roundUp(gpu[1]);
}

/** Returns the GPUs of a node: the first resource with "gpu" in its name, of requests, else of limits; else 0. */
export function gpusOf(resources: ResourceRequirements | undefined): number {
  return gpuIn(resources?.requests) || gpuIn(resources?.limits) || 0;
}

/** Returns the CPUs of a node, rounded up, from requests, else limits; at least 1. */
export function cpusOf(resources: ResourceRequirements | undefined): number {
  return roundUp(resources?.requests?.cpu) || roundUp(resources?.limits?.cpu) || 1;
}
