/** Validation of the annotations of a job about trials. Pure. */
import {
  type ReadAnnotation,
  readEarlyStopping,
  readGrace,
  readTrialTemplate,
} from "../crds/early_stopping.ts";
import { ANNOTATIONS } from "../crds/names.ts";
import { readObjective } from "../crds/objective.ts";
import type { KubeMeta } from "../platform/kube/resource.ts";
import { type FieldProblem, forbidden, invalid, valueAt } from "../crds/field_problem.ts";
import { trialReference } from "../trials/plan/claim.ts";

/** Of an annotation's value in a message, where no part of it is to blame. */
const fieldOf = (annotation: string) => `metadata.annotations[${annotation}]`;

const READERS: Readonly<Record<string, (text: string) => ReadAnnotation<unknown>>> = {
  [ANNOTATIONS.earlyStopping]: readEarlyStopping,
  [ANNOTATIONS.earlyStoppingGrace]: readGrace,
  [ANNOTATIONS.trialTemplate]: readTrialTemplate,
  [ANNOTATIONS.objective]: readObjective,
};

/** Annotations that are frozen once the job has started, because its log was recorded by them. */
const FROZEN = [ANNOTATIONS.earlyStopping, ANNOTATIONS.trialTemplate] as const;

/** A job, as far as its annotations about trials are judged. */
interface AnnotatedJob {
  readonly kind: string;
  readonly metadata: Pick<KubeMeta, "annotations" | "ownerReferences">;
}

function textOf(job: AnnotatedJob | undefined, annotation: string): string | undefined {
  return job?.metadata.annotations?.[annotation];
}

/** Whether a Katib Trial controls the job, as far as the job says so itself. */
function isOfTrial(job: AnnotatedJob | undefined): boolean {
  return trialReference(job?.metadata) !== undefined;
}

/** Problems of values that were added or changed, each at its path in the annotation's JSON. */
function valueProblems(job: AnnotatedJob, old: AnnotatedJob | undefined): FieldProblem[] {
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
function ownerProblems(job: AnnotatedJob, old: AnnotatedJob | undefined): FieldProblem[] {
  const annotation = ANNOTATIONS.earlyStopping;
  const text = textOf(job, annotation);
  if (text === undefined || !isOfTrial(job)) return [];
  if (isOfTrial(old) && text === textOf(old, annotation)) return [];
  const detail = `this ${job.kind} is controlled by a Trial, whose spec.earlyStoppingRules hold: ` +
    "remove the annotation";
  return [forbidden(fieldOf(annotation), detail)];
}

function changeProblems(job: AnnotatedJob, old: AnnotatedJob): FieldProblem[] {
  return FROZEN
    .filter((annotation) => textOf(job, annotation) !== textOf(old, annotation))
    .map((annotation) =>
      forbidden(
        fieldOf(annotation),
        `is immutable once the ${job.kind} has started: make a new ${job.kind}`,
      )
    );
}

/**
 * Validates the annotations; of an update only those that were added or changed.
 *
 * @param hasStarted whether a job may have run; from then on rules and template are frozen
 */
export function trialAnnotationProblems<Job extends AnnotatedJob>(
  job: Job,
  old: Job | undefined,
  hasStarted: (job: Job) => boolean,
): FieldProblem[] {
  return [
    ...valueProblems(job, old),
    ...ownerProblems(job, old),
    ...(old !== undefined && hasStarted(old) ? changeProblems(job, old) : []),
  ];
}

/** Warnings about added or changed annotations without effect: a template beside the Trial's own. */
export function trialAnnotationWarnings(
  job: AnnotatedJob,
  old: AnnotatedJob | undefined,
): string[] {
  const text = textOf(job, ANNOTATIONS.trialTemplate);
  if (text === undefined || text === textOf(old, ANNOTATIONS.trialTemplate)) return [];
  return isOfTrial(job)
    ? [`${fieldOf(ANNOTATIONS.trialTemplate)} is not read: a Trial controls this ${job.kind}`]
    : [];
}
