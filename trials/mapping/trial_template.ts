/** Parser of trial templates, in KEP-1214's spelling or in Katib's, with Katib's defaults by kind. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import { z } from "zod";
import { conditionTest, defaultsOf, isFormerDefault } from "./kind_defaults.ts";
import { parsePath } from "../gjson/path.ts";
import type { JobTest, MappingResult, TemplateKind, TrialMapping } from "./trial_mapping.ts";

/** A condition's type as Kubernetes defines it, which excludes GJSON. */
const CONDITION_TYPE = /^[A-Za-z0-9](?:[A-Za-z0-9_./-]{0,314}[A-Za-z0-9])?$/;
const NO_TYPE = "must be the type of a condition; GJSON goes in successCondition";

const text = z.string("must be a string");
const labels = z.record(z.string(), text, "must be an object of labels with string values");
const flag = z.boolean("must be true or false");
const gjson = text.transform((expression, context): JobTest => {
  const reading = parsePath(expression);
  if (reading.ok) return { expression, path: reading.path };
  const { position, message } = reading;
  context.addIssue({ code: "custom", message: `GJSON at character ${position}: ${message}` });
  return z.NEVER;
});

/** A field that may be absent, or empty, which is the same. */
const given = <Field extends z.ZodType>(field: Field) =>
  z.preprocess((value) => isEmpty(value) ? undefined : value, field.optional());

/** The fields of both spellings; `Trial.spec` has `retainRun` where templates have `retain`. */
const templateSchema = z.object({
  primaryPodLabels: given(labels),
  primaryPodLabel: given(labels),
  primaryContainerName: given(text),
  successCondition: given(gjson),
  succeededCondition: given(text.regex(CONDITION_TYPE, NO_TYPE).transform(conditionTest)),
  failureCondition: given(gjson),
  retain: given(flag),
  retainRun: given(flag),
});

const wholeSchema = z.looseObject({});

/** Fields that mean the same. */
const SPELLINGS = [
  ["primaryPodLabels", "primaryPodLabel"],
  ["successCondition", "succeededCondition"],
  ["retain", "retainRun"],
] as const;

/**
 * Parses a template: `Trial.spec`, an Experiment's `trialTemplate`, or the object in a TrainJob's annotation.
 * Each field may have either spelling but not both. A field that is absent or empty gets Katib's default for
 * the kind; for a kind without defaults the success condition is required, and so is the failure condition
 * unless KEP-1214's spelling is used, which has none. Reports all problems, not only the first.
 */
export function mappingOf(template: unknown, job: TemplateKind): MappingResult {
  const whole = wholeSchema.safeParse(template).data;
  if (whole === undefined) {
    return { ok: false, problems: [{ field: "", message: "must be an object" }] };
  }
  const read = templateSchema.safeParse(whole);
  const defaults = defaultsOf(job);
  const isGiven = (field: keyof z.infer<typeof templateSchema>) => !isEmpty(whole[field]);
  const isMissing = (field: "success" | "failure") =>
    defaults[field] === undefined && !isGiven(`${field}Condition`) &&
    !isGiven("succeededCondition");
  const problems: FieldProblem[] = [
    ...read.error?.issues.map(({ path, message }) => ({ field: path.join("."), message })) ?? [],
    ...SPELLINGS.filter((pair) => pair.every(isGiven)).map(([one, other]) => ({
      field: other,
      message: `must not be set together with ${one}`,
    })),
    ...(["success", "failure"] as const).filter(isMissing).map((field) => ({
      field: `${field}Condition`,
      message: `must be set, since there is no default for kind ${job.kind}`,
    })),
  ];
  const { data = {} } = read;
  const success = data.successCondition ?? data.succeededCondition ?? defaults.success;
  if (success === undefined || problems.length > 0) return { ok: false, problems };
  const { primaryContainerName, failureCondition: failure = defaults.failure } = data;
  const own = data.primaryPodLabels ?? data.primaryPodLabel;
  const isOwn = own !== undefined && !isFormerDefault(job, own);
  const primaryPodLabels = isOwn ? own : defaults.primaryPodLabels;
  const mapping = {
    ...(primaryPodLabels && { primaryPodLabels }),
    ...(primaryContainerName !== undefined && { primaryContainerName }),
    success,
    ...(failure && { failure }),
    retain: data.retain ?? data.retainRun ?? false,
  };
  return { ok: true, mapping };
}

/** A path that leads nowhere in any job, so that a test of it is never met. */
const NEVER = "metadata.managedBy.nobody";

/**
 * Parses a template with invalid conditions: the mapping has its primary pod, and its job never counts as
 * succeeded. Returns undefined if other fields are invalid, too.
 */
export function readPodsOnly(template: unknown, job: TemplateKind): TrialMapping | undefined {
  if (typeof template !== "object" || template === null) return undefined;
  const { succeededCondition: _, failureCondition: _failure, ...rest }: Record<string, unknown> = {
    ...template,
  };
  const read = mappingOf({ ...rest, successCondition: NEVER }, job);
  return read.ok ? read.mapping : undefined;
}

/** Whether a value counts as absent: Katib's own objects omit empty values when they are written. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return typeof value === "object" && !Array.isArray(value) && Object.keys(value).length === 0;
}
