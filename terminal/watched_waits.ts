/** Waits of the jobs on the screen that have not begun to run: read soon of new ones, and from time to time. */
import type { JobRow } from "../crds/wire/row.ts";
import type { Clock } from "../platform/base/clock.ts";
import { messageOf } from "../platform/kube/errors.ts";
import { boundedReads } from "../views/details/bounded_reads.ts";
import { mayWait, type Waits, waitsOfJobs, withWaits } from "../views/details/waits_of_jobs.ts";
import type { TerminalCluster } from "./terminal_cluster.ts";

/** Between two reads, and between two checks whether others are on the screen, in milliseconds. */
const READ_MS = 5_000;
const POLL_MS = 500;

/** Creates them; `onNews` is called after each read. */
export function createWatchedWaits(
  { client, kinds, namespaces }: Pick<TerminalCluster, "client" | "kinds" | "namespaces">,
  { clock, onNews }: { readonly clock: Clock; readonly onNews: () => void },
) {
  let waiting: readonly JobRow[] = [];
  let waits: Waits = new Map();
  let outage: string | undefined;
  return {
    /** Returns the rows with what their jobs wait for, as far as it is known; it is read of these, and no others. */
    look(rows: readonly JobRow[]): readonly JobRow[] {
      waiting = rows.filter(mayWait);
      return withWaits(rows, waits);
    },
    /** Why there is no news of them, if so. */
    outage: (): string | undefined => outage,
    /** Reads until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      let [read, nextMs] = ["", 0];
      while (!signal.aborted) {
        const jobs = waiting;
        const uids = jobs.map(({ uid }) => uid).sort().join();
        if (uids !== read || clock.monotonic() >= nextMs) {
          try {
            waits = await waitsOfJobs(boundedReads(client, signal), kinds, jobs, namespaces);
            outage = undefined;
          } catch (error) {
            outage = `what jobs wait for: ${messageOf(error)}`;
          }
          [read, nextMs] = [uids, clock.monotonic() + READ_MS];
          if (jobs.length > 0) onNews();
        }
        await clock.sleep(POLL_MS, signal);
      }
    },
  };
}
