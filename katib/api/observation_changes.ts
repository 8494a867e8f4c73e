/** Change notifications of observations: of the log at its owner, and of the job in the caches here. */
import type { AnyJob, JobKind, JobRef } from "../../crds/job_kind.ts";
import { createJobFeeds } from "../../owner/job_feeds.ts";
import type { JobVersion, PollOwner } from "../../owner/owner_poll.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { createKeyedListeners } from "../../platform/base/keyed_listeners.ts";

/** Options of {@link createObservationChanges}. */
export interface ObservationChangesOptions {
  readonly poll: PollOwner<JobVersion>;
  readonly clock: Clock;
  /** The caches of jobs by their kind. */
  readonly jobs: ReadonlyMap<JobKind, { readonly jobs: Pick<Informer<AnyJob>, "onChange"> }>;
}

/** Notifies of changes. */
export interface ObservationChanges {
  /** Calls the listener when log or job change. Returns a function that stops this. */
  follow(job: JobRef, listener: () => void): () => void;
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Creates {@link ObservationChanges}; the owner is asked only while somebody follows. */
export function createObservationChanges(options: ObservationChangesOptions): ObservationChanges {
  const feeds = createJobFeeds({
    poll: options.poll,
    clock: options.clock,
    select: ({ cursor }: JobVersion) => cursor,
  });
  const listeners = createKeyedListeners();
  const stops = [...options.jobs.values()].map(({ jobs }) =>
    jobs.onChange(({ object }) => listeners.notify(object.metadata.uid ?? ""))
  );
  return {
    follow(job, listener) {
      const remove = listeners.add(job.uid, listener);
      const unfollow = feeds.follow(job, listener);
      return () => {
        unfollow();
        remove();
      };
    },
    async close() {
      stops.forEach((stop) => stop());
      await feeds.close();
    },
  };
}
