/** Working copy of a runtime's template, which the stages of rendering change. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { JobSetSpec, ReplicatedJob } from "../../crds/jobset.ts";
import type { Container, PodSpec } from "../../platform/kube/kubernetes.ts";
import { LABELS, type Step, STEP_CONTAINERS, STEPS } from "../../crds/names.ts";
import type { TrainingRuntimeSpec } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";

/** Executor of JobSets: `controller/jobset` of this process, or upstream's controller. */
export type Executor = "builtin" | "external";

/** The part of the input of rendering that stages read. */
export interface DraftInput {
  readonly trainJob: TrainJob;
  readonly executor: Executor;
  /** Name of the Trial whose metrics the pods push, for their label. */
  readonly trial?: string | undefined;
  /** Priority classes that were looked for and do not exist, with the API server's message. */
  readonly missingPriorityClasses?: ReadonlyMap<string, string> | undefined;
}

/** The template while stages change it. `trainJob` and `runtime` are read only. */
export interface Draft extends DraftInput {
  readonly runtimeName: string;
  /** The runtime's spec as it was, without runtime patches; empty if it has none. */
  readonly runtime: Partial<TrainingRuntimeSpec>;
  /** How many pods the job may have. */
  readonly maxPods: number;
  /** Labels and annotations of the JobSet. */
  readonly metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  /** Private to this draft: stages change it in place. */
  readonly spec: JobSetSpec;
  /** Number of pods of each replicated job, by its name; filled by the stages `nodeCounts` and `policyCounts`. */
  readonly counts: Map<string, number>;
  /** The trainer's command if an ML policy sets it. */
  trainerCommand?: readonly string[];
  /** Whether that command has the TrainJob's arguments in it, so that the runtime's stay. */
  commandHasArgs?: boolean;
}

/** One step of rendering. */
export interface Stage {
  readonly name: string;
  /** Returns every problem that prevents rendering; the stage is then not applied. */
  readonly validate?: (draft: Draft) => FieldProblem[];
  /** Returns every problem for which admission refuses a TrainJob, in upstream's order. Default: as `validate`. */
  readonly admit?: (draft: Draft) => FieldProblem[];
  /** Changes the draft. */
  readonly apply?: (draft: Draft) => void;
  /** Whether no later stage is validated after a problem of this one. Default: all are. */
  readonly isDecisive?: boolean;
}

/** Returns the replicated jobs, in the runtime's order. */
export function jobsOf(draft: Draft): ReplicatedJob[] {
  return draft.spec.replicatedJobs ?? [];
}

/** Returns the step that the job's label names; undefined for an unknown label. */
export function stepOf(job: ReplicatedJob): Step | undefined {
  const label = job.template.metadata?.labels?.[LABELS.ancestorStep];
  return Object.values(STEPS).find((step) => step === label);
}

/** Returns the jobs that are one step of the TrainJob. */
export function jobsOfStep(draft: Draft, step: Step): ReplicatedJob[] {
  return jobsOf(draft).filter((job) => stepOf(job) === step);
}

/** Returns the pod spec of a job; undefined if the template has none. */
export function podSpecOf(job: ReplicatedJob): PodSpec | undefined {
  return job.template.spec?.template?.spec;
}

/** Returns the regular containers of the job's pods. */
export function containersOf(job: ReplicatedJob): Container[] {
  return podSpecOf(job)?.containers ?? [];
}

/** Returns the init containers of the job's pods. */
export function initContainersOf(job: ReplicatedJob): Container[] {
  return podSpecOf(job)?.initContainers ?? [];
}

/** Reports whether a list has an item of that name. */
export function hasNamed(items: readonly { readonly name: string }[], name: string): boolean {
  return items.some((item) => item.name === name);
}

/** Returns the first trainer job. */
export function trainerJob(draft: Draft): ReplicatedJob | undefined {
  return jobsOf(draft).find((job) => stepOf(job) === STEPS.trainer);
}

/** Returns the container of the first trainer job, which is the one that ML policies equip. */
export function trainerContainer(draft: Draft): Container | undefined {
  const job = trainerJob(draft);
  return job && containersOf(job).find(({ name }) => name === STEP_CONTAINERS[STEPS.trainer]);
}

/** Returns the containers that a step addresses. */
export function stepContainers(draft: Draft, step: Step): Container[] {
  return jobsOfStep(draft, step)
    .flatMap((job) => containersOf(job).find(({ name }) => name === STEP_CONTAINERS[step]) ?? []);
}
