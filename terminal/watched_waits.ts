/** Waits of the jobs on the screen that have not begun to run: read soon of new ones, and from time to time. */
import type { JobRow } from "../crds/wire/row.ts";
import type { Backoff } from "../platform/base/backoff.ts";
import type { Clock } from "../platform/base/clock.ts";
import { repeat, type RepeatOptions } from "../platform/base/repeat.ts";
import { createSleeper } from "../platform/base/sleeper.ts";
import { messageOf } from "../platform/kube/errors.ts";
import { boundedReads } from "../views/details/bounded_reads.ts";
import { mayWait, type Waits, waitsOfJobs, withWaits } from "../views/details/waits_of_jobs.ts";
import type { TerminalCluster } from "./terminal_cluster.ts";

/** Between two reads, and before one of others that have come on the screen, in milliseconds. */
const [READ_MS, SETTLE_MS] = [5_000, 500];
const BACKOFF: Backoff = { firstMs: 2_000, longestMs: 10_000 };

/** Creates them; `onNews` is called after each read. */
export function createWatchedWaits(
  { client, kinds, namespaces }: Pick<TerminalCluster, "client" | "kinds" | "namespaces">,
  { clock, onNews }: { readonly clock: Clock; readonly onNews: () => void },
) {
  const sleeper = createSleeper(clock);
  let waiting: readonly JobRow[] = [];
  let waits: Waits = new Map();
  let outage: string | undefined;

  const loop: RepeatOptions = {
    async pass(signal) {
      const jobs = waiting;
      waits = await waitsOfJobs(boundedReads(client, signal), kinds, jobs, namespaces);
      outage = undefined;
      if (jobs.length > 0) onNews();
      return READ_MS;
    },
    onFailure(error) {
      outage = `what jobs wait for: ${messageOf(error)}`;
      onNews();
    },
    clock,
    sleeper,
    settleMs: SETTLE_MS,
    backoff: BACKOFF,
  };

  return {
    /** Returns the rows with what their jobs wait for, as far as it is known; it is read of these, and no others. */
    look(rows: readonly JobRow[]): readonly JobRow[] {
      const before = new Set(waiting.map(({ uid }) => uid));
      waiting = rows.filter(mayWait);
      if (waiting.some(({ uid }) => !before.has(uid))) sleeper.wake();
      return withWaits(rows, waits);
    },
    /** Why there is no news of them, if so. */
    outage: (): string | undefined => waiting.length === 0 ? undefined : outage,
    /** Reads until `signal` aborts. */
    run: (signal: AbortSignal): Promise<void> => repeat(loop, signal),
  };
}
