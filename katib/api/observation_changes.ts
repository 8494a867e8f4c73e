/** Change notifications of observations: of the log at its owner, and of the job in the caches here. */
import type { AnyJob, JobKind, JobRef } from "../../crds/job_kind.ts";
import { createJobFeeds } from "../../http/replicas/job_feeds.ts";
import {
  createOwnerPoll,
  type JobVersion,
  type OwnerPollOptions,
} from "../../http/replicas/owner_poll.ts";
import type { Informer } from "../../kube/informer.ts";

/** Options of {@link createObservationChanges}. */
export interface ObservationChangesOptions extends OwnerPollOptions<JobVersion> {
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
    poll: createOwnerPoll(options),
    clock: options.clock,
    select: ({ cursor }: JobVersion) => cursor,
  });
  /** By the UID of the job; never more keys than streams. */
  const listeners = new Map<string, Set<() => void>>();
  const stops = [...options.jobs.values()].map(({ jobs }) =>
    jobs.onChange(({ object }) => {
      for (const listener of listeners.get(object.metadata.uid ?? "") ?? []) listener();
    })
  );
  return {
    follow(job, listener) {
      const own = listeners.get(job.uid) ?? new Set();
      listeners.set(job.uid, own.add(listener));
      const unfollow = feeds.follow(job, listener);
      return () => {
        unfollow();
        own.delete(listener);
        if (own.size === 0 && listeners.get(job.uid) === own) listeners.delete(job.uid);
      };
    },
    async close() {
      stops.forEach((stop) => stop());
      await feeds.close();
    },
  };
}
