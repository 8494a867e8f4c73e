/** Recognition of pushes that belong to trials: they can stop a training, so their token is reviewed first. */
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import { LABELS } from "../../crds/names.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import type { PushOrigin } from "../../crds/wire/push.ts";

/**
 * Whether the push belongs to a trial, by the caches: by the pod's label, or by the controller of the job.
 * What they do not hold yet may belong to one.
 */
export function isTrialsPush(
  caches: ReadonlyMap<JobKind, {
    readonly pods: Pick<Informer<WatchedPod>, "get">;
    readonly jobs: Pick<Informer<AnyJob>, "get">;
  }>,
  { job: { kind, namespace, name }, pod: { name: podName, uid } }: PushOrigin,
): boolean {
  const pod = caches.get(kind)?.pods.get({ namespace, name: podName });
  const job = caches.get(kind)?.jobs.get({ namespace, name });
  if (pod?.metadata?.uid !== uid || job === undefined) return true;
  return pod.metadata.labels?.[LABELS.trial] !== undefined ||
    trialReference(job.metadata) !== undefined;
}
