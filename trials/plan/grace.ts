/** Grace period of early stopping, from annotations. Pure. */
import { readGrace } from "../../crds/early_stopping.ts";
import { type AnyJob, type JobKind, jobRefOf } from "../../crds/job_kind.ts";
import { ANNOTATIONS, EVENT_REASONS } from "../../crds/names.ts";
import type { Trial } from "../../crds/trial.ts";
import { aboutJob, aboutTrial, type Notice } from "./notice.ts";

/**
 * Returns the grace period by the annotation of the TrainJob, else of its Trial, in milliseconds; undefined without
 * one. An invalid annotation brings a warning and no grace: the job is stopped at once.
 */
export function graceOf(
  kind: JobKind,
  job: AnyJob,
  trial: Trial | undefined,
): { readonly ms?: number; readonly notices: readonly Notice[] } {
  const key = ANNOTATIONS.earlyStoppingGrace;
  const own = job.metadata.annotations?.[key];
  const text = own ?? trial?.metadata.annotations?.[key];
  if (text === undefined) return { notices: [] };
  const read = readGrace(text);
  if (read.ok) return { ms: read.value, notices: [] };
  const about = own === undefined && trial !== undefined
    ? aboutTrial(trial)
    : aboutJob(jobRefOf(kind, job));
  const why = read.problems.map((it) => it.message).join("; ");
  const message = `ignored annotation ${key}: ${why}; the job will be stopped without grace`;
  return { ms: 0, notices: [{ about, reason: EVENT_REASONS.ruleInvalid, message }] };
}
