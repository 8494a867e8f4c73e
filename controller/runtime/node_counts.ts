/** Stages: how many pods each replicated job has (contract trainjob.md 3.3). */
import { STEPS } from "../../crds/names.ts";
import { type Draft, jobsOf, type Stage, stepOf } from "./draft.ts";

function templateCount(draft: Draft, name: string): number {
  const job = jobsOf(draft).find((candidate) => candidate.name === name);
  if (job && stepOf(job) === STEPS.trainer && draft.mlPolicy) {
    return Math.max(1, draft.mlPolicy.numNodes ?? 1);
  }
  return Math.max(1, job?.template.spec?.parallelism ?? 1);
}

/**
 * Parallelism of the template, for the trainer the policy's numNodes; at least 1. Then the
 * TrainJob's numNodes for the first trainer, which may be 0: such a job completes without a pod.
 */
export const nodeCounts: Stage = {
  name: "nodeCounts",
  apply(draft) {
    const numNodes = draft.trainJob.spec.trainer?.numNodes;
    const trainer = jobsOf(draft).find((job) => stepOf(job) === STEPS.trainer);
    for (const job of jobsOf(draft)) {
      const wanted = job === trainer ? numNodes : undefined;
      draft.counts.set(job.name, wanted ?? templateCount(draft, job.name));
    }
    return undefined;
  },
};

/** Parallelism and completions of every job are its count. */
export const parallelism: Stage = {
  name: "parallelism",
  apply(draft) {
    for (const job of jobsOf(draft)) {
      const count = draft.counts.get(job.name);
      if (count === undefined || !job.template.spec) continue;
      job.template.spec.parallelism = count;
      job.template.spec.completions = count;
    }
    return undefined;
  },
};

/** Pods of the trainer's jobs together; 1 where the runtime has no trainer. */
export function trainerCount(draft: Draft): number {
  const trainer = jobsOf(draft).find((job) => stepOf(job) === STEPS.trainer);
  return (trainer && draft.counts.get(trainer.name)) ?? 1;
}
