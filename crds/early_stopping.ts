/** Parsers of the annotations of TrainJobs about trials. */
import { z } from "zod";
import { parseDuration } from "../platform/base/duration.ts";
import { fieldPath, type FieldProblem } from "./field_problem.ts";
import { goNumber } from "../platform/base/go_float.ts";
import { ANNOTATIONS, EARLY_STOPPING_GRACE_MAX_MS, PUSH_LIMITS } from "./names.ts";
import { wholeNumber } from "./wire/sample.ts";

/** Annotations with the rules by which a job is stopped; a job has one of them at most. */
export const RULE_ANNOTATIONS = [ANNOTATIONS.earlyStopping, ANNOTATIONS.stopWhen] as const;
/** Annotations by which a job asks for a log of its own. */
export const LOG_ANNOTATIONS = [...RULE_ANNOTATIONS, ANNOTATIONS.trialTemplate] as const;

/** Most rules of one TrainJob. */
export const EARLY_STOPPING_RULES_MAX = 64;
const INT32_MAX = 2_147_483_647;
/** Of an annotation's text in a message. */
const SHOWN_MAX = 80;

/**
 * The value of an annotation, or everything that is wrong with it. Fields of problems are paths in its
 * JSON, such as `rules[0].value`; an empty one stands for the whole.
 */
export type ReadAnnotation<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** What the name of a metric is. */
export const METRIC_NAME = `the name of a metric, 1 to ${PUSH_LIMITS.metricNameLength} characters`;

/** Returns whether a text may be the name of a metric; counted in code points, as a push's. */
export function isMetricName(text: string): boolean {
  const most = PUSH_LIMITS.metricNameLength;
  return text !== "" && [...text.slice(0, 2 * most + 1)].length <= most;
}

/** Returns whether a text is a number that reports are compared with: any but NaN. */
export function isRuleValue(text: string): boolean {
  return text.length <= PUSH_LIMITS.metricValueLength && !Number.isNaN(goNumber(text));
}

const METRIC = `must be ${METRIC_NAME}`;
const metricName = z.string({ error: METRIC }).refine(isMetricName, METRIC);

const VALUE = 'must be a decimal number in a string, such as "0.5", and not NaN';
const ruleValue = z.string({
  error: ({ input }) => typeof input === "number" ? `put the number in quotes: "${input}"` : VALUE,
}).refine(isRuleValue, VALUE);

const startStep = wholeNumber(0, INT32_MAX);
/** Returns whether a number may be the first report or step of a rule. */
export const isStartStep = (value: number): boolean => startStep.safeParse(value).success;

/** What a rule counts up to its start step: reports of its metric, or steps of the training as pods push them. */
export const RULE_UNITS = ["report", "step"] as const;

/** What a rule of a job compares: the value that was reported, or the objective's best one so far. */
const COMPARED = ["newest", "best"] as const;
const compared = z.enum(COMPARED, { error: `must be ${COMPARED.join(" or ")}` });

const rule = z.strictObject({
  name: metricName,
  value: ruleValue.optional(),
  comparison: z.enum(["equal", "less", "greater", "nan"], {
    error: "must be equal, less, greater or nan",
  }),
  startStep: startStep.optional(),
  unit: z.enum(RULE_UNITS, { error: `must be ${RULE_UNITS.join(" or ")}` }).optional(),
  compare: compared.optional(),
}, {
  error: shapeError(
    "an object with name, value, comparison and, if wanted, startStep, unit and compare",
  ),
}).superRefine(({ comparison, value, compare, unit, startStep }, { addIssue }) => {
  const isNan = comparison === "nan";
  const refuse = (field: string, message: string) =>
    addIssue({ code: "custom", path: [field], message });
  if (!isNan && value === undefined) refuse("value", VALUE);
  if (isNan && value !== undefined) refuse("value", 'must be absent with the comparison "nan"');
  if (isNan && compare === "best") refuse("compare", 'must be newest with the comparison "nan"');
  if (unit === "step" && startStep === undefined) {
    refuse("startStep", 'is required with the unit "step"');
  }
});

const RULES = `must be a list of 1 to ${EARLY_STOPPING_RULES_MAX} rules`;

