/** Jobs of stopped Trials, read by their names: Katib gives them no label by which they could be listed. */
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { isForbidden, isNotFound } from "../../platform/kube/errors.ts";
import { keeping, readOne } from "../../views/details/bounded_reads.ts";
import { isStoppedEarly, type ReadTrial } from "./katib_trials.ts";
import type { SearchReader } from "./search_kind.ts";
import type { TrialStop } from "../../crds/wire/searches.ts";
import { stopOfJob } from "./trial_stop_words.ts";

/** Most jobs that are read for one answer, and how many at a time. */
const [MOST_READS, AT_ONCE] = [20, 5];
/** Most stops that are remembered, and for how long, in milliseconds: rights are asked for again every minute. */
const [MOST_KNOWN, KNOWN_MS] = [20_000, 60_000];

/** What a job says of its stop; empty if it is gone, or may not be read. */
interface KnownStop {
  readonly stop?: TrialStop;
}

/** Why jobs were stopped does not change. What a viewer may read is remembered only for that viewer. */
const known = createBoundedCache<KnownStop>(MOST_KNOWN, {
  ttl: KNOWN_MS,
  perf: { now: systemClock.monotonic },
});

async function stopOf(
  reader: SearchReader,
  { job: named }: ReadTrial,
): Promise<KnownStop | undefined> {
  const kind = named && reader.kinds.ofOwner(named);
  if (named === undefined || kind === undefined) return {};
  const stops = keeping(kind, (job) => ({ stop: stopOfJob(kind, job) }));
  try {
    const { stop } = await readOne(reader, stops, named);
    // The Trial is marked before its job is.
    return stop && { stop };
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return {};
    throw error;
  }
}

/**
 * Returns why Trials were stopped, by their UIDs: what their jobs say. Of many stopped Trials some are left for the
 * next time.
 */
export async function stopsOfTrials(
  reader: SearchReader,
  trials: readonly ReadTrial[],
): Promise<ReadonlyMap<string, TrialStop>> {
  const keyOf = ({ uid }: ReadTrial) => `${reader.viewer} ${uid}`;
  const stopped = trials.filter(isStoppedEarly);
  const unknown = stopped.filter((it) => known.get(keyOf(it)) === undefined).slice(-MOST_READS);
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let trial = unknown.pop(); trial !== undefined; trial = unknown.pop()) {
      const stop = await stopOf(reader, trial);
      if (stop !== undefined) known.set(keyOf(trial), stop);
    }
  }));
  return new Map(stopped.flatMap((trial) => {
    const stop = known.get(keyOf(trial))?.stop;
    return stop === undefined ? [] : [[trial.uid, stop] as const];
  }));
}
