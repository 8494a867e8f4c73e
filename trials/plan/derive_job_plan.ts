/** Plan of a job without a Trial: by its annotations, or only to keep its metrics. Pure. */
import { readTrialTemplate } from "../../crds/early_stopping.ts";
import type { FieldProblem } from "../../crds/field_problem.ts";
import { type AnyJob, type JobKind, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { ANNOTATIONS, EVENT_REASONS } from "../../crds/names.ts";
import type { TrialMapping } from "../mapping/trial_mapping.ts";
import { type OwnRules, readOwnRules } from "../rules/own_rules.ts";
import { graceOf } from "./grace.ts";
import { aboutJob, type Notice } from "./notice.ts";
import { readPodsOnly, readTemplate } from "./plan_template.ts";
import type { ObservationPlan, PlanSettings } from "./observation_plan.ts";

/** The plan if there is something to keep, and the warnings for its author. */
export interface DerivedJobPlan {
  readonly plan?: ObservationPlan;
  readonly notices: readonly Notice[];
}

/** Returns a warning for a job that is older than the webhook, which refuses such annotations. */
function problemsOf(
  job: JobRef,
  key: string,
  problems: readonly FieldProblem[],
): Notice {
  const reason = key === ANNOTATIONS.trialTemplate
    ? EVENT_REASONS.trialTemplateInvalid
    : EVENT_REASONS.ruleInvalid;
  const what = problems.map(({ field, message }) =>
    field === "" ? message : `${field}: ${message}`
  );
  const message = `ignored annotation ${key}: ${what.join("; ")}`;
  return { about: aboutJob(job), reason, message };
}

class AnnotationReader {
  readonly notices: Notice[] = [];

  constructor(private readonly kind: JobKind, private readonly job: AnyJob) {}

  /** Returns the rules, or undefined if there are none or they are invalid. */
  rules(): OwnRules & { readonly annotation: string } | undefined {
    const read = readOwnRules(this.job.metadata.annotations);
    if (read === undefined) return undefined;
    const { annotation, own, problems } = read;
    if (problems.length > 0) this.#warn(annotation, problems);
    return own && { ...own, annotation };
  }

  /** Returns the job's template, or undefined if it is absent or invalid. */
  template(): Record<string, unknown> | undefined {
    const text = this.job.metadata.annotations?.[ANNOTATIONS.trialTemplate];
    const read = text === undefined ? undefined : readTrialTemplate(text);
    if (read?.ok === false) this.#warn(ANNOTATIONS.trialTemplate, read.problems);
    return read?.ok ? read.value : undefined;
  }

  #warn(key: string, problems: readonly FieldProblem[]): void {
    this.notices.push(problemsOf(jobRefOf(this.kind, this.job), key, problems));
  }

  /**
   * Returns the mapping of the job's template. Without a valid template, or without labels in it, the first
   * pod of each replicated job is primary, since the metrics of several pods would mix.
   */
  mapping(template: Record<string, unknown> | undefined): TrialMapping | undefined {
    const namesLabels = ["primaryPodLabels", "primaryPodLabel"]
      .some((it) => Object.keys(template?.[it] ?? {}).length > 0);
    const { first, firstOf } = this.kind.podLabels;
    const labels = firstOf?.(this.job) ?? first;
    const whole = namesLabels ? template : { ...template, primaryPodLabels: labels };
    const { mapping, problems } = readTemplate(whole, this.kind);
    const listed = problems.map((it): FieldProblem => ({ field: "", message: it }));
    if (listed.length > 0) this.#warn(ANNOTATIONS.trialTemplate, listed);
    return mapping ?? readPodsOnly(whole, this.kind) ??
      readPodsOnly({ primaryPodLabels: labels }, this.kind);
  }
}

/** Returns a warning about rules that count steps, by their places, for a log that keeps none. */
function stepNotices(job: JobRef, annotation: string, places: readonly string[]): Notice[] {
  if (places.length === 0) return [];
  const counts = annotation === ANNOTATIONS.stopWhen ? "counts steps" : 'has the unit "step"';
  const message = `the job will not be stopped by its rules, since ${places.join(", ")} of the ` +
    `annotation ${annotation} ${counts}, and this observation log keeps no steps: count ` +
    "reports, or use --observation-sink memory or sqlite";
  return [{ about: aboutJob(job), reason: EVENT_REASONS.ruleInvalid, message }];
}

/**
 * Derives the plan of a job without a Trial: all its metrics are recorded, in a log of its own. A job with
 * neither annotation is recorded if `keepsPlainJobs`.
 */
export function deriveJobPlan(
  kind: JobKind,
  object: AnyJob,
  { keepsPlainJobs, keepsSteps }: Pick<PlanSettings, "keepsPlainJobs" | "keepsSteps">,
): DerivedJobPlan {
  const reader = new AnnotationReader(kind, object);
  const stopping = reader.rules();
  const template = reader.template();
  const asks = stopping !== undefined || template !== undefined;
  if (!asks && !keepsPlainJobs) return { notices: reader.notices };
  const mapping = reader.mapping(template);
  const grace = stopping === undefined ? undefined : graceOf(kind, object, undefined);
  const job = jobRefOf(kind, object);
  const { namespace, name, uid } = job;
  const { annotation = "", objective, rules = [], stopsAt, places = [] } = stopping ?? {};
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
    mapping,
    graceMs: grace?.ms ?? 0,
  };
  const notices = [
    ...reader.notices,
    ...grace?.notices ?? [],
    ...stepNotices(job, annotation, stepped),
  ];
  return { plan, notices };
}
