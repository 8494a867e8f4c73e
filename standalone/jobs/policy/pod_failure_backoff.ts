/** Back-off before a Job replaces failed pods (Kubernetes batch/v1). Pure. */
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { type Backoff, exponentialMs } from "../../../platform/base/backoff.ts";
import { endedAt, isDeleting } from "../pods.ts";
import type { PodFailureRule } from "../job_settings.ts";
import { judgePod } from "./pod_failure.ts";

/** Kubernetes' own: 10 s, doubled with each failure, up to 10 minutes. */
export const KUBERNETES_POD_BACKOFF: Backoff = { firstMs: 10_000, longestMs: 600_000 };

/**
 * Milliseconds until new pods may be created: the delay doubles with each pod that failed since the
 * last one succeeded, and runs from the end of the last that failed. 0 if none is due.
 */
export function backoffLeft(
  pods: readonly Pod[],
  { rules, backoff, now }: {
    rules: readonly PodFailureRule[];
    backoff: Backoff;
    now: number;
  },
): number {
  const ends = (phase: string) =>
    pods.filter((pod) => pod.status?.phase === phase && !isDeleting(pod));
  const lastSuccess = ends("Succeeded")
    .reduce((last, pod) => Math.max(last, endedAt(pod, 0)), -Infinity);
  const failures = ends("Failed")
    .filter((pod) => judgePod(pod, rules).action !== "Ignore")
    .map((pod) => endedAt(pod, now))
    .filter((time) => time > lastSuccess);
  if (failures.length === 0) return 0;
  const delay = exponentialMs(failures.length, backoff);
  return Math.max(0, Math.max(...failures) + delay - now);
}
