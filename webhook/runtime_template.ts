/** Reading a runtime's template: its replicated jobs, their steps and their pods. Pure. */
import type { ReplicatedJob } from "../crds/jobset.ts";
import type { Container, PodSpec } from "../crds/kubernetes.ts";
import { LABELS, type Step, STEP_CONTAINERS } from "../crds/names.ts";
import type { TrainingRuntimeSpec } from "../crds/training_runtime.ts";

/** The replicated jobs of the template, in order. */
export function replicatedJobsOf(spec: TrainingRuntimeSpec | undefined): readonly ReplicatedJob[] {
  return spec?.template.spec?.replicatedJobs ?? [];
}

function isStep(label: string | undefined): label is Step {
  return label !== undefined && Object.hasOwn(STEP_CONTAINERS, label);
}

/** The step that the job is by its label; undefined where it is none. */
export function stepOf(job: ReplicatedJob): Step | undefined {
  const label = job.template.metadata?.labels?.[LABELS.ancestorStep];
  return isStep(label) ? label : undefined;
}

/** The pod spec of the job; undefined where the template has none. */
export function podSpecOf(job: ReplicatedJob): PodSpec | undefined {
  return job.template.spec?.template?.spec;
}

/** The regular containers of the job's pods. */
export function containersOf(job: ReplicatedJob): readonly Container[] {
  return podSpecOf(job)?.containers ?? [];
}

/** The init containers of the job's pods. */
export function initContainersOf(job: ReplicatedJob): readonly Container[] {
  return podSpecOf(job)?.initContainers ?? [];
}

/** Whether a list has an item of that name. */
export function hasNamed(items: readonly { readonly name: string }[], name: string): boolean {
  return items.some((item) => item.name === name);
}
