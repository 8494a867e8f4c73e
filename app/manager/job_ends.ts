/** When TrainJobs end: by their conditions, or because they are gone. For streams that end with them. */
import { TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { isConditionTrue } from "../../kube/conditions.ts";
import type { Informer } from "../../kube/informer.ts";
import type { JobEnd } from "../../status/reading/status_stream.ts";
import type { ReadJob } from "../../status/reading/reading.ts";

/** Tells of ends. */
export interface JobEnds {
  /** Hears of the end of one job, at once where it is known to have ended; stops by the answer. */
  on(job: ReadJob, listener: (end: JobEnd) => void): () => void;
  /** Hears nothing of the cache any more. */
  close(): void;
}

/** How the job ended; undefined where it has not. */
export function endOf(job: TrainJob): JobEnd | undefined {
  const conditions = job.status?.conditions;
  if (isConditionTrue(conditions, TRAINJOB_CONDITIONS.failed)) return "Failed";
  return isConditionTrue(conditions, TRAINJOB_CONDITIONS.complete) ? "Complete" : undefined;
}

/** Creates {@link JobEnds} over the watched TrainJobs. */
export function createJobEnds(trainJobs: Pick<Informer<TrainJob>, "get" | "onChange">): JobEnds {
  /** By the UID of the job; never more keys than streams. */
  const listeners = new Map<string, Set<(end: JobEnd) => void>>();
  const close = trainJobs.onChange(({ type, object }) => {
    const waiting = listeners.get(object.metadata.uid ?? "");
    if (waiting === undefined) return;
    const end = type === "deleted" ? "Deleted" : endOf(object);
    if (end !== undefined) { for (const listener of [...waiting]) listener(end); }
  });
  return {
    close,
    on(job, listener) {
      const waiting = listeners.get(job.uid) ?? new Set();
      listeners.set(job.uid, waiting.add(listener));
      const object = trainJobs.get({ namespace: job.namespace, name: job.name });
      // A cache that is behind may hold another job of that name, or none: that says nothing.
      const end = object?.metadata.uid === job.uid ? endOf(object) : undefined;
      if (end !== undefined) listener(end);
      return () => {
        waiting.delete(listener);
        if (waiting.size === 0 && listeners.get(job.uid) === waiting) listeners.delete(job.uid);
      };
    },
  };
}
