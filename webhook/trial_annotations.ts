/** Defaults, validation and warnings of the annotations of a job that are ours. Pure. */
import {
  LOG_ANNOTATIONS,
  type ReadAnnotation,
  readCompared,
  readEarlyStopping,
  readGrace,
  readTrialTemplate,
  RULE_ANNOTATIONS,
} from "../crds/early_stopping.ts";
import { ANNOTATIONS, TRAINER_GROUP } from "../crds/names.ts";
import { readObjective } from "../crds/objective.ts";
import { readStallPolicy } from "../crds/stall_policy.ts";
import { readStopWhen } from "../crds/stop_when.ts";
import { readTimeToLive } from "../crds/time_to_live.ts";
import { didYouMean } from "../platform/base/similar_names.ts";
import type { KubeMeta } from "../platform/kube/resource.ts";
import { type FieldProblem, forbidden, invalid, valueAt } from "../crds/field_problem.ts";
import { trialReference } from "../trials/plan/claim.ts";
import { TWO_SPELLINGS } from "../trials/rules/own_rules.ts";

/** Of an annotation's value in a message, where no part of it is to blame. */
const fieldOf = (annotation: string) => `metadata.annotations[${annotation}]`;

/** Parsers of annotations. */
type Readers = Readonly<Record<string, (text: string) => ReadAnnotation<unknown>>>;

const READERS: Readers = {
  [ANNOTATIONS.earlyStopping]: readEarlyStopping,
  [ANNOTATIONS.earlyStoppingCompare]: readCompared,
  [ANNOTATIONS.stopWhen]: readStopWhen,
  [ANNOTATIONS.earlyStoppingGrace]: readGrace,
  [ANNOTATIONS.trialTemplate]: readTrialTemplate,
  [ANNOTATIONS.objective]: readObjective,
  [ANNOTATIONS.timeToLive]: readTimeToLive,
  [ANNOTATIONS.stallPolicy]: readStallPolicy,
};

/** Annotations that are frozen once the job has started, because its log was recorded by them. */
const FROZEN = [...LOG_ANNOTATIONS, ANNOTATIONS.earlyStoppingCompare] as const;

/** A job, or a runtime, as far as its annotations are judged. */
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

/**
 * Returns the metadata of a job with what its rules compare that do not say it themselves: the newest value. Rules
 * that were there before without such a word are of an earlier release, and keep its meaning.
 */
export function withCompared<Job extends AnnotatedJob>(
  { metadata }: Job,
  old: AnnotatedJob | undefined,
): Job["metadata"] {
  const { earlyStopping: rules, earlyStoppingCompare: key } = ANNOTATIONS;
  const { annotations } = metadata;
  if (annotations?.[rules] === undefined || annotations[key] !== undefined) return metadata;
  const compared = textOf(old, rules) === undefined ? "newest" : textOf(old, key);
  if (compared === undefined) return metadata;
  return { ...metadata, annotations: { ...annotations, [key]: compared } };
}

/** Returns problems of values that were added or changed, each at its path in the annotation's JSON. */
export function valueProblems(
  job: AnnotatedJob,
  old: AnnotatedJob | undefined,
  readers: Readers = READERS,
): FieldProblem[] {
  return Object.entries(readers).flatMap(([annotation, read]) => {
    const text = textOf(job, annotation);
    if (text === undefined || text === textOf(old, annotation)) return [];
    const result = read(text);
    if (result.ok) return [];
    return result.problems.map(({ field, message, value: wrong = text }) => {
      const dot = field === "" || field.startsWith("[") ? "" : ".";
      const value = field === "" ? wrong : valueAt(JSON.parse(text), field);
      return invalid(`${fieldOf(annotation)}${dot}${field}`, value, message);
    });
  });
}

