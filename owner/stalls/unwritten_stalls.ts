/** Jobs that do not say yet what they shall of their stalls, which are written a few at a time, and again where that failed. */
import { getLogger } from "@logtape/logtape";
import { backoffMs } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import { isInvalid, messageOf } from "../../platform/kube/errors.ts";
import type { WatchedRun } from "./watched_run.ts";

const log = getLogger(["milepost", "manager"]);

/** Interval of the passes, in milliseconds. */
const TICK_MS = 1_000;
/** Jobs that are written at a time, and of one pass. */
const WRITES = { limit: 8, most: 64 } as const;
/** Pauses after a pass of which a write failed. */
const RETRY = { firstMs: 1_000, longestMs: 30_000 } as const;

/** Creates the memory of such jobs. */
export function createUnwrittenStalls({ clock, leading, write, isKnown }: {
  readonly clock: Clock;
  readonly leading: () => boolean;
  readonly write: (run: WatchedRun, signal: AbortSignal) => Promise<void>;
  /** Whether there is still such a job. */
  readonly isKnown: (run: WatchedRun) => boolean;
}) {
  const unwritten = new Map<string, WatchedRun>();
  /** Jobs of which no more than their time is to be written: what the others say is awaited. */
  const later = new Map<string, WatchedRun>();

  /** Writes what jobs do not say yet. Resolves with the first error. */
  async function writeSome(signal: AbortSignal): Promise<unknown> {
    const some = [...new Map([...unwritten, ...later]).values()].slice(0, WRITES.most);
    for (const { job } of some) [unwritten, later].forEach((it) => it.delete(job.uid));
    const attempt = async (run: WatchedRun) => {
      try {
        await write(run, signal);
      } catch (error) {
        // What is refused as it stands is written again once the cache shows another job.
        if (isInvalid(error)) return log.debug("a stall is refused", { problem: messageOf(error) });
        if (isKnown(run)) unwritten.set(run.job.uid, run);
        throw error;
      }
    };
    const [error] = await inParallel(some, attempt, { limit: WRITES.limit, signal });
    return error;
  }

  return {
    add: (run: WatchedRun): void => void unwritten.set(run.job.uid, run),
    addLater: (run: WatchedRun): void => void later.set(run.job.uid, run),
    /** What is said of a stall is not to be written any more. */
    delete: (uid: string): void => void unwritten.delete(uid),
    /** There is no such job any more. */
    deleteLater: (uid: string): void => void later.delete(uid),
    /** Writes until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      for (let failures = 0; !signal.aborted;) {
        await clock.sleep(TICK_MS + backoffMs(failures, RETRY, Math.random), signal);
        if (signal.aborted || !leading()) continue;
        const error = await writeSome(signal);
        failures = error === undefined ? 0 : failures + 1;
        if (error === undefined || signal.aborted) continue;
        log.debug("cannot write the stalls of jobs; retrying", { problem: messageOf(error) });
      }
    },
  };
}
