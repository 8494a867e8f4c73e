/** What a TrainJob may say but nothing executes yet (design, 'Later, and never'). Pure. */
import { ANNOTATIONS } from "../crds/names.ts";
import type { TrainingRuntimeSpec } from "../crds/training_runtime.ts";
import type { TrainJob } from "../crds/trainjob.ts";
import { type FieldProblem, forbidden } from "./field_problem.ts";

/** Annotations that wait for the trial adapter, each with what it would do. */
const LATER_ANNOTATIONS: Readonly<Record<string, string>> = {
  [ANNOTATIONS.earlyStopping]: "early stopping",
  [ANNOTATIONS.earlyStoppingGrace]: "early stopping",
  [ANNOTATIONS.trialTemplate]: "the trial template",
};

/** Annotations of a feature that is not there; on an update only those that were added or changed. */
function annotationProblems(job: TrainJob, old: TrainJob | undefined): FieldProblem[] {
  const annotations = job.metadata.annotations ?? {};
  return Object.entries(LATER_ANNOTATIONS).flatMap(([name, feature]) => {
    const value = annotations[name];
    if (value === undefined || value === old?.metadata.annotations?.[name]) return [];
    const detail = `${feature} is not supported yet; remove the annotation`;
    return [forbidden(`metadata.annotations[${name}]`, detail)];
  });
}

/** The command by which torchtune is asked for, beside a torch runtime (contract trainjob.md 4.1). */
function isTorchTune(job: TrainJob, runtime: TrainingRuntimeSpec | undefined): boolean {
  const command = job.spec.trainer?.command ?? [];
  const isTune = command.length === 2 && command[0] === "tune" && command[1] === "run";
  return isTune && runtime?.mlPolicy?.torch !== undefined;
}

/** Features of the TrainJob itself that are refused by name. */
export function unsupportedFeatures(
  job: TrainJob,
  old: TrainJob | undefined,
  runtime: TrainingRuntimeSpec | undefined,
): FieldProblem[] {
  const tune = old === undefined && isTorchTune(job, runtime)
    ? [forbidden("spec.trainer.command", 'torchtune ("tune run") is not supported yet')]
    : [];
  return [...annotationProblems(job, old), ...tune];
}
