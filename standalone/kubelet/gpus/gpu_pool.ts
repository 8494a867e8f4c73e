/** Pool of the node's GPUs, of which each belongs to one pod at most. */
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { NODES } from "../../../crds/pod_names.ts";
import { deviceShares } from "./device_requests.ts";
import { type Gpu, VISIBLE_DEVICES_ENV, visibleGpus } from "./visible_gpus.ts";

/** Returns the environment of a container in which only its GPUs are visible. */
export type Restriction = (
  container: string,
  env: Readonly<Record<string, string>>,
) => Readonly<Record<string, string>>;

/** GPUs and the pods that have them. */
export type GpuPool = ReturnType<typeof createGpuPool>;

/** A pool of these GPUs. */
export function createGpuPool(gpus: readonly Gpu[]) {
  const owners = new Map<Gpu, string>();
  const uidOf = (pod: Pod) => pod.metadata?.uid ?? "";
  return {
    /**
     * Gives the pod what it asks for, until it is released; undefined while too few GPUs are free. A pod
     * that has its GPUs gets the same again.
     */
    take(pod: Pod): Restriction | undefined {
      const uid = uidOf(pod);
      const { total, ranges } = deviceShares(pod.spec ?? { containers: [] }, NODES.gpu);
      let own = gpus.filter((gpu) => owners.get(gpu) === uid);
      if (own.length === 0) own = gpus.filter((gpu) => !owners.has(gpu)).slice(0, total);
      if (own.length < total) return undefined;
      for (const gpu of own) owners.set(gpu, uid);
      return (container, env) => {
        // What the container sets itself counts among its own GPUs, as in a container with no others.
        const visible = visibleGpus(
          env[VISIBLE_DEVICES_ENV],
          own.slice(...ranges.get(container) ?? [0, 0]),
        );
        return { ...env, [VISIBLE_DEVICES_ENV]: visible.map(({ uuid }) => uuid).join(",") };
      };
    },
    /** Takes the pod's GPUs back. Its processes must have ended. */
    release(pod: Pod): void {
      for (const [gpu, uid] of owners) if (uid === uidOf(pod)) owners.delete(gpu);
    },
  };
}
