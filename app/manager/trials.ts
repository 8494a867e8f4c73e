/** Which pushes are a trial's: those whose word stops a training, so that their token is reviewed first. */
import { KATIB } from "../../crds/katib_names.ts";
import { LABELS } from "../../crds/names.ts";
import { controllerOf } from "../../kube/ownership.ts";
import type { KubeMeta } from "../../kube/resource.ts";
import type { PushOrigin } from "../../status/chain/exchange.ts";
import type { Caches } from "./caches.ts";

/** Whether a TrainJob is controlled by a Katib Trial. */
export function isTrialsJob(metadata: KubeMeta | undefined): boolean {
  const owner = controllerOf(metadata);
  return owner?.kind === KATIB.trialKind && owner.apiVersion.split("/")[0] === KATIB.group;
}

/**
 * Whether the push is a trial's, by the caches: by the pod's label, or by who controls the TrainJob. What
 * they do not hold yet may be one.
 */
export function isTrialsPush(
  caches: { [Name in "pods" | "trainJobs"]: Pick<Caches[Name], "get"> },
  { namespace, name, pod: { name: podName, uid } }: PushOrigin,
): boolean {
  const pod = caches.pods.get({ namespace, name: podName });
  const job = caches.trainJobs.get({ namespace, name });
  if (pod?.metadata?.uid !== uid || job === undefined) return true;
  return pod.metadata.labels?.[LABELS.trial] !== undefined || isTrialsJob(job.metadata);
}
