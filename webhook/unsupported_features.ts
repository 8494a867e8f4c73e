/** What a TrainJob may say but nothing executes yet (design, 'Later, and never'). Pure. */
import { ANNOTATIONS } from "../crds/names.ts";
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

/** Features of the TrainJob itself that are refused by name. */
export function unsupportedFeatures(job: TrainJob, old: TrainJob | undefined): FieldProblem[] {
  return annotationProblems(job, old);
}
