/** Writes of the owner that wait: jobs that do not say yet what they shall, some at a time, again until they say it. */
import { getLogger } from "@logtape/logtape";
import type { JobRef } from "../crds/job_kind.ts";
import { backoffMs } from "../platform/base/backoff.ts";
import { createBoundedCache } from "../platform/base/bounded_cache.ts";
import type { Clock } from "../platform/base/clock.ts";
import { inParallel } from "../platform/base/parallel.ts";
import { isInvalid, messageOf } from "../platform/kube/errors.ts";

const log = getLogger(["milepost", "manager"]);

/** From one pass to the next, in milliseconds. */
const TICK_MS = 1_000;
/** Jobs that are written at a time, and of one pass. */
const WRITES = { limit: 8, most: 64 } as const;
/** Pauses of a job whose write failed: one that nobody can write does not slow the others. */
const RETRY = { firstMs: 2_000, longestMs: 30_000 } as const;
/** Jobs whose failures are counted. */
const MAX_FAILED = 100_000;

/** Options of {@link createFieldWrites}. */
export interface FieldWritesOptions<Item> {
  /** What is written, for the log. */
  readonly what: string;
  readonly clock: Pick<Clock, "sleep" | "monotonic">;
  readonly leading: () => boolean;
  /** Writes what a job shall say now. */
  readonly write: (item: Item, signal: AbortSignal) => Promise<void>;
  /** Whether a write that has failed is still of use. */
  readonly isWanted: (job: JobRef) => boolean;
  /** Whether a job may be written now. Default: each. */
  readonly isDue?: (uid: string) => boolean;
}

/** Creates the writes; there are none yet. Their bound is that of the jobs that are watched. */
export function createFieldWrites<Item extends { readonly job: JobRef }>(
  { what, clock, leading, write, isWanted, isDue = () => true }: FieldWritesOptions<Item>,
) {
  const unwritten = new Map<string, Item>();
  /** Those that wait for the others. */
  const later = new Map<string, Item>();
  const failed = createBoundedCache<{ times: number; dueMs: number }>(MAX_FAILED);
  const mayTry = (uid: string) => clock.monotonic() >= (failed.get(uid)?.dueMs ?? 0) && isDue(uid);

  function noteFailure(uid: string): void {
    const times = (failed.get(uid)?.times ?? 0) + 1;
    failed.set(uid, { times, dueMs: clock.monotonic() + backoffMs(times, RETRY, Math.random) });
  }

  /** Writes some of those that may be written. */
  async function writeSome(mayBe: typeof isDue, signal: AbortSignal): Promise<void> {
    const all = new Map([...unwritten, ...later]).values();
    const some = [...all.filter(({ job }) => mayBe(job.uid)).take(WRITES.most)];
    for (const { job } of some) [unwritten, later].forEach((it) => it.delete(job.uid));
    const attempt = async (item: Item) => {
      try {
        await write(item, signal);
        failed.delete(item.job.uid);
      } catch (error) {
        // What is refused as it stands is written again once the cache shows another job.
        if (isInvalid(error)) return log.debug(`${what}: refused`, { problem: messageOf(error) });
        const { job } = item;
        if (isWanted(job) && !unwritten.has(job.uid)) unwritten.set(job.uid, item);
        noteFailure(job.uid);
        throw error;
      }
    };
    const [error] = await inParallel(some, attempt, { limit: WRITES.limit, signal });
    if (error === undefined || signal.aborted) return;
    log.debug(`${what}: cannot be written; retrying`, { problem: messageOf(error) });
  }

  return {
    add: (item: Item): void => void unwritten.set(item.job.uid, item),
    /** Adds one that is written when there is room beside the others. */
    addLater: (item: Item): void => void later.set(item.job.uid, item),
    /** The job is gone. */
    drop: (uid: string): void => [unwritten, later, failed].forEach((it) => void it.delete(uid)),
    /** What the job shall say is not to be written at once any more. */
    defer: (uid: string): void => void unwritten.delete(uid),
    /** Writes what waits, once, within so many milliseconds. */
    async flush(ms: number): Promise<void> {
      if (unwritten.size > 0) await writeSome(() => true, AbortSignal.timeout(ms));
    },
    /** Writes what waits until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await clock.sleep(TICK_MS, signal);
        if (!signal.aborted && leading()) await writeSome(mayTry, signal);
      }
    },
  };
}
