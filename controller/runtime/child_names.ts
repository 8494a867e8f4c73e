/** Stage: names that JobSet and the kubelet would refuse later (gap G13). */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { ReplicatedJob } from "../../crds/jobset.ts";
import { DNS_LABEL_MAX } from "../../crds/names.ts";
import { type Draft, jobsOf, type Stage } from "./draft.ts";

/** Characters that a Job adds to the name of an indexed pod. */
const RANDOM_SUFFIX = 5;

/** RFC 1035: what Jobs of a JobSet must be called. */
const DNS_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

function jobProblem(draft: Draft, job: ReplicatedJob): string | undefined {
  const trainJob = draft.trainJob.metadata.name ?? "";
  const jobName = `${trainJob}-${job.name}-${Math.max(0, (job.replicas ?? 1) - 1)}`;
  if (!DNS_1035.test(jobName)) {
    return `the Job "${jobName}" that it makes would not be called as RFC 1035 wants it; rename the TrainJob, or job ${job.name} of the runtime`;
  }
  if (job.template.spec?.completionMode === "NonIndexed") return undefined;
  const lastPod = Math.max(0, (draft.counts.get(job.name) ?? 1) - 1);
  const length = `${jobName}-${lastPod}-`.length + RANDOM_SUFFIX;
  if (length <= DNS_LABEL_MAX) return undefined;
  const room = trainJob.length - (length - DNS_LABEL_MAX);
  return `the pods of its job ${job.name} would have names of ${length} characters, but ${DNS_LABEL_MAX} are allowed; the TrainJob's name may have at most ${room} characters with this runtime`;
}

/** Refuses a TrainJob whose Jobs or pods could never be created. */
export const childNameLengths: Stage = {
  name: "childNameLengths",
  apply(draft): FieldProblem | undefined {
    for (const job of jobsOf(draft)) {
      const message = jobProblem(draft, job);
      if (message) return { field: "metadata.name", message };
    }
    return undefined;
  },
};
