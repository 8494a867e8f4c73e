/** Warnings about trials and jobs, as events. */
import type { JobRef } from "../../crds/job_kind.ts";
import { KATIB } from "../../crds/katib_names.ts";
import type { Trial } from "../../crds/trial.ts";
import type { EventSubject } from "../../platform/kube/events.ts";

/** A warning about one object. */
export interface Notice {
  readonly about: EventSubject;
  /** One of `EVENT_REASONS`. */
  readonly reason: string;
  readonly message: string;
}

/** Returns the Trial as the subject of an event. */
export function aboutTrial({ metadata }: Pick<Trial, "metadata">): EventSubject {
  const { namespace, name = "", uid } = metadata;
  return {
    apiVersion: KATIB.apiVersion,
    kind: KATIB.trialKind,
    name,
    ...(namespace && { namespace }),
    ...(uid && { uid }),
  };
}

/** The job, as an event names it. */
export function aboutJob({ kind, namespace, name, uid }: JobRef): EventSubject {
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    name,
    ...(namespace && { namespace }),
    ...(uid && { uid }),
  };
}
