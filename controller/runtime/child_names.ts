/** Stage that checks the names of the Jobs and pods that a TrainJob will have. */
import { type FieldProblem, invalid } from "../../crds/field_problem.ts";
import type { ReplicatedJob } from "../../crds/jobset.ts";
import { DNS_LABEL_1035 } from "../../crds/name_syntax.ts";
import { DNS_LABEL_MAX } from "../../crds/names.ts";
import { type Draft, jobsOf, type Stage } from "./draft.ts";

/** A dash and five random characters that the Job controller appends to a pod's name. */
const POD_SUFFIX = "-xxxxx";

/** Names of Jobs in a JobSet. */
const JOB_NAME = new RegExp(`^${DNS_LABEL_1035}$`);

function lastJobName(draft: Draft, job: ReplicatedJob): string {
  const { name = "" } = draft.trainJob.metadata;
  return `${name}-${job.name}-${Math.max(0, (job.replicas ?? 1) - 1)}`;
}

function jobNameProblems(draft: Draft): FieldProblem[] {
  const { name } = draft.trainJob.metadata;
  return jobsOf(draft).filter((job) => !JOB_NAME.test(lastJobName(draft, job))).map((job) =>
    invalid(
      "metadata.name",
      name,
      `yields an invalid child: Job name "${
        lastJobName(draft, job)
      }" must match ${JOB_NAME.source};` +
        ` rename the TrainJob, or job ${job.name} of the runtime`,
    )
  );
}

/** Only pods of Indexed Jobs have names that must be DNS labels as a whole. */
function lastPodNames(draft: Draft): string[] {
  return jobsOf(draft)
    .filter((job) => job.template.spec?.completionMode !== "NonIndexed")
    .map((job) => {
      const lastPod = Math.max(0, (draft.counts.get(job.name) ?? 1) - 1);
      return `${lastJobName(draft, job)}-${lastPod}${POD_SUFFIX}`;
    });
}

function podNameProblems(draft: Draft): FieldProblem[] {
  const longest = lastPodNames(draft)
    .reduce((one, other) => other.length > one.length ? other : one, "");
  return childNameProblems(draft, "pod name", longest);
}

/** Returns the problem of a name that follows from the TrainJob's and has to be a DNS label, if it is too long. */
export function childNameProblems({ trainJob }: Draft, what: string, name: string): FieldProblem[] {
  const excess = name.length - DNS_LABEL_MAX;
  if (excess <= 0) return [];
  const message =
    `yields an invalid child: ${what} "${name}" has ${name.length} characters, at most ` +
    `${DNS_LABEL_MAX} are allowed; shorten the TrainJob's name by ${excess}`;
  return [invalid("metadata.name", trainJob.metadata.name, message)];
}

/** Refuses a TrainJob whose Jobs or pods could never be created; of long pod names it reports the longest. */
export const childNames: Stage = {
  name: "childNames",
  validate: (draft) => [...jobNameProblems(draft), ...podNameProblems(draft)],
};
