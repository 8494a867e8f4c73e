/** Recognition of pushes that belong to trials: they can stop a training, so their token is reviewed first. */
import type { JobKind } from "../../crds/job_kind.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { LABELS } from "../../crds/names.ts";
import { controllerOf } from "../../kube/ownership.ts";
import type { KubeMeta } from "../../kube/resource.ts";
import type { PushOrigin } from "../../status/chain/exchange.ts";
import type { JobKindCaches } from "./caches.ts";

/** Whether a job is controlled by a Katib Trial. */
export function isTrialsJob(metadata: KubeMeta | undefined): boolean {
  const owner = controllerOf(metadata);
  return owner?.kind === KATIB.trialKind && owner.apiVersion.split("/")[0] === KATIB.group;
}

/**
 * Whether the push belongs to a trial, by the caches: by the pod's label, or by the controller of the job.
 * What they do not hold yet may belong to one.
 */
export function isTrialsPush(
  caches: ReadonlyMap<
    JobKind,
    { [Name in "pods" | "jobs"]: Pick<JobKindCaches[Name], "get"> }
  >,
  { job: { kind, namespace, name }, pod: { name: podName, uid } }: PushOrigin,
): boolean {
  const pod = caches.get(kind)?.pods.get({ namespace, name: podName });
  const job = caches.get(kind)?.jobs.get({ namespace, name });
  if (pod?.metadata?.uid !== uid || job === undefined) return true;
  return pod.metadata.labels?.[LABELS.trial] !== undefined || isTrialsJob(job.metadata);
}
