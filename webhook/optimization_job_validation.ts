/** Validation of OptimizationJobs beyond their definition. Pure; a template is judged as TrainJobs are. */
import { RULE_ANNOTATIONS } from "../crds/early_stopping.ts";
import { type FieldProblem, forbidden, invalid } from "../crds/field_problem.ts";
import { labelValue, qualifiedName } from "../crds/name_syntax.ts";
import { ANNOTATIONS } from "../crds/names.ts";
import type { OptimizationJob } from "../crds/optimization_job.ts";
import { readPruner } from "../crds/pruner.ts";
import type { TrainJob } from "../crds/trainjob.ts";
import { trialName } from "../crds/trial_records.ts";
import { gridSize } from "../trials/search/grid_search.ts";
import { searchProblems } from "../trials/search/search_problems.ts";
import { trialJob } from "../trials/search/trial_job.ts";
import type { Verdict } from "./runtime_validation.ts";
import { annotationWarnings, valueProblems } from "./trial_annotations.ts";

const TEMPLATE = "spec.trainJobTemplate";
const TEMPLATE_METADATA = `${TEMPLATE}.metadata`;

/** Returns the TrainJob of a trial, as far as its template decides whether it is admitted. */
export function sampleTrial(job: OptimizationJob): TrainJob {
  const last = (job.spec.numTrials ?? 1) - 1;
  return trialJob(job, trialName(job.metadata, last), []);
}

/** Labels and annotations that a TrainJob cannot have; the definition of a search takes any. */
function metadataProblems({ spec }: OptimizationJob): FieldProblem[] {
  const { labels = {}, annotations = {} } = spec.trainJobTemplate.metadata ?? {};
  const keys = (field: string, values: Readonly<Record<string, string>>) =>
    Object.keys(values).flatMap((key) =>
      qualifiedName(key).map((it) => invalid(`${TEMPLATE_METADATA}.${field}`, key, it))
    );
  const values = Object.entries(labels).flatMap(([key, value]) =>
    labelValue(value).map((it) => invalid(`${TEMPLATE_METADATA}.labels[${key}]`, value, it))
  );
  return [...keys("labels", labels), ...values, ...keys("annotations", annotations)];
}

/** What is odd about the number of points: both numbers are told. */
function gridWarnings({ spec }: OptimizationJob): string[] {
  if (spec.searchAlgorithm?.grid === undefined) return [];
  const trials = spec.numTrials ?? 1;
  const size = gridSize(spec.parameters.map(({ name, searchSpace }) => ({
    name,
    choices: searchSpace.categorical?.choices ?? [],
  })));
  if (size > trials) {
    return [`spec.numTrials: the grid has ${size} points, of which ${trials} are tried`];
  }
  if (size === BigInt(trials)) return [];
  return [
    `spec.numTrials: the grid has ${size} points: the search ends after ${size} trials of ${trials}`,
  ];
}

function choiceWarnings({ spec }: OptimizationJob): string[] {
  return spec.parameters.flatMap(({ searchSpace: { categorical } }, index) =>
    categorical?.choices.length === 1
      ? [
        `spec.parameters[${index}].searchSpace.categorical.choices: every trial has the only choice`,
      ]
      : []
  );
}

/** Annotations that are read in another place than where they are. */
function placeWarnings({ metadata, spec }: OptimizationJob): string[] {
  const { pruner } = ANNOTATIONS;
  const ofTrials = RULE_ANNOTATIONS.filter((it) => metadata.annotations?.[it] !== undefined)
    .map((it) => `metadata.annotations[${it}] does nothing: write it to ${TEMPLATE_METADATA}`);
  return spec.trainJobTemplate.metadata?.annotations?.[pruner] === undefined ? ofTrials : [
    ...ofTrials,
    `${TEMPLATE_METADATA}.annotations[${pruner}] does nothing: write it to metadata`,
  ];
}

/** Returns the verdict about a template from that about a TrainJob made of it: fields are the template's. */
function ofTemplate({ problems, warnings }: Verdict): Verdict {
  const inTemplate = (text: string) => text.replace(/^(spec|metadata)(?=[.[])/, `${TEMPLATE}.$1`);
  return {
    problems: problems.map((it) => ({ ...it, field: inTemplate(it.field) })),
    warnings: warnings.map(inTemplate),
  };
}

/** Judges a new OptimizationJob; `template` is the verdict about {@link sampleTrial}. */
export function validateNewOptimizationJob(job: OptimizationJob, template: Verdict): Verdict {
  const { problems, warnings } = ofTemplate(template);
  return {
    problems: [...searchProblems(job), ...metadataProblems(job), ...problems],
    warnings: [
      ...annotationWarnings(job, undefined),
      ...placeWarnings(job),
      ...gridWarnings(job),
      ...choiceWarnings(job),
      ...warnings,
    ],
  };
}

/** Whether trials may have been judged by the pruner. */
function hasBegun({ status }: OptimizationJob): boolean {
  return (status?.conditions ?? []).some((it) => it.status === "True");
}

/** Judges a change: of the annotations, since the definition lets nobody change the spec. */
export function validateChangedOptimizationJob(
  job: OptimizationJob,
  old: OptimizationJob,
): Verdict {
  const { pruner } = ANNOTATIONS;
  const isChanged = job.metadata.annotations?.[pruner] !== old.metadata.annotations?.[pruner];
  const frozen = forbidden(
    `metadata.annotations[${pruner}]`,
    "is immutable once the OptimizationJob has begun its trials: make a new OptimizationJob",
  );
  return {
    problems: [
      ...valueProblems(job, old, { [pruner]: readPruner }),
      ...(isChanged && hasBegun(old) ? [frozen] : []),
    ],
    warnings: annotationWarnings(job, old),
  };
}
