/** Stages that count the pods of each replicated job. */
import type { ReplicatedJob } from "../../crds/jobset.ts";
import { STEPS } from "../../crds/names.ts";
import { type PodCount, podCountProblem } from "../job_bounds.ts";
import { type Draft, jobsOf, type Stage, stepOf, trainerJob } from "./draft.ts";

function templateCount({ runtime: { mlPolicy } }: Draft, job: ReplicatedJob): number {
  const isByPolicy = stepOf(job) === STEPS.trainer && mlPolicy !== undefined;
  return Math.max(1, (isByPolicy ? mlPolicy.numNodes : job.template.spec?.parallelism) ?? 1);
}

/**
 * Counts by the template's parallelism, for the trainer by the policy's numNodes; at least 1. The
 * TrainJob's numNodes then replaces the count of the first trainer; it may be 0, and such a job
 * completes without a pod.
 */
export const nodeCounts: Stage = {
  name: "nodeCounts",
  apply(draft) {
    const numNodes = draft.trainJob.spec.trainer?.numNodes;
    const trainer = trainerJob(draft);
    for (const job of jobsOf(draft)) {
      const wanted = job === trainer ? numNodes : undefined;
      draft.counts.set(job.name, wanted ?? templateCount(draft, job));
    }
  },
};

/** Returns the field by which a job has its pods: the TrainJob's numNodes, else the runtime has them. */
export function fieldOfCount(
  { trainJob: { spec }, counts }: Draft,
  job: ReplicatedJob,
): Pick<PodCount, "field" | "value" | "of"> {
  const numNodes = spec.trainer?.numNodes;
  const count = counts.get(job.name) ?? 1;
  // A launcher that is a node itself is one of them.
  const isCounted = numNodes !== undefined && (count === numNodes || count === numNodes - 1);
  return isCounted && numNodes >= (job.replicas ?? 1)
    ? { field: "spec.trainer.numNodes", value: numNodes }
    : {
      field: "spec.runtimeRef",
      value: spec.runtimeRef.name,
      of: `job ${job.name} of the runtime`,
    };
}

/** A Job of no pods is an object still. */
function podsOf(draft: Draft, job: ReplicatedJob): number {
  return (job.replicas ?? 1) * Math.max(1, draft.counts.get(job.name) ?? 1);
}

/** Refuses a job of too many pods before anything is made for each of them. */
export const podBound: Stage = {
  name: "podBound",
  isDecisive: true,
  validate(draft) {
    const counts = jobsOf(draft).map((job): PodCount => ({
      ...fieldOfCount(draft, job),
      pods: podsOf(draft, job),
    }));
    const problem = podCountProblem(counts, draft.maxPods);
    return problem === undefined ? [] : [problem];
  },
};

/** Sets parallelism and completions of every job to its count. */
export const parallelism: Stage = {
  name: "parallelism",
  apply(draft) {
    for (const job of jobsOf(draft)) {
      const count = draft.counts.get(job.name);
      if (count === undefined || !job.template.spec) continue;
      job.template.spec.parallelism = count;
      job.template.spec.completions = count;
    }
  },
};

/** Returns the number of pods of the first trainer job; 1 if the runtime has none. */
export function trainerCount(draft: Draft): number {
  const trainer = trainerJob(draft);
  return (trainer && draft.counts.get(trainer.name)) ?? 1;
}
