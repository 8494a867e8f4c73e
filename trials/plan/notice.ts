/** Warnings about trials and jobs, as events. */
import type { JobRef } from "../../crds/job_kind.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Trial } from "../../crds/trial.ts";
import { type EventSubject, subjectOf } from "../../platform/kube/event_object.ts";
import type { LogKey } from "../recording/observation_row.ts";

/** A warning about one object. */
export interface Notice {
  readonly about: EventSubject;
  /** One of `EVENT_REASONS`. */
  readonly reason: string;
  readonly message: string;
}

/** Returns the Trial as the subject of an event. */
export function aboutTrial(trial: Pick<Trial, "metadata">): EventSubject {
  return subjectOf(KINDS.trial, trial);
}

/** The job, as an event names it. */
export function aboutJob({ kind, ...metadata }: JobRef): EventSubject {
  return subjectOf(kind, { metadata });
}

/** Returns the Trial of a log, or the job of one without, as the subject of an event. */
export function aboutLog(key: LogKey, job: JobRef): EventSubject {
  return key.kind === "trial" ? aboutTrial({ metadata: key }) : aboutJob(job);
}
