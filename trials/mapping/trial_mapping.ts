/** Types of trial templates: the primary pod and container of a job, and the tests of its end. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { KatibDefaults } from "../../crds/job_kind.ts";
import type { GjsonPath } from "../gjson/path.ts";

/** The kind of job that a template is about. */
export interface TemplateKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** Defaults of the kind. Absent: those that Katib has for the name of the kind, whatever the group. */
  readonly katib?: KatibDefaults;
}

/** A test of a job: met if the path leads to an object or to an array that is not empty. */
export interface JobTest {
  /** The GJSON text, for messages; for KEP-1214's `succeededCondition` its equivalent. */
  readonly expression: string;
  readonly path: GjsonPath;
}

/** A valid template of either spelling. */
export interface TrialMapping {
  /** A primary pod has all of them; every pod of the trial is primary if absent. */
  readonly primaryPodLabels?: Readonly<Record<string, string>>;
  /** The container that trains; absent if the template does not name it. */
  readonly primaryContainerName?: string;
  readonly success: JobTest;
  /** Tested before {@link success}; the job never counts as failed if absent. */
  readonly failure?: JobTest;
  /** Whether the job is kept after the trial has ended. */
  readonly retain: boolean;
}

/**
 * A parsed template, or all its problems. Their fields are paths in the template, such as
 * `primaryPodLabels.role`; a problem of GJSON names the position, counted in characters from 1.
 */
export type MappingResult =
  | { readonly ok: true; readonly mapping: TrialMapping }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** The outcome of a job by its trial's template. */
export type JobOutcome =
  | {
    readonly state: "Succeeded" | "Failed";
    /** From the object that met the condition, if it has them. */
    readonly reason?: string;
    readonly message?: string;
  }
  | { readonly state: "Undecided" }
  /** The condition is met by a value that is not a condition; the trial stays as it is, as in Katib. */
  | { readonly problem: string };
