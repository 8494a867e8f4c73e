/** Job end notifications, for streams that end with their job. */
import { jobNow, type JobRef, type WatchedJobs } from "../../crds/job_kind.ts";
import { endOf } from "../../crds/job_state.ts";
import { createKeyedListeners } from "../../platform/base/keyed_listeners.ts";
import type { JobEnd } from "./status_stream.ts";

/** Creates what notifies of ends, over the watched jobs. */
export function createJobEnds(watched: WatchedJobs) {
  const listeners = createKeyedListeners<JobEnd>();
  const stops = [...watched].map(([kind, { jobs }]) =>
    jobs.onChange(({ type, object }) => {
      const { uid } = object.metadata;
      if (uid === undefined || !listeners.has(uid)) return;
      const end = type === "deleted" ? "Deleted" : endOf(kind, object);
      if (end !== undefined) listeners.notify(uid, end);
    })
  );
  return {
    /** Stops listening to the caches. */
    close: (): void => stops.forEach((stop) => stop()),
    /**
     * Calls the listener when the job ends, at once if it is known to have ended. Returns a function that
     * ends this.
     */
    on(job: JobRef, listener: (end: JobEnd) => void): () => void {
      const remove = listeners.add(job.uid, listener);
      // A cache that is behind may hold another job of that name, or none: that says nothing.
      const object = jobNow(watched, job);
      const end = object && endOf(job.kind, object);
      if (end !== undefined) listener(end);
      return remove;
    },
  };
}
