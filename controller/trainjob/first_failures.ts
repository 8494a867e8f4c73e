/** First failure of a pod of each TrainJob's present attempt, fed by the pod cache. */
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { fullHeadlineOf } from "../../crds/failure_headline.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Observer } from "../../platform/kube/sources.ts";
import { trainJobKeyOf } from "./running_pods.ts";

/** TrainJobs of which a failure is remembered. The pods may be gone when their job fails. */
const REMEMBERED = 4096;

/** The first failures, by TrainJob. */
export interface FirstFailures extends Observer<WatchedPod> {
  /** Returns the failure in words, if it is one of the JobSet of that UID. */
  of(trainJobKey: string, jobSetUid: string | undefined): string | undefined;
  /** Forgets the failure of a run that was suspended. */
  forget(trainJobKey: string): void;
}

/** A failure, and the attempt of a JobSet that it belongs to. */
interface Entry {
  readonly jobSetUid: string | undefined;
  readonly attempt: number;
  readonly at: string;
  readonly text: string;
}

function entryOf({ metadata, failure }: WatchedPod): Entry | undefined {
  if (failure === undefined) return undefined;
  const { [JOBSET_KEYS.jobSetUid]: jobSetUid, [JOBSET_KEYS.restartAttempt]: attempt } =
    metadata?.labels ?? {};
  const { time: at } = failure.failure;
  return { jobSetUid, attempt: Number(attempt ?? 0), at, text: fullHeadlineOf(failure.failure) };
}

/** Whether an entry is of a later attempt than the known one, or happened before it in the same. */
function replaces(next: Entry, known: Entry | undefined): boolean {
  if (known === undefined || known.jobSetUid !== next.jobSetUid) return true;
  return next.attempt === known.attempt ? next.at < known.at : next.attempt > known.attempt;
}

/** An empty memory. */
export function createFirstFailures(): FirstFailures {
  const known = createBoundedCache<Entry>(REMEMBERED);
  return {
    seen({ type, object }) {
      const key = trainJobKeyOf(object);
      const entry = entryOf(object);
      if (key === undefined || entry === undefined || type === "deleted") return;
      if (replaces(entry, known.get(key))) known.set(key, entry);
    },
    of(key, wanted) {
      const entry = known.get(key);
      return (entry?.jobSetUid ?? wanted) === wanted ? entry?.text : undefined;
    },
    forget: (key) => void known.delete(key),
  };
}
