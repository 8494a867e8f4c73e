/** Fields of a pod that are accepted but not enforced; an event reports them. Pure. */
import type { Pod } from "../../crds/kubernetes.ts";

/** Settings of a pod that plain processes cannot be held to, by the path of their field. */
export function unenforcedFields(pod: Pod): string[] {
  const found = new Set<string>();
  const volumes = pod.spec?.volumes ?? [];
  // The kubelet rewrites the files of the other volumes: only here a write would last.
  const lasting = new Set(
    volumes.filter((one) => one.emptyDir ?? one.persistentVolumeClaim).map((one) => one.name),
  );
  const containers = [
    ...(pod.spec?.initContainers ?? []).map((one) => ["initContainers", one] as const),
    ...(pod.spec?.containers ?? []).map((one) => ["containers", one] as const),
  ];
  for (const [list, { name, resources, securityContext, volumeMounts }] of containers) {
    const path = `spec.${list}[${name}]`;
    const { readOnlyRootFilesystem, capabilities, seccompProfile } = securityContext ?? {};
    // Devices, which have a slash in their name, are counted.
    const limits = Object.keys(resources?.limits ?? {}).filter((name) => !name.includes("/"));
    if (limits.length > 0) found.add(`${path}.resources.limits`);
    if (volumeMounts?.some((mount) => mount.readOnly && lasting.has(mount.name))) {
      found.add(`${path}.volumeMounts.readOnly`);
    }
    if (readOnlyRootFilesystem || capabilities || seccompProfile) {
      found.add(`${path}.securityContext`);
    }
  }
  for (const volume of volumes) {
    const { sizeLimit, medium } = volume.emptyDir ?? {};
    if (sizeLimit || (medium && medium !== "Memory")) {
      found.add(`spec.volumes[${volume.name}].emptyDir`);
    }
    if (volume.persistentVolumeClaim?.readOnly) {
      found.add(`spec.volumes[${volume.name}].persistentVolumeClaim.readOnly`);
    }
  }
  return [...found];
}
