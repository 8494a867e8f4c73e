/** Derivation of the observation plan of a TrainJob without a Trial, from its annotations. Pure. */
import { readEarlyStopping, readTrialTemplate } from "../../crds/early_stopping.ts";
import type { ReadAnnotation } from "../../crds/early_stopping.ts";
import type { FieldProblem } from "../../crds/field_problem.ts";
import { ANNOTATIONS, EVENT_REASONS, JOB_KEYS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { TrialMapping } from "../mapping/trial_mapping.ts";
import { graceOf } from "./grace.ts";
import { aboutJob, type Notice } from "./notice.ts";
import { readPodsOnly, readTemplate } from "./plan_template.ts";
import type { ObservationPlan } from "./observation_plan.ts";

/** A plan, if there is something to record, and warnings about the annotations. */
export interface DerivedJobPlan {
  readonly plan?: ObservationPlan;
  readonly notices: readonly Notice[];
}

/** Returns a warning for a job that is older than the webhook, which refuses such annotations. */
function problemsOf(
  trainJob: TrainJob,
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
  return { about: aboutJob(trainJob), reason, message };
}

class AnnotationReader {
  readonly notices: Notice[] = [];

  constructor(private readonly trainJob: TrainJob) {}

  /** Returns the value of the annotation, or undefined if it is absent or invalid. */
  annotation<T>(key: string, read: (text: string) => ReadAnnotation<T>): T | undefined {
    const text = this.trainJob.metadata.annotations?.[key];
    if (text === undefined) return undefined;
    const result = read(text);
    if (result.ok) return result.value;
    this.notices.push(problemsOf(this.trainJob, key, result.problems));
    return undefined;
  }

  /**
   * Returns the mapping of the job's template. Without a valid template, or without labels in it, the first
   * pod of each replicated job is primary, since the metrics of several pods would mix.
   */
  mapping(template: Record<string, unknown> | undefined): TrialMapping | undefined {
    const namesLabels = ["primaryPodLabels", "primaryPodLabel"]
      .some((it) => Object.keys(template?.[it] ?? {}).length > 0);
    const labels = { [JOB_KEYS.completionIndex]: "0" };
    const whole = namesLabels ? template : { ...template, primaryPodLabels: labels };
    const { mapping, problems } = readTemplate(whole, this.trainJob);
    const listed = problems.map((it): FieldProblem => ({ field: "", message: it }));
    if (listed.length > 0) {
      this.notices.push(problemsOf(this.trainJob, ANNOTATIONS.trialTemplate, listed));
    }
    return mapping ?? readPodsOnly(whole, this.trainJob) ??
      readPodsOnly({ primaryPodLabels: labels }, this.trainJob);
  }
}

/**
 * Derives the plan of a job without a Trial: all its metrics are recorded, in a log of its own. A job with
 * neither annotation is recorded if `keepsPlainJobs`.
 */
export function deriveJobPlan(trainJob: TrainJob, keepsPlainJobs: boolean): DerivedJobPlan {
  const { namespace = "", name = "", uid = "" } = trainJob.metadata;
  const reader = new AnnotationReader(trainJob);
  const stopping = reader.annotation(ANNOTATIONS.earlyStopping, readEarlyStopping);
  const template = reader.annotation(ANNOTATIONS.trialTemplate, readTrialTemplate);
  const asks = stopping !== undefined || template !== undefined;
  if (!asks && !keepsPlainJobs) return { notices: reader.notices };
  const mapping = reader.mapping(template);
  const grace = stopping === undefined ? undefined : graceOf(trainJob, undefined);
  const job = { namespace, name, uid };
  const plan: ObservationPlan = {
    kind: "plan",
    key: { kind: "job", ...job },
    job,
    objective: stopping && { ...stopping.objective, additional: [] },
    records: "all",
    ...(!asks && { isPlain: true }),
    rules: stopping?.rules.map((it) => ({ startStep: undefined, ...it })) ?? [],
    mapping,
    graceMs: grace?.ms ?? 0,
  };
  return { plan, notices: [...reader.notices, ...grace?.notices ?? []] };
}
