/** Problems of a search that its definition cannot check. Pure. */
import { type FieldProblem, invalid } from "../../crds/field_problem.ts";
import { dnsLabel1035 } from "../../crds/name_syntax.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import { readObjective } from "../../crds/objective.ts";
import { objectiveOf, type OptimizationJob } from "../../crds/optimization_job.ts";
import { readPruner } from "../../crds/pruner.ts";
import { TRAINER_ENV_MAX } from "../../crds/trainjob.ts";
import { RECORDS_BYTES } from "../../crds/trial_records.ts";
import { jsonBytes, longestValue, readSpace } from "./search_space.ts";
import { objectiveText } from "./trial_job.ts";
import { variablesOf } from "./trial_variables.ts";

/** Most bytes of a template, as JSON: there may be a hundred TrainJobs with all of it, and caches hold them. */
const TEMPLATE_BYTES = 64 * 1024;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const PARAMETERS = "spec.parameters";
const TEMPLATE = "spec.trainJobTemplate";
const ENV = `${TEMPLATE}.spec.trainer.env`;

/** The names of trials begin with that of the search, and a label has it. */
function nameProblems({ metadata: { name = "" } }: OptimizationJob): FieldProblem[] {
  return dnsLabel1035(name).map((message) => invalid("metadata.name", name, message));
}

/** The annotation of the objective has to be read again, and so has that of the pruner. */
function annotationProblems({ metadata, spec }: OptimizationJob): FieldProblem[] {
  const { metric } = objectiveOf({ spec });
  const objective = readObjective(objectiveText({ spec })).ok
    ? []
    : [invalid("spec.objectives[0].metric", metric, "must not begin with a blank")];
  const text = metadata.annotations?.[ANNOTATIONS.pruner];
  const pruner = text === undefined ? undefined : readPruner(text);
  if (pruner === undefined || pruner.ok) return objective;
  const place = `metadata.annotations[${ANNOTATIONS.pruner}]`;
  const problems = pruner.problems.map(({ field, ...problem }) => ({
    ...problem,
    field: field === "" ? place : `${place}.${field}`,
  }));
  return [...objective, ...problems];
}

function templateProblems({ spec: { trainJobTemplate } }: OptimizationJob): FieldProblem[] {
  const bytes = jsonBytes(trainJobTemplate);
  if (bytes <= TEMPLATE_BYTES) return [];
  const message = `has ${bytes} bytes as JSON, at most ${TEMPLATE_BYTES} are allowed, since each ` +
    "trial is an object of that size: move what is long into a runtime, a ConfigMap or the image";
  return [{ field: TEMPLATE, message }];
}

/** Names that are no variables, and variables that two have. */
function variableProblems({ spec }: OptimizationJob): FieldProblem[] {
  const env = spec.trainJobTemplate.spec.trainer?.env ?? [];
  const owners = new Map(env.map(({ name }, index) => [name, `${ENV}[${index}]`]));
  const problems = spec.parameters.flatMap(({ name }, index) => {
    const field = `${PARAMETERS}[${index}].name`;
    if (!VARIABLE.test(name)) {
      const message = "trials get it as a variable: must consist of letters, digits and '_', " +
        "and must not begin with a digit";
      return [invalid(field, name, message)];
    }
    const taken = variablesOf(name).flatMap((it) => {
      const other = owners.get(it);
      owners.set(it, other ?? field);
      return other === undefined ? [] : [`its variable ${it} is also that of ${other}`];
    });
    return taken.length === 0 ? [] : [invalid(field, name, taken.join("; "))];
  });
  if (problems.length > 0 || owners.size <= TRAINER_ENV_MAX) return problems;
  const message =
    `trials would have ${owners.size} variables with those of the template, and may ` +
    `have ${TRAINER_ENV_MAX}: name parameters in capital letters, which makes one variable of each ` +
    "and not two, or give less of them";
  return [{ field: PARAMETERS, message }];
}

function spaceProblems({ metadata, spec }: OptimizationJob): FieldProblem[] {
  const isGrid = spec.searchAlgorithm?.grid !== undefined;
  const isPruned = metadata.annotations?.[ANNOTATIONS.pruner] !== undefined;
  let bytes = RECORDS_BYTES.trial + (isPruned ? RECORDS_BYTES.pruning : 0);
  const problems = spec.parameters.flatMap(({ searchSpace }, index) => {
    const field = `${PARAMETERS}[${index}].searchSpace`;
    const read = readSpace(searchSpace, field);
    if (!read.ok) return read.problems;
    bytes += longestValue(read.space) + 1;
    return isGrid && read.space.kind !== "categorical"
      ? [{ field, message: "must be categorical, since the search is a grid" }]
      : [];
  });
  const all = bytes * (spec.numTrials ?? 1);
  if (problems.length > 0 || all <= RECORDS_BYTES.all) return problems;
  const message = `the records of all trials may take ${all} bytes, and their ConfigMap holds ` +
    `${RECORDS_BYTES.all}: make choices shorter, or parameters or trials fewer`;
  return [{ field: PARAMETERS, message }];
}

/**
 * Returns what is wrong with a search, with its fields: bounds and choices, variables, its name, the annotation of its
 * pruner, and the size of its template. Of that it says else only what concerns variables: the TrainJob that it makes is checked as TrainJobs are.
 */
export function searchProblems(job: OptimizationJob): FieldProblem[] {
  return [nameProblems, annotationProblems, spaceProblems, templateProblems, variableProblems]
    .flatMap((problemsOf) => problemsOf(job));
}
