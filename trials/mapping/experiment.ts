/** Parser of Katib's Experiments: template of the trials, search parameters and objective. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import { z } from "zod";
import { COLLECTORS, KATIB } from "../../crds/katib_names.ts";
import { mappingOf } from "./trial_template.ts";
import type { TemplateKind, TrialMapping } from "./trial_mapping.ts";

const texts = z.array(z.string());

/** The fields of an Experiment that are read; SDKs write optional ones as null, too. */
const experimentSchema = z.looseObject({
  apiVersion: z.literal(KATIB.apiVersion),
  kind: z.literal("Experiment"),
  spec: z.looseObject({
    parameters: z.array(z.looseObject({
      name: z.string(),
      parameterType: z.enum(["double", "int", "discrete", "categorical"]),
      feasibleSpace: z.looseObject({
        min: z.string().nullish(),
        max: z.string().nullish(),
        step: z.string().nullish(),
        list: texts.nullish(),
        distribution: z.string().nullish(),
      }),
    })).min(1),
    objective: z.looseObject({
      type: z.enum(["minimize", "maximize"]),
      objectiveMetricName: z.string().min(1),
      additionalMetricNames: texts.nullish(),
      goal: z.number().nullish(),
    }),
    metricsCollectorSpec: z.looseObject({
      collector: z.looseObject({ kind: z.string() }).nullish(),
    }).nullish(),
    maxTrialCount: z.int().nullish(),
    parallelTrialCount: z.int().nullish(),
    maxFailedTrialCount: z.int().nullish(),
    trialTemplate: z.looseObject({
      trialParameters: z.array(z.looseObject({ name: z.string(), reference: z.string() })).min(1),
      trialSpec: z.looseObject({ apiVersion: z.string(), kind: z.string() }),
    }),
  }),
});
type ExperimentSpec = z.infer<typeof experimentSchema>["spec"];

/** One dimension of the search; bounds and choices are strings, as trials get them. */
export interface SearchParameter {
  readonly name: string;
  readonly type: "double" | "int" | "discrete" | "categorical";
  readonly min?: string;
  readonly max?: string;
  readonly step?: string;
  /** The values of `discrete` and `categorical`. */
  readonly choices?: readonly string[];
  /** Default `uniform`. */
  readonly distribution: string;
}

/** The parts of an Experiment, with Katib's defaults. */
export interface Experiment {
  readonly job: TemplateKind;
  readonly mapping: TrialMapping;
  /** The job of each trial, with `${trialParameters.<name>}` in the place of each value. */
  readonly trialSpec: Readonly<Record<string, unknown>>;
  /** The parameter of the search that each name in the job refers to. */
  readonly trialParameters: readonly { readonly name: string; readonly reference: string }[];
  readonly parameters: readonly SearchParameter[];
  readonly objective: {
    readonly name: string;
    readonly type: "minimize" | "maximize";
    readonly additional: readonly string[];
    readonly goal?: number;
  };
  /** The kind of the metrics collector. */
  readonly collector: string;
  /** Most trials, trials at a time, and failed trials that end it; no limit if absent. */
  readonly trials: {
    readonly max?: number;
    readonly parallel: number;
    readonly maxFailed?: number;
  };
}

/** Katib's defaults (kubeflow/katib: pkg/apis/controller/experiments/v1beta1/experiment_defaults.go). */
const PARALLEL_TRIALS = 3;
const DISTRIBUTION = "uniform";

/**
 * Parses an Experiment, such as the Kubeflow SDK's `OptimizerClient.optimize()` creates. Its template must
 * contain the job itself, in `trialSpec`. Reports all problems, each with its path.
 */
export function experimentOf(
  value: unknown,
): { ok: true; experiment: Experiment } | { ok: false; problems: readonly FieldProblem[] } {
  const parsed = experimentSchema.safeParse(value);
  if (!parsed.success) {
    const problems = parsed.error.issues
      .map(({ path, message }) => ({ field: path.join("."), message }));
    return { ok: false, problems };
  }
  const { spec } = parsed.data;
  const { trialSpec, trialParameters } = spec.trialTemplate;
  const job = { apiVersion: trialSpec.apiVersion, kind: trialSpec.kind };
  const read = mappingOf(spec.trialTemplate, job);
  if (!read.ok) {
    const inTemplate = (field: string) => `spec.trialTemplate${field === "" ? "" : "."}${field}`;
    const problems = read.problems.map((it) => ({ ...it, field: inTemplate(it.field) }));
    return { ok: false, problems };
  }
  const experiment = {
    job,
    mapping: read.mapping,
    trialSpec,
    trialParameters: trialParameters.map(({ name, reference }) => ({ name, reference })),
    parameters: spec.parameters.map(parameterOf),
    objective: objectiveOf(spec),
    collector: spec.metricsCollectorSpec?.collector?.kind ?? COLLECTORS.stdOut,
    trials: given({
      max: spec.maxTrialCount,
      maxFailed: spec.maxFailedTrialCount,
    }, { parallel: spec.parallelTrialCount ?? PARALLEL_TRIALS }),
  };
  return { ok: true, experiment };
}

/** Returns the optional parts that are present, beside the others. */
function given<T, R>(
  optional: Readonly<Record<string, T | null | undefined>>,
  rest: R,
): R & Readonly<Record<string, T>> {
  const there: Record<string, T> = {};
  for (const [key, value] of Object.entries(optional)) {
    if (value !== undefined && value !== null) there[key] = value;
  }
  return { ...rest, ...there };
}

function parameterOf(parameter: ExperimentSpec["parameters"][number]): SearchParameter {
  const { min, max, step, list, distribution } = parameter.feasibleSpace;
  return {
    name: parameter.name,
    type: parameter.parameterType,
    ...given({ min, max, step }, {}),
    ...given({ choices: list }, {}),
    distribution: distribution ?? DISTRIBUTION,
  };
}

function objectiveOf({ objective }: ExperimentSpec): Experiment["objective"] {
  const { objectiveMetricName: name, type, additionalMetricNames, goal } = objective;
  return { name, type, additional: additionalMetricNames ?? [], ...given({ goal }, {}) };
}
