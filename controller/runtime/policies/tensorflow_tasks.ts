/** Tasks of a TensorFlow cluster: the type, the number and the indexes of a runtime's jobs. */
import type { ReplicatedJob } from "../../../crds/jobset.ts";
import { STEPS } from "../../../crds/names.ts";
import { stepOf } from "../draft.ts";

const TASK_TYPES = ["chief", "worker", "ps", "evaluator"] as const;
/** Type of a task, as `TF_CONFIG` has it. */
export type TaskType = typeof TASK_TYPES[number];

/** The tasks of one replicated job: all its pods have one type. */
export type Task = ReturnType<typeof createTasks>[number];

/** Returns the type of a job's tasks: its name, else worker for a trainer; undefined for any other job. */
export function taskTypeOf(job: ReplicatedJob): TaskType | undefined {
  const step = stepOf(job);
  if (step !== undefined && step !== STEPS.trainer) return undefined;
  return TASK_TYPES.find((type) => type === job.name) ?? (step && "worker");
}

/** The jobs of a template, with the numbers that count their workers. */
export interface ClusterInput {
  readonly jobs: readonly ReplicatedJob[];
  /** `mlPolicy.numNodes` of the runtime. */
  readonly ofRuntime?: number | undefined;
  /** `trainer.numNodes` of the TrainJob. */
  readonly ofTrainJob?: number | undefined;
}

/** Returns the job that `numNodes` counts: the first trainer that has workers, else any job of workers. */
export function workerJob({ jobs }: ClusterInput): ReplicatedJob | undefined {
  const workers = jobs.filter((job) => taskTypeOf(job) === "worker");
  return workers.find((job) => stepOf(job) === STEPS.trainer) ?? workers[0];
}

/** Chief, parameter servers and evaluator are as many as their template says, also if they are trainers. */
function podsOf(input: ClusterInput, job: ReplicatedJob): number {
  const parallelism = Math.max(1, job.template.spec?.parallelism ?? 1);
  if (job !== workerJob(input)) return parallelism;
  const { ofRuntime, ofTrainJob } = input;
  return ofTrainJob ?? (stepOf(job) ? Math.max(1, ofRuntime ?? 1) : parallelism);
}

/**
 * Returns the tasks of every job of the cluster. Of each type the job with most pods comes first, so
 * that their indexes are those of the Job or the JobSet; the index of a single pod is a constant.
 */
export function createTasks(input: ClusterInput) {
  const next = new Map<TaskType, number>();
  const tasks = input.jobs.flatMap((job) => {
    const type = taskTypeOf(job);
    /** Jobs of the replicated job, and pods of each. */
    const replicas = stepOf(job) ? 1 : Math.max(0, job.replicas ?? 1);
    return type ? [{ type, job, replicas, pods: podsOf(input, job) }] : [];
  });
  return tasks
    .toSorted((one, other) => other.replicas * other.pods - one.replicas * one.pods)
    .map((task) => {
      /** Index of the first pod among all tasks of the type. */
      const offset = next.get(task.type) ?? 0;
      next.set(task.type, offset + task.replicas * task.pods);
      return { ...task, offset };
    });
}

/**
 * Returns the problems of the tasks: the index of a pod has to follow from one number of its own. `field` is of the
 * replicated job.
 */
export function taskProblems(tasks: readonly Task[]) {
  return tasks.flatMap(({ type, job, replicas, pods, offset }) => {
    const isMany = replicas * pods > 1;
    if ((job.template.spec?.completionMode ?? "Indexed") !== "Indexed") {
      const message = "must be Indexed for mlPolicy.tensorflow: tasks have indexes";
      return [{ job, field: "template.spec.completionMode", message }];
    }
    if (replicas > 1 && pods > 1) {
      const message = `must be 1 for mlPolicy.tensorflow if each Job has ${pods} pods`;
      return [{ job, field: "replicas", message }];
    }
    if (isMany && offset > 0) {
      const message = `must not be a second job with several tasks of type ${type}`;
      return [{ job, field: "name", message }];
    }
    return [];
  });
}