/** Value of the annotation `trainer.kubeflow.org/early-stopping`. */
const earlyStoppingSchema = z.strictObject({
  objective: z.strictObject({
    name: metricName,
    type: z.enum(["minimize", "maximize"], { error: "must be minimize or maximize" }),
  }, { error: shapeError("an object with name and type") }),
  // The length is checked first: the rules of an over-long list are not validated.
  rules: z.array(z.unknown(), { error: RULES }).min(1, RULES).max(EARLY_STOPPING_RULES_MAX, RULES)
    .pipe(z.array(rule)),
}, { error: shapeError("an object with objective and rules") }).superRefine(
  ({ objective, rules }, { addIssue }) => {
    for (const [index, { name, compare }] of rules.entries()) {
      if (compare !== "best" || name === objective.name) continue;
      const message = "best is for the objective, whose type says what is better";
      addIssue({ code: "custom", path: ["rules", index, "compare"], message });
    }
  },
);
type EarlyStopping = z.infer<typeof earlyStoppingSchema>;

const TEXT = "must be a string";
const text = z.string({ error: TEXT }).optional();
const labels = z.record(z.string(), z.string({ error: TEXT }), {
  error: "must be an object of labels",
}).optional();

/** Value of the annotation `trainer.kubeflow.org/trial-template`: KEP-1214's spelling or today's. */
const trialTemplateSchema = z.looseObject({
  primaryPodLabel: labels,
  primaryPodLabels: labels,
  primaryContainerName: text,
  succeededCondition: text,
  successCondition: text,
  failureCondition: text,
  retain: z.boolean({ error: "must be true or false" }).optional(),
}, { error: shapeError("an object, as a trialTemplate of Katib") });
type TrialTemplate = z.infer<typeof trialTemplateSchema>;

/** Says what is missing or of another type; of unknown fields zod's own issue is read. */
export function shapeError(what: string) {
  return (issue: { code?: string }) =>
    issue.code === "unrecognized_keys" ? undefined : `must be ${what}`;
}

/** Most problems that are reported at once. */
export const PROBLEMS_MAX = 20;

function problemsOf(error: z.ZodError): FieldProblem[] {
  return error.issues.flatMap((issue): FieldProblem[] =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({
        field: fieldPath([...issue.path, key]),
        message: "is not known",
      }))
      : [{ field: fieldPath(issue.path), message: issue.message }]
  ).slice(0, PROBLEMS_MAX);
}

function readValue<T>(value: unknown, schema: z.ZodType<T>): ReadAnnotation<T> {
  const parsed = schema.safeParse(value);
  return parsed.success
    ? { ok: true, value: parsed.data }
    : { ok: false, problems: problemsOf(parsed.error) };
}

export function readJson<T>(text: string, schema: z.ZodType<T>): ReadAnnotation<T> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, problems: [{ field: "", message: `must be JSON: ${why}` }] };
  }
  return readValue(json, schema);
}

/** Reads the annotation `trainer.kubeflow.org/early-stopping`. */
export function readEarlyStopping(text: string): ReadAnnotation<EarlyStopping> {
  return readJson(text, earlyStoppingSchema);
}

/**
 * Reads the annotation `trainer.kubeflow.org/early-stopping-compare`: what rules compare that do not say it
 * themselves.
 */
export const readCompared = (text: string) => readValue(text, compared);

/** Reads the annotation `trainer.kubeflow.org/trial-template`; its expressions are not parsed. */
export function readTrialTemplate(text: string): ReadAnnotation<TrialTemplate> {
  return readJson(text, trialTemplateSchema);
}

/** Reads the annotation `trainer.kubeflow.org/early-stopping-grace`, of a TrainJob or a Trial, in milliseconds. */
export function readGrace(text: string): ReadAnnotation<number> {
  const ms = text.length <= SHOWN_MAX ? parseDuration(text) : undefined;
  if (ms !== undefined && ms <= EARLY_STOPPING_GRACE_MAX_MS) return { ok: true, value: ms };
  const message = "must be a duration from 0s to 1h, such as 30s or 1m30s";
  return { ok: false, problems: [{ field: "", message }] };
}
