/** Plan of a job without a Trial: by its annotations, or only to keep its metrics. Pure. */
import { readEarlyStopping, readTrialTemplate } from "../../crds/early_stopping.ts";
import type { ReadAnnotation } from "../../crds/early_stopping.ts";
import type { FieldProblem } from "../../crds/field_problem.ts";
import { type AnyJob, type JobKind, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { ANNOTATIONS, EVENT_REASONS } from "../../crds/names.ts";
import type { TrialMapping } from "../mapping/trial_mapping.ts";
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
  const reason = key === ANNOTATIONS.earlyStopping
    ? EVENT_REASONS.ruleInvalid
    : EVENT_REASONS.trialTemplateInvalid;
  const what = problems.map(({ field, message }) =>
    field === "" ? message : `${field}: ${message}`
  );
  const message = `ignored annotation ${key}: ${what.join("; ")}`;
  return { about: aboutJob(job), reason, message };
}

class AnnotationReader {
  readonly notices: Notice[] = [];

  constructor(private readonly kind: JobKind, private readonly job: AnyJob) {}

  /** Returns the value of the annotation, or undefined if it is absent or invalid. */
  annotation<T>(key: string, read: (text: string) => ReadAnnotation<T>): T | undefined {
    const text = this.job.metadata.annotations?.[key];
    if (text === undefined) return undefined;
    const result = read(text);
    if (result.ok) return result.value;
    this.#warn(key, result.problems);
    return undefined;
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

/** Returns a warning about rules that count steps, by their indexes, for a log that keeps none. */
function stepNotices(job: JobRef, indexes: readonly number[]): Notice[] {
  if (indexes.length === 0) return [];
  const which = indexes.map((index) => `rules[${index}]`).join(", ");
  const message = `the job will not be stopped by its rules, since ${which} of the annotation ` +
    `${ANNOTATIONS.earlyStopping} has the unit "step", and this observation log keeps no steps: count ` +
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
  const stopping = reader.annotation(ANNOTATIONS.earlyStopping, readEarlyStopping);
  const template = reader.annotation(ANNOTATIONS.trialTemplate, readTrialTemplate);
  const asks = stopping !== undefined || template !== undefined;
  if (!asks && !keepsPlainJobs) return { notices: reader.notices };
  const mapping = reader.mapping(template);
  const grace = stopping === undefined ? undefined : graceOf(kind, object, undefined);
  const job = jobRefOf(kind, object);
  const { namespace, name, uid } = job;
  const { rules = [] } = stopping ?? {};
  const stepped = keepsSteps
    ? []
    : rules.flatMap(({ unit }, index) => unit === "step" ? [index] : []);
  const plan: ObservationPlan = {
    kind: "plan",
    key: { kind: "job", namespace, name, uid },
    job,
    objective: stopping && { ...stopping.objective, additional: [] },
    records: "all",
    ...(!asks && { isPlain: true }),
    rules: stepped.length > 0 ? [] : rules.map((it) => ({ startStep: undefined, ...it })),
    mapping,
    graceMs: grace?.ms ?? 0,
  };
  const notices = [...reader.notices, ...grace?.notices ?? [], ...stepNotices(job, stepped)];
  return { plan, notices };
}