/** Rules are said once: in JSON, or in lines. */
function spellingProblems(job: AnnotatedJob, old: AnnotatedJob | undefined): FieldProblem[] {
  const isChanged = RULE_ANNOTATIONS.some((it) => textOf(job, it) !== textOf(old, it));
  if (!isChanged || RULE_ANNOTATIONS.some((it) => textOf(job, it) === undefined)) return [];
  return [forbidden(fieldOf(ANNOTATIONS.stopWhen), TWO_SPELLINGS)];
}

/** A trial has the rules of its Trial; a second set on its job would never be applied. */
function ownerProblems(job: AnnotatedJob, old: AnnotatedJob | undefined): FieldProblem[] {
  if (!isOfTrial(job)) return [];
  const detail = `this ${job.kind} is controlled by a Trial, whose spec.earlyStoppingRules hold: ` +
    "remove the annotation";
  return RULE_ANNOTATIONS
    .filter((annotation) => textOf(job, annotation) !== undefined)
    .filter((annotation) => !isOfTrial(old) || textOf(job, annotation) !== textOf(old, annotation))
    .map((annotation) => forbidden(fieldOf(annotation), detail));
}

function changeProblems(job: AnnotatedJob, old: AnnotatedJob): FieldProblem[] {
  const changed = FROZEN.filter((it) => textOf(job, it) !== textOf(old, it));
  return changed
    // What rules compare is written with the rules, which are to blame then.
    .filter((it) => it !== ANNOTATIONS.earlyStoppingCompare || changed.length === 1)
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
    ...spellingProblems(job, old),
    ...ownerProblems(job, old),
    ...(old !== undefined && hasStarted(old) ? changeProblems(job, old) : []),
  ];
}

/** Most unknown annotations that are told: each is compared with all that are known. */
const MOST_UNKNOWN = 5;

/** A name that is spelt as fields of objects are, as annotations are spelt. */
const dashed = (name: string) => name.replace(/[A-Z]/g, (it) => `-${it.toLowerCase()}`);

/** Added annotations under our prefix that nothing reads, with those that may be meant. */
function unknownWarnings(job: AnnotatedJob, old: AnnotatedJob | undefined): string[] {
  const known: readonly string[] = Object.values(ANNOTATIONS);
  return Object.keys(job.metadata.annotations ?? {})
    .filter((it) => it.startsWith(`${TRAINER_GROUP}/`) && !known.includes(it))
    .filter((it) => textOf(old, it) === undefined)
    .slice(0, MOST_UNKNOWN)
    .map((it) => `${fieldOf(it)} is not known, and does nothing${didYouMean(dashed(it), known)}`);
}

/** A job that another controller runs is neither restarted nor stopped here. */
function policyWarnings(
  job: AnnotatedJob,
  old: AnnotatedJob | undefined,
  controller: string | undefined,
): string[] {
  const text = textOf(job, ANNOTATIONS.stallPolicy);
  if (controller === undefined || text === undefined) return [];
  if (text === textOf(old, ANNOTATIONS.stallPolicy)) return [];
  const policy = `${fieldOf(ANNOTATIONS.stallPolicy)} does nothing in this cluster`;
  return [`${policy}: ${controller} runs this ${job.kind} elsewhere`];
}

/**
 * Warnings about added or changed annotations without effect: unknown ones, a template beside the Trial's own, and a policy of
 * stalls for a job that another controller runs.
 */
export function annotationWarnings(
  job: AnnotatedJob,
  old: AnnotatedJob | undefined,
  controller?: string,
): string[] {
  const others = [...unknownWarnings(job, old), ...policyWarnings(job, old, controller)];
  const text = textOf(job, ANNOTATIONS.trialTemplate);
  const isNew = text !== undefined && text !== textOf(old, ANNOTATIONS.trialTemplate);
  if (!isNew || !isOfTrial(job)) return others;
  const template = `${fieldOf(ANNOTATIONS.trialTemplate)} is not read: a Trial controls this `;
  return [...others, template + job.kind];
}
