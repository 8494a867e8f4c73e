/** Completion index of a pod (Kubernetes batch/v1). Pure. */
import { MAX_INDEX } from "../../crds/completion_indexes.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";

/** The completion index of a pod, by its annotation; undefined if it has none below `limit`. */
export function indexOf(pod: Pod, limit = MAX_INDEX): number | undefined {
  const text = pod.metadata?.annotations?.[JOB_KEYS.completionIndex];
  if (text === undefined || !/^\d{1,6}$/.test(text)) return undefined;
  const index = Number(text);
  return index < limit ? index : undefined;
}
