/** Change notifications of observations: of the log at its owner, and of the job in the caches here. */
import type { AnyJob, JobKind, JobRef } from "../../crds/job_kind.ts";
import type { Follow } from "../../owner/owner_client.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { createKeyedListeners } from "../../platform/base/keyed_listeners.ts";

/** What has changed: the log, or the object of the job. */
export type Changed = "log" | "job";

/** Options of {@link createObservationChanges}. */
export interface ObservationChangesOptions {
  /** Follows the log at its owner. */
  readonly followLog: Follow<string>;
  /** The caches of jobs by their kind. */
  readonly jobs: ReadonlyMap<JobKind, { readonly jobs: Pick<Informer<AnyJob>, "onChange"> }>;
}

/** Notifies of changes. */
export interface ObservationChanges {
  /** Calls the listener when log or job change. Returns a function that stops this. */
  follow(job: JobRef, listener: (what: Changed) => void): () => void;
  /** Stops listening to the caches. */
  close(): void;
}

/** Creates {@link ObservationChanges}. */
export function createObservationChanges(options: ObservationChangesOptions): ObservationChanges {
  const listeners = createKeyedListeners();
  const stops = [...options.jobs.values()].map(({ jobs }) =>
    jobs.onChange(({ object }) => listeners.notify(object.metadata.uid ?? ""))
  );
  return {
    follow(job, listener) {
      const remove = listeners.add(job.uid, () => listener("job"));
      const unfollow = options.followLog(job, () => listener("log"));
      return () => {
        unfollow();
        remove();
      };
    },
    close: () => stops.forEach((stop) => stop()),
  };
}
