/** Check of a JobSet for a trial's primary pod and training container. Pure. */
import type { JobSet, ReplicatedJob } from "../../crds/jobset.ts";
import { EVENT_REASONS, LABELS } from "../../crds/names.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import type { TrialMapping } from "../mapping/trial_mapping.ts";

/** Labels that no template has, since controllers or webhooks add them to pods. */
const ADDED_LATER: readonly string[] = [
  ...Object.values(JOB_KEYS),
  ...Object.values(JOBSET_KEYS),
];
const ADDED_BY_KATIB = "katib.kubeflow.org/";

/** The JobSet of a TrainJob, which has the same name. */
type MadeJobSet = Pick<JobSet, "spec"> & { readonly metadata?: { readonly name?: string } };

/**
 * Whether a pod of the replicated job can have the label. Labels for the names of the replicated job and of
 * the TrainJob are known although templates, as caches hold them, may lack them.
 */
function mayCarry(job: ReplicatedJob, key: string, value: string, trainJob?: string): boolean {
  if (key === JOBSET_KEYS.replicatedJobName) return job.name === value;
  if (key === LABELS.trainJobName && value === trainJob) return true;
  if (ADDED_LATER.includes(key) || key.startsWith(ADDED_BY_KATIB)) return true;
  return job.template.spec?.template.metadata?.labels?.[key] === value;
}

function isPrimary(
  job: ReplicatedJob,
  labels: Readonly<Record<string, string>>,
  trainJob?: string,
): boolean {
  return Object.entries(labels).every(([key, value]) => mayCarry(job, key, value, trainJob));
}

/** Returns reason and message of an event if that pod or container is missing. */
export function primaryContainerProblem(
  { primaryPodLabels = {}, primaryContainerName: wanted }: TrialMapping,
  jobSet: MadeJobSet,
): { readonly reason: string; readonly message: string } | undefined {
  const reason = EVENT_REASONS.primaryContainerMissing;
  const primary = (jobSet.spec?.replicatedJobs ?? []).filter((it) =>
    isPrimary(it, primaryPodLabels, jobSet.metadata?.name)
  );
  if (primary.length === 0) {
    const labels = Object.entries(primaryPodLabels).map((it) => it.join("=")).join(", ");
    const message =
      `no pod of the job will have the primaryPodLabels ${labels}; nothing will be recorded`;
    return { reason, message };
  }
  if (wanted === undefined) return undefined;
  const names = primary.flatMap((job) =>
    (job.template.spec?.template.spec?.containers ?? []).map((it) => it.name)
  );
  if (names.includes(wanted)) return undefined;
  const has = [...new Set(names)].join(", ") || "none";
  const message =
    `the primary pod has no container "${wanted}", which primaryContainerName names; ` +
    `its containers: ${has}`;
  return { reason, message };
}
