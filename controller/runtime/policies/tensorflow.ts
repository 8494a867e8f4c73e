/** ML policy tensorflow: `TF_CONFIG`, the cluster of a job and the place of each pod in it. Not upstream's. */
import { type FieldProblem, forbidden, invalid } from "../../../crds/field_problem.ts";
import type { ReplicatedJob } from "../../../crds/jobset.ts";
import type { Container, EnvVar } from "../../../platform/kube/kubernetes.ts";
import { NODE } from "../../../crds/names.ts";
import { TENSORFLOW_ENV, TENSORFLOW_PORT } from "../../../crds/policy_names.ts";
import type { TrainingRuntimeSpec } from "../../../crds/training_runtime.ts";
import { declarePort, reservedEnvProblems, upsertEnv } from "../container_environment.ts";
import { podListProblem, variableBytes } from "../../job_bounds.ts";
import { containersOf, type Draft, jobsOf } from "../draft.ts";
import { fieldOfCount } from "../node_counts.ts";
import { COMPLETION_INDEX, endpointOf, JOB_INDEX } from "../pod_addresses.ts";
import type { Policy } from "../policy.ts";
import {
  type ClusterInput,
  createTasks,
  type Task,
  taskProblems,
  type TaskType,
  taskTypeOf,
  workerJob,
} from "./tensorflow_tasks.ts";

const RESERVED: readonly string[] = Object.values(TENSORFLOW_ENV);
/** The types whose end is the end of training. */
const TRAINERS: readonly (TaskType | undefined)[] = ["chief", "worker"];

function inputOf(draft: Draft): ClusterInput {
  return {
    jobs: jobsOf(draft),
    ofRuntime: draft.runtime.mlPolicy?.numNodes,
    ofTrainJob: draft.trainJob.spec.trainer?.numNodes,
  };
}

/** The addresses of a job's pods. */
function* addressesOf(draft: Draft, { job, replicas, pods }: Task): Generator<string> {
  for (let replica = 0; replica < replicas; replica++) {
    for (let pod = 0; pod < pods; pod++) {
      yield `${endpointOf(draft, job.name, replica, pod)}:${TENSORFLOW_PORT}`;
    }
  }
}

/** The tasks that train; the evaluator is no part of their cluster. */
const clusterTasks = (tasks: readonly Task[]) =>
  tasks.filter(({ type, replicas, pods }) => type !== "evaluator" && replicas * pods > 0);

/** Addresses of every task by its type. */
function clusterOf(draft: Draft, tasks: readonly Task[]): Record<string, string[]> {
  const cluster: Record<string, string[]> = {};
  for (const task of clusterTasks(tasks)) {
    const hosts = cluster[task.type] ??= [];
    for (const address of addressesOf(draft, task)) hosts.push(address);
  }
  return cluster;
}

/** The variable without its addresses, then each of these as JSON has it. */
function* configPieces(draft: Draft, tasks: readonly Task[]): Generator<string> {
  const types = Object.fromEntries(tasks.map(({ type }) => [type, []]));
  for (const task of tasks) yield configOf(task, types);
  for (const task of clusterTasks(tasks)) {
    for (const address of addressesOf(draft, task)) yield `"${address}",`;
  }
}

/** Every container of every task has the whole cluster. */
function lengthProblems(draft: Draft, tasks: readonly Task[]): FieldProblem[] {
  const job = workerJob(inputOf(draft)) ?? tasks[0]?.job;
  if (job === undefined) return [];
  const name = TENSORFLOW_ENV.config;
  const copies = tasks.reduce((sum, { job }) => sum + taskContainers(job).length, 0);
  const problem = podListProblem({
    ...fieldOfCount(draft, job),
    name,
    pieces: configPieces(draft, tasks),
    maxBytes: variableBytes(name, copies),
  });
  return problem === undefined ? [] : [problem];
}

function taskIndex({ replicas, pods, offset }: Task): EnvVar {
  const name = TENSORFLOW_ENV.taskIndex;
  if (replicas * pods === 1) return { name, value: String(offset) };
  return { name, valueFrom: pods > 1 ? COMPLETION_INDEX : JOB_INDEX };
}

function configOf({ type }: Task, cluster: Readonly<Record<string, readonly string[]>>): string {
  const place = `{"type":"${type}","index":$(${TENSORFLOW_ENV.taskIndex})}`;
  return `{"cluster":${JSON.stringify(cluster)},"task":${place},"environment":"cloud"}`;
}

/** The container `node`; all of a job that has none. */
function taskContainers(job: ReplicatedJob): Container[] {
  const containers = containersOf(job);
  const node = containers.filter(({ name }) => name === NODE);
  return node.length > 0 ? node : containers;
}

