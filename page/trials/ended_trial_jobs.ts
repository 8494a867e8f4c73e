/** Jobs of Trials that were stopped or failed, read by their names: Katib gives them no label by which they could be listed. */
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { ignoring, isAbsentOrForbidden } from "../../platform/kube/errors.ts";
import { keeping, readOne } from "../../views/details/bounded_reads.ts";
import { isStoppedEarly, type ReadTrial } from "./katib_trials.ts";
import type { SearchReader } from "./search.ts";
import { endOfJob, type JobEnd } from "./trial_stop_words.ts";

/** Most jobs that are read for one answer, and how many at a time. */
const [MOST_READS, AT_ONCE] = [20, 5];
/** Most ends that are remembered, and for how long, in milliseconds: rights are asked for again every minute. */
const [MOST_KNOWN, KNOWN_MS] = [20_000, 60_000];

/** Why jobs ended does not change. What a viewer may read is remembered only for that viewer. */
const known = createBoundedCache<JobEnd>(MOST_KNOWN, {
  ttl: KNOWN_MS,
  perf: { now: systemClock.monotonic },
});

/** Returns nothing of a job that is gone or may not be read, undefined if it says nothing yet. */
async function endOf(reader: SearchReader, trial: ReadTrial): Promise<JobEnd | undefined> {
  const { job: named } = trial;
  const kind = named && reader.kinds.ofOwner(named);
  if (named === undefined || kind === undefined) return {};
  const end = await readOne(reader, keeping(kind, (job) => endOfJob(kind, job)), named)
    .catch(ignoring(isAbsentOrForbidden));
  if (end === undefined) return {};
  // The Trial is marked before its job is.
  return isStoppedEarly(trial) && end.stop === undefined ? undefined : end;
}

/**
 * Returns why Trials were stopped or failed, by their UIDs: what their jobs say. Of many such Trials some are left for
 * the next time.
 */
export async function endsOfTrials(
  reader: SearchReader,
  trials: readonly ReadTrial[],
): Promise<ReadonlyMap<string, JobEnd>> {
  const keyOf = ({ uid }: ReadTrial) => `${reader.viewer} ${uid}`;
  const ended = trials.filter((it) => isStoppedEarly(it) || it.found.state === "Failed");
  const unknown = ended.filter((it) => known.get(keyOf(it)) === undefined).slice(-MOST_READS);
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let trial = unknown.pop(); trial !== undefined; trial = unknown.pop()) {
      const end = await endOf(reader, trial);
      if (end !== undefined) known.set(keyOf(trial), end);
    }
  }));
  return new Map(ended.flatMap((trial) => {
    const end = known.get(keyOf(trial));
    return end === undefined ? [] : [[trial.uid, end] as const];
  }));
}
