/** Warnings about Trials and TrainJobs, for events. */
import { KATIB } from "../../crds/katib_names.ts";
import { TRAINER_API_VERSION } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Trial } from "../../crds/trial.ts";
import type { EventSubject } from "../../kube/events.ts";

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

/** Returns the TrainJob as the subject of an event. */
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
