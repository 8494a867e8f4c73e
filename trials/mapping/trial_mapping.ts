/** What a trial template says of its job: which pod counts, which container trains, and how the job ends. */
import type { GjsonPath } from "../gjson/path.ts";

/** What a template is about: the kind decides the defaults, as Katib has it whatever the API group. */
export interface JobKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** A question to a job: met where the path leads to an object or to an array that is not empty. */
export interface JobTest {
  /** As GJSON, for messages; of KEP-1214's `succeededCondition` what it stands for. */
  readonly expression: string;
  readonly path: GjsonPath;
}

/** A template, KEP-1214's spelling or today's, read and found good. */
export interface TrialMapping {
  /** Every pair must be on the pod; absent: every pod of the trial is primary. */
  readonly primaryPodLabels?: Readonly<Record<string, string>>;
  /** The container that trains; absent: the template does not say. */
  readonly primaryContainerName?: string;
  readonly success: JobTest;
  /** Asked before {@link success}; absent: the job is never taken for failed. */
  readonly failure?: JobTest;
  /** Whether the job stays once the trial has ended. */
  readonly retain: boolean;
}

/** What is wrong with one field of a template, for people. */
export interface TemplateProblem {
  /** As in the template: `successCondition`, `primaryPodLabels.role`. Empty: the template as a whole. */
  readonly field: string;
  /** Of GJSON with the position, counted from 1 in characters. */
  readonly message: string;
}

export type MappingResult =
  | { readonly ok: true; readonly mapping: TrialMapping }
  | { readonly ok: false; readonly problems: readonly TemplateProblem[] };

/** How a job stands by its trial's template. */
export type JobOutcome =
  | {
    readonly state: "Succeeded" | "Failed";
    /** Of the object that met the condition, where it has them. */
    readonly reason?: string;
    readonly message?: string;
  }
  | { readonly state: "Undecided" }
  /** The condition is met by something that is no condition: as Katib, the trial is left as it is. */
  | { readonly problem: string };
