/** Fields of a pod that are accepted but not enforced; an event reports them. Pure. */
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { POD_REASONS } from "../../crds/pod_names.ts";
import type { AdaptedPod } from "./launch_agent/mpi_pods.ts";

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

/** Events about what is different for a pod, which may be one that was adapted. */
export function differences(
  pod: Pod,
  { ignored, replaced }: Pick<AdaptedPod, "ignored" | "replaced"> = { ignored: [], replaced: [] },
): { reason: string; message: string }[] {
  const fields = [...unenforcedFields(pod), ...ignored].join(", ");
  const unenforced = {
    reason: POD_REASONS.notEnforced,
    message: `Containers run as plain processes, which are not held to ${fields}`,
  };
  return [
    ...fields === "" ? [] : [unenforced],
    ...replaced.map((name) => ({
      reason: POD_REASONS.commandReplaced,
      message:
        `Container ${name} runs no SSH server: the kubelet runs the launcher's commands in it`,
    })),
  ];
}
