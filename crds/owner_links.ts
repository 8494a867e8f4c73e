/** Links of owners between a pod and its job, with the rules by which controllers name what they make. */
import type { OwnerLink } from "./job_kind.ts";
import { KINDS } from "./kinds.ts";

/**
 * What of a Job's name its pods' names surely begin with. Kubernetes cuts the base of a generated
 * name so that the whole stays within 63 characters with index and random suffix.
 */
const POD_NAME_PREFIX_MAX = 40;

/** From a pod to its Job. */
export const POD_OF_JOB: OwnerLink = {
  owner: KINDS.job,
  nameFits: (pod, job) => pod.startsWith(`${job}-`.slice(0, POD_NAME_PREFIX_MAX)),
};

/** From a Job to its JobSet: its name is that of a replicated job, and an index. */
export const JOB_OF_JOB_SET: OwnerLink = {
  owner: KINDS.jobSet,
  nameFits: (job, jobSet) =>
    job.startsWith(`${jobSet}-`) && /^.+-\d+$/.test(job.slice(jobSet.length + 1)),
};
