/** Plan of a job without a Trial: by its annotations, or only to keep its metrics. Pure. */
import { readTrialTemplate } from "../../crds/early_stopping.ts";
import { type FieldProblem, problemsSummary } from "../../crds/field_problem.ts";
import { type AnyJob, type JobKind, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { ANNOTATIONS, EVENT_REASONS } from "../../crds/names.ts";
import type { TrialMapping } from "../mapping/trial_mapping.ts";
import { mappingOf, readPodsOnly } from "../mapping/trial_template.ts";
import { type OwnRules, readOwnRules } from "../rules/own_rules.ts";
import { graceOf } from "./grace.ts";
import { aboutJob, type Notice } from "./notice.ts";
import type { ObservationPlan, PlanSettings } from "./observation_plan.ts";

/** Returns a warning for a job that is older than the webhook, which refuses such annotations. */
function ignored(job: JobRef, key: string, problems: readonly FieldProblem[]): Notice[] {
  if (problems.length === 0) return [];
  const { trialTemplateInvalid, ruleInvalid } = EVENT_REASONS;
  const reason = key === ANNOTATIONS.trialTemplate ? trialTemplateInvalid : ruleInvalid;
  const message = `ignored annotation ${key}: ${problemsSummary(problems)}`;
  return [{ about: aboutJob(job), reason, message }];
}

/**
 * Returns the mapping of the job's template. Without a valid template, or without labels in it, the first
 * pod of each replicated job is primary, since the metrics of several pods would mix.
 */
function jobMappingOf(
  kind: JobKind,
  job: AnyJob,
  template: Record<string, unknown> | undefined,
): { readonly mapping: TrialMapping | undefined; readonly problems: readonly FieldProblem[] } {
  const namesLabels = ["primaryPodLabels", "primaryPodLabel"]
    .some((it) => Object.keys(template?.[it] ?? {}).length > 0);
  const { first, firstOf } = kind.podLabels;
  const labels = firstOf?.(job) ?? first;
  const whole = namesLabels ? template : { ...template, primaryPodLabels: labels };
  const read = mappingOf(whole, kind);
  if (read.ok) return { mapping: read.mapping, problems: [] };
  const mapping = readPodsOnly(whole, kind) ?? readPodsOnly({ primaryPodLabels: labels }, kind);
  return { mapping, problems: read.problems };
}

/** Returns a warning about rules that count steps, for a log that keeps none. */
function stepNotices(job: JobRef, annotation: string, places: readonly string[]): Notice[] {
  if (places.length === 0) return [];
  const counts = annotation === ANNOTATIONS.stopWhen ? "counts steps" : 'has the unit "step"';
  const message = `the job will not be stopped by its rules, since ${places.join(", ")} of the ` +
    `annotation ${annotation} ${counts}, and this observation log keeps no steps: count ` +
    "reports, or use --observation-sink memory or sqlite";
  return [{ about: aboutJob(job), reason: EVENT_REASONS.ruleInvalid, message }];
}

/**
 * Derives the plan of a job without a Trial: all its metrics are recorded, in a log of its own. A job without
 * rules and template is recorded if `keepsPlainJobs`. The notices are warnings for its author.
 */
export function deriveJobPlan(
  kind: JobKind,
  object: AnyJob,
  { keepsPlainJobs, keepsSteps }: Pick<PlanSettings, "keepsPlainJobs" | "keepsSteps">,
) {
  const job = jobRefOf(kind, object);
  const { annotations } = object.metadata;
  const { annotation, own, problems } = readOwnRules(annotations);
  const text = annotations?.[ANNOTATIONS.trialTemplate];
  const template = text === undefined ? undefined : readTrialTemplate(text);
  const wrong = template?.ok === false ? template.problems : [];
  const asks = own !== undefined || template?.ok === true;
  const notices = [
    ...ignored(job, annotation, problems),
    ...ignored(job, ANNOTATIONS.trialTemplate, wrong),
  ];
  if (!asks && !keepsPlainJobs) return { notices };
  const mapped = jobMappingOf(kind, object, template?.ok ? template.value : undefined);
  const grace = own && graceOf(kind, object, undefined);
  const { namespace, name, uid } = job;
  const { objective, rules = [], stopsAt, places = [] }: Partial<OwnRules> = own ?? {};
  const stepped = keepsSteps ? [] : places.filter((_, index) => rules[index]?.unit === "step");
  const plan: ObservationPlan = {
    kind: "plan",
    key: { kind: "job", namespace, name, uid },
    job,
    objective: objective && { ...objective, additional: [] },
    records: "all",
    ...(!asks && { isPlain: true }),
    rules: stepped.length > 0 ? [] : rules,
    ...(stopsAt === "any" && { stopsAt }),
    mapping: mapped.mapping,
    graceMs: grace?.ms ?? 0,
  };
  return {
    plan,
    notices: [
      ...notices,
      ...ignored(job, ANNOTATIONS.trialTemplate, mapped.problems),
      ...grace?.notices ?? [],
      ...stepNotices(job, annotation, stepped),
    ],
  };
}