/** Parameter servers never end by themselves: the job has succeeded when its trainers have. */
function endWithTrainers(draft: Draft, tasks: readonly Task[]): void {
  if (draft.spec.successPolicy || !tasks.some(({ type }) => type === "ps")) return;
  const trainers = tasks.filter(({ type }) => TRAINERS.includes(type));
  draft.spec.successPolicy = {
    operator: "All",
    targetReplicatedJobs: trainers.map(({ job }) => job.name),
  };
}

function countProblems(input: ClusterInput, runtimeName: string): FieldProblem[] {
  const tasks = createTasks(input);
  const podsOf = (type: TaskType) =>
    tasks.filter((task) => task.type === type)
      .reduce((sum, { replicas, pods }) => sum + replicas * pods, 0);
  const { ofTrainJob: numNodes } = input;
  const problems: FieldProblem[] = [];
  if (podsOf("chief") > 1) {
    const message = `must have at most one chief for mlPolicy.tensorflow, has ${podsOf("chief")}`;
    problems.push(invalid("spec.runtimeRef", runtimeName, message));
  }
  if (workerJob(input) === undefined && (numNodes ?? 1) !== 1) {
    const message = "must be 1, because the runtime has no job of workers";
    problems.push(invalid("spec.trainer.numNodes", numNodes, message));
  } else if (podsOf("chief") + podsOf("worker") === 0) {
    const message = "must be at least 1 for mlPolicy.tensorflow: nothing would train";
    problems.push(invalid("spec.trainer.numNodes", numNodes, message));
  }
  return problems;
}

/** A patch may not set the variables of a task, whichever container it is. */
function patchProblems({ trainJob }: Draft): FieldProblem[] {
  return (trainJob.spec.runtimePatches ?? []).flatMap(({ trainingRuntimeSpec }, at) =>
    (trainingRuntimeSpec?.template?.spec?.replicatedJobs ?? []).flatMap(({ template }, job) => {
      const pod = template?.spec?.template?.spec;
      const field = `spec.runtimePatches[${at}].trainingRuntimeSpec.template.spec` +
        `.replicatedJobs[${job}].template.spec.template.spec`;
      return (["initContainers", "containers"] as const).flatMap((list) =>
        (pod?.[list] ?? []).flatMap(({ env }, index) =>
          reservedEnvProblems(env, RESERVED, `${field}.${list}[${index}].env`)
        )
      );
    })
  );
}

/** Every pod knows the whole cluster; workers are the trainer, other types are named by their job. */
export const tensorflow: Policy = {
  framework: "tensorflow",
  validateRuntime({ template, mlPolicy }: TrainingRuntimeSpec) {
    const jobs = template.spec?.replicatedJobs ?? [];
    const field = "spec.template.spec.replicatedJobs";
    if (!jobs.some((job) => TRAINERS.includes(taskTypeOf(job)))) {
      const message = "must have a job chief or worker, or a trainer, for mlPolicy.tensorflow";
      return [invalid(field, jobs.map(({ name }) => name), message)];
    }
    return taskProblems(createTasks({ jobs, ofRuntime: mlPolicy?.numNodes }))
      .map(({ job, field: inner, message }) =>
        forbidden(`${field}[${jobs.indexOf(job)}].${inner}`, message)
      );
  },
  validate(draft) {
    const { trainer, runtimeRef } = draft.trainJob.spec;
    const input = inputOf(draft);
    return [
      ...reservedEnvProblems(trainer?.env, RESERVED, "spec.trainer.env"),
      ...patchProblems(draft),
      ...taskProblems(createTasks(input)).map(({ job, field, message }) =>
        invalid("spec.runtimeRef", runtimeRef.name, `${field} of job ${job.name} ${message}`)
      ),
      ...countProblems(input, runtimeRef.name),
      ...lengthProblems(draft, createTasks(input)),
    ];
  },
  count(draft) {
    for (const { job, pods } of createTasks(inputOf(draft))) draft.counts.set(job.name, pods);
  },
  apply(draft) {
    const tasks = createTasks(inputOf(draft));
    const cluster = clusterOf(draft, tasks);
    for (const task of tasks) {
      for (const container of taskContainers(task.job)) {
        container.env = (container.env ?? []).filter(({ name }) => !RESERVED.includes(name));
        // Kubernetes replaces the reference to the index, which has to precede it.
        const config = { name: TENSORFLOW_ENV.config, value: configOf(task, cluster) };
        upsertEnv(container, [taskIndex(task), config]);
        declarePort(container, TENSORFLOW_PORT);
      }
    }
    endWithTrainers(draft, tasks);
  },
};
