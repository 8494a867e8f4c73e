/** Parser of trial templates, in KEP-1214's spelling or in Katib's, with Katib's defaults by kind. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import { z } from "zod";
import { conditionTest, defaultsOf, isFormerDefault } from "./kind_defaults.ts";
import { parsePath } from "../gjson/path.ts";
import type { JobTest, MappingResult, TemplateKind, TrialMapping } from "./trial_mapping.ts";

/** The fields of both spellings, unparsed; `Trial.spec` has `retainRun` where templates have `retain`. */
const templateSchema = z.looseObject({
  primaryPodLabels: z.unknown().optional(),
  primaryPodLabel: z.unknown().optional(),
  primaryContainerName: z.unknown().optional(),
  successCondition: z.unknown().optional(),
  succeededCondition: z.unknown().optional(),
  failureCondition: z.unknown().optional(),
  retain: z.unknown().optional(),
  retainRun: z.unknown().optional(),
});
type Template = z.infer<typeof templateSchema>;

/** A condition's type as Kubernetes defines it, which excludes GJSON. */
const CONDITION_TYPE = /^[A-Za-z0-9](?:[A-Za-z0-9_./-]{0,314}[A-Za-z0-9])?$/;

/**
 * Parses a template: `Trial.spec`, an Experiment's `trialTemplate`, or the object in a TrainJob's annotation.
 * Each field may have either spelling but not both. A field that is absent or empty gets Katib's default for
 * the kind; for a kind without defaults the success condition is required, and so is the failure condition
 * unless KEP-1214's spelling is used, which has none. Reports all problems, not only the first.
 */
export function mappingOf(template: unknown, job: TemplateKind): MappingResult {
  const parsed = Array.isArray(template) ? undefined : templateSchema.safeParse(template);
  if (!parsed?.success) {
    return { ok: false, problems: [{ field: "", message: "must be an object" }] };
  }
  const reader = new TemplateReader(parsed.data, job);
  const mapping = reader.mapping();
  return mapping === undefined ? { ok: false, problems: reader.problems } : { ok: true, mapping };
}

/** Parses one template and collects its problems. */
class TemplateReader {
  readonly problems: FieldProblem[] = [];
  readonly #template: Template;
  readonly #job: TemplateKind;
  readonly #defaults: ReturnType<typeof defaultsOf>;

  constructor(template: Template, job: TemplateKind) {
    this.#template = template;
    this.#job = job;
    this.#defaults = defaultsOf(job);
  }

  mapping(): TrialMapping | undefined {
    const primaryPodLabels = this.#labels();
    const primaryContainerName = this.#text("primaryContainerName");
    const success = this.#success();
    const failure = this.#failure();
    const retain = this.#retain();
    if (success === undefined || this.problems.length > 0) return undefined;
    return {
      ...(primaryPodLabels === undefined ? {} : { primaryPodLabels }),
      ...(primaryContainerName === undefined ? {} : { primaryContainerName }),
      success,
      ...(failure === undefined ? {} : { failure }),
      retain,
    };
  }

  #problem(field: keyof Template | string, message: string): undefined {
    this.problems.push({ field, message });
  }

  /** Returns the spelling that is given, or undefined if neither is. */
  #spelling<A extends keyof Template, B extends keyof Template>(a: A, b: B): A | B | undefined {
    const given = ([a, b] as const).filter((it) => !isEmpty(this.#template[it]));
    if (given.length === 2) this.#problem(b, `must not be set together with ${a}`);
    return given[0];
  }

  #labels(): Readonly<Record<string, string>> | undefined {
    const field = this.#spelling("primaryPodLabels", "primaryPodLabel");
    if (field === undefined) return this.#defaults.primaryPodLabels;
    const given = this.#template[field];
    if (typeof given !== "object" || given === null || Array.isArray(given)) {
      return this.#problem(field, "must be an object of labels with string values");
    }
    const labels: Record<string, string> = {};
    for (const [key, value] of Object.entries(given)) {
      if (typeof value === "string") labels[key] = value;
      else this.#problem(`${field}.${key}`, "must be a string");
    }
    return isFormerDefault(this.#job, labels) ? this.#defaults.primaryPodLabels : labels;
  }

  #text(field: keyof Template): string | undefined {
    const value = this.#template[field];
    if (isEmpty(value)) return undefined;
    return typeof value === "string" ? value : this.#problem(field, "must be a string");
  }

  #success(): JobTest | undefined {
    const field = this.#spelling("successCondition", "succeededCondition");
    if (field === undefined) {
      return this.#defaults.success ?? this.#problem("successCondition", this.#missing());
    }
    const text = this.#text(field);
    if (text === undefined) return undefined;
    if (field === "successCondition") return this.#gjson(field, text);
    if (CONDITION_TYPE.test(text)) return conditionTest(text);
    return this.#problem(field, "must be the type of a condition; GJSON goes in successCondition");
  }

  #failure(): JobTest | undefined {
    const text = this.#text("failureCondition");
    if (text !== undefined) return this.#gjson("failureCondition", text);
    const isKep = !isEmpty(this.#template.succeededCondition);
    const isWrong = this.problems.some((it) => it.field === "failureCondition");
    if (this.#defaults.failure !== undefined || isKep || isWrong) return this.#defaults.failure;
    return this.#problem("failureCondition", this.#missing());
  }

  #missing(): string {
    return `must be set, since there is no default for kind ${this.#job.kind}`;
  }

  #gjson(field: string, expression: string): JobTest | undefined {
    const reading = parsePath(expression);
    if (reading.ok) return { expression, path: reading.path };
    const { position, message } = reading;
    return this.#problem(field, `GJSON at character ${position}: ${message}`);
  }

  #retain(): boolean {
    const field = this.#spelling("retain", "retainRun");
    const value = field === undefined ? undefined : this.#template[field];
    if (field !== undefined && typeof value !== "boolean") {
      this.#problem(field, "must be true or false");
    }
    return value === true;
  }
}

/** Whether a value counts as absent: Katib's own objects omit empty values when they are written. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return typeof value === "object" && !Array.isArray(value) && Object.keys(value).length === 0;
}
