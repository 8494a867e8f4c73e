/** What people are to be told about a trial, as events. */
import { KATIB } from "../../crds/katib_names.ts";
import { TRAINER_API_VERSION } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Trial } from "../../crds/trial.ts";
import type { EventSubject } from "../../kube/events.ts";

/** A warning about one object. */
export interface Notice {
  readonly about: EventSubject;
  /** Of `EVENT_REASONS`. */
  readonly reason: string;
  readonly message: string;
}

/** The Trial, as an event names it. */
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

/** The TrainJob, as an event names it. */
export function aboutJob({ metadata }: Pick<TrainJob, "metadata">): EventSubject {
  const { namespace, name = "", uid } = metadata;
  return {
    apiVersion: TRAINER_API_VERSION,
    kind: "TrainJob",
    name,
    ...(namespace && { namespace }),
    ...(uid && { uid }),
  };
}
