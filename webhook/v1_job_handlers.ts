/** Admission of v1 jobs: the defaults that are stored, validation by rules that are handed in and of annotations. */
import type { FieldProblem } from "../crds/field_problem.ts";
import { ANNOTATIONS } from "../crds/names.ts";
import type { V1Job } from "../crds/v1/job.ts";
import { V1_KIND_LIST, type V1Kind } from "../crds/v1/kinds.ts";
import { V1_JOB_KINDS } from "../crds/v1/v1_job_kinds.ts";
import { V1_RESOURCES } from "../crds/v1/v1_resources.ts";
import type { AdmissionHandlers } from "./admission_http.ts";
import type { AdmissionHandler } from "./admission_review.ts";
import { jsonPatch } from "./json_diff.ts";
import { ALLOWED, type ObjectHandler, ofObjects, outcomeOf } from "./reviewed_objects.ts";
import { annotationWarnings, trialAnnotationProblems, withCompared } from "./trial_annotations.ts";
import { v1WebhookPaths } from "./webhook_paths.ts";

/** Rules for v1 jobs. */
export interface V1JobRules {
  /** Returns every problem of a job; for an update, with `old`, only those that it did not have before. */
  problems(kind: V1Kind, job: V1Job, old?: V1Job): readonly FieldProblem[];
  /** Returns the warnings that the user of a job is shown. */
  warnings(kind: V1Kind, job: V1Job): readonly string[];
}

/** The run policy of a job that has none: clients of the SDK cannot read a job without it. */
const DEFAULT_RUN_POLICY = { suspend: false };

/** An object that is not a job of the kind passes unchanged: the schema's check comes after defaulting. */
function defaultingHandler(kind: V1Kind): AdmissionHandler {
  const handle: ObjectHandler<V1Job> = (object, old, { request }) => {
    const { runPolicy = DEFAULT_RUN_POLICY } = object.spec;
    const metadata = withCompared(object, old);
    const patched = { ...object, metadata, spec: { ...object.spec, runPolicy } };
    return { allowed: true, patch: jsonPatch(request.object, patched) };
  };
  return ofObjects(V1_RESOURCES[kind.kind].schema, handle, () => ALLOWED);
}

/** Reports whether a job may have run: it is not suspended, shows progress, or its status counts pods. */
function mayHaveRun({ metadata, spec, status }: V1Job): boolean {
  if (spec.runPolicy?.suspend !== true) return true;
  if (status?.trainerStatus !== undefined) return true;
  if (metadata.annotations?.[ANNOTATIONS.trainerStatus] !== undefined) return true;
  return Object.values(status?.replicaStatuses ?? {}).some((
    { active = 0, succeeded = 0, failed = 0 },
  ) => active + succeeded + failed > 0);
}

function validatingHandler(kind: V1Kind, rules: V1JobRules): AdmissionHandler {
  const ofKind = V1_JOB_KINDS.find((it) => it.kind === kind.kind);
  return ofObjects(V1_RESOURCES[kind.kind].schema, (object, old) =>
    outcomeOf({
      problems: [
        ...rules.problems(kind, object, old),
        ...trialAnnotationProblems(object, old, mayHaveRun),
      ],
      warnings: [
        ...rules.warnings(kind, object),
        ...annotationWarnings(object, old, ofKind?.foreignController?.(object)),
      ],
    }));
}

/** Returns the handlers of all v1 kinds, by path. */
export function createV1JobHandlers(rules: V1JobRules): AdmissionHandlers {
  return Object.fromEntries(V1_KIND_LIST.flatMap((kind) => {
    const paths = v1WebhookPaths(kind);
    return [
      [paths.mutate, defaultingHandler(kind)],
      [paths.validate, validatingHandler(kind, rules)],
    ];
  }));
}
