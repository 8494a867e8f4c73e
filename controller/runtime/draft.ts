/** What the stages of the rendering work on: a private copy of the runtime's template. */
import type { JobSetSpec, ReplicatedJob } from "../../crds/jobset.ts";
import type { Container, PodSpec } from "../../crds/kubernetes.ts";
import { LABELS, type Step, STEP_CONTAINERS, STEPS } from "../../crds/names.ts";
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { MlPolicy } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";

/** Who executes JobSets: `controller/jobset` of this process, or upstream's controller. */
export type Executor = "builtin" | "external";

/** The template while stages change it. `trainJob` and `mlPolicy` are read only. */
export interface Draft {
  readonly trainJob: TrainJob;
  readonly runtimeName: string;
  readonly mlPolicy: MlPolicy | undefined;
  readonly executor: Executor;
  /** The Trial whose metrics the pods push. */
  readonly trial?: string | undefined;
  /** Labels and annotations of the JobSet. */
  readonly metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  /** Belongs to this draft: stages change it in place. */
  readonly spec: JobSetSpec;
  /** Pods of each replicated job, by its name; filled by the stage `nodeCounts`. */
  readonly counts: Map<string, number>;
  /** The trainer's command, where the ML policy makes it. */
  trainerCommand?: readonly string[];
}

/** One step of the rendering: changes the draft, or says why it cannot. */
export interface Stage {
  readonly name: string;
  readonly apply: (draft: Draft) => FieldProblem | undefined;
}

/** The replicated jobs, in the runtime's order. */
export function jobsOf(draft: Draft): ReplicatedJob[] {
  return draft.spec.replicatedJobs ?? [];
}

/** The step of the TrainJob that the job is by its label; undefined for labels nobody knows. */
export function stepOf(job: ReplicatedJob): Step | undefined {
  const label = job.template.metadata?.labels?.[LABELS.ancestorStep];
  return Object.values(STEPS).find((step) => step === label);
}

/** The jobs that are one step of the TrainJob. */
export function jobsOfStep(draft: Draft, step: Step): ReplicatedJob[] {
  return jobsOf(draft).filter((job) => stepOf(job) === step);
}

/** The pod spec of a job; undefined where the template has none. */
export function podSpecOf(job: ReplicatedJob): PodSpec | undefined {
  return job.template.spec?.template.spec;
}

/** The container of that name among the regular ones, or also among the init containers. */
export function containerOf(
  job: ReplicatedJob,
  name: string,
  options?: { init: boolean },
): Container | undefined {
  const spec = podSpecOf(job);
  const init = options?.init ? spec?.initContainers ?? [] : [];
  return [...spec?.containers ?? [], ...init].find((container) => container.name === name);
}

/** The containers that a step addresses (contract trainjob.md 3.2). */
export function stepContainers(draft: Draft, step: Step): Container[] {
  const containers = jobsOfStep(draft, step).map((job) => containerOf(job, STEP_CONTAINERS[step]));
  return containers.filter((container) => container !== undefined);
}
