/** Validation of the annotations of a TrainJob about trials. Pure. */
import {
  type ReadAnnotation,
  readEarlyStopping,
  readGrace,
  readTrialTemplate,
} from "../crds/early_stopping.ts";
import { ANNOTATIONS } from "../crds/names.ts";
import type { TrainJob } from "../crds/trainjob.ts";
import { type FieldProblem, forbidden, invalid, valueAt } from "../crds/field_problem.ts";
import { trialReference } from "../trials/plan/claim.ts";

/** Of an annotation's value in a message, where no part of it is to blame. */
const fieldOf = (annotation: string) => `metadata.annotations[${annotation}]`;

const READERS: Readonly<Record<string, (text: string) => ReadAnnotation<unknown>>> = {
  [ANNOTATIONS.earlyStopping]: readEarlyStopping,
  [ANNOTATIONS.earlyStoppingGrace]: readGrace,
  [ANNOTATIONS.trialTemplate]: readTrialTemplate,
};

/** Annotations that are frozen once the job has started, because its log was recorded by them. */
const FROZEN = [ANNOTATIONS.earlyStopping, ANNOTATIONS.trialTemplate] as const;

function textOf(job: TrainJob | undefined, annotation: string): string | undefined {
  return job?.metadata.annotations?.[annotation];
}

/** Whether a Katib Trial controls the job, as far as the job says so itself. */
function isOfTrial(job: TrainJob | undefined): boolean {
  return trialReference(job?.metadata) !== undefined;
}

/** Problems of values that were added or changed, each at its path in the annotation's JSON. */
function valueProblems(job: TrainJob, old: TrainJob | undefined): FieldProblem[] {
  return Object.entries(READERS).flatMap(([annotation, read]) => {
    const text = textOf(job, annotation);
    if (text === undefined || text === textOf(old, annotation)) return [];
    const result = read(text);
    if (result.ok) return [];
    return result.problems.map(({ field, message }) => {
      const dot = field === "" || field.startsWith("[") ? "" : ".";
      const value = field === "" ? text : valueAt(JSON.parse(text), field);
      return invalid(`${fieldOf(annotation)}${dot}${field}`, value, message);
    });
  });
}

/** A trial has the rules of its Trial; a second set on its job would never be applied. */
function ownerProblems(job: TrainJob, old: TrainJob | undefined): FieldProblem[] {
  const annotation = ANNOTATIONS.earlyStopping;
  const text = textOf(job, annotation);
  if (text === undefined || !isOfTrial(job)) return [];
  if (isOfTrial(old) && text === textOf(old, annotation)) return [];
  const detail = "this TrainJob is controlled by a Trial, whose spec.earlyStoppingRules hold: " +
    "remove the annotation";
  return [forbidden(fieldOf(annotation), detail)];
}

/** Whether the job may have run: it is not suspended, or its status counts pods. */
function hasStarted({ spec, status }: TrainJob): boolean {
  if (spec.suspend !== true || status?.trainerStatus !== undefined) return true;
  return (status?.jobsStatus ?? []).some(({ ready, succeeded, failed, active }) =>
    ready + succeeded + failed + active > 0
  );
}

function changeProblems(job: TrainJob, old: TrainJob): FieldProblem[] {
  if (!hasStarted(old)) return [];
  return FROZEN
    .filter((annotation) => textOf(job, annotation) !== textOf(old, annotation))
    .map((annotation) =>
      forbidden(
        fieldOf(annotation),
        "is immutable once the TrainJob has started: make a new TrainJob",
      )
    );
}

/** Validates the annotations; of an update only those that were added or changed. */
export function trialAnnotationProblems(
  job: TrainJob,
  old: TrainJob | undefined,
): FieldProblem[] {
  return [
    ...valueProblems(job, old),
    ...ownerProblems(job, old),
    ...(old === undefined ? [] : changeProblems(job, old)),
  ];
}

/** Warnings about added or changed annotations without effect: a template beside the Trial's own. */
export function trialAnnotationWarnings(job: TrainJob, old: TrainJob | undefined): string[] {
  const text = textOf(job, ANNOTATIONS.trialTemplate);
  if (text === undefined || text === textOf(old, ANNOTATIONS.trialTemplate)) return [];
  return isOfTrial(job)
    ? [`${fieldOf(ANNOTATIONS.trialTemplate)} is not read: a Trial controls this TrainJob`]
    : [];
}
