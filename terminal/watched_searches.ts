/** Searches that run, as they were listed last: read again from time to time. */
import { isOpenState } from "../crds/names.ts";
import type { SearchRow } from "../crds/wire/searches.ts";
import type { Backoff } from "../platform/base/backoff.ts";
import type { Clock } from "../platform/base/clock.ts";
import { repeat, type RepeatOptions } from "../platform/base/repeat.ts";
import { createSleeper } from "../platform/base/sleeper.ts";
import { messageOf } from "../platform/kube/errors.ts";
import type { TerminalCluster } from "./terminal_cluster.ts";

/** Between two reads, in milliseconds. */
const READ_MS = 5_000;
const BACKOFF: Backoff = { firstMs: 5_000, longestMs: 60_000 };

/** Creates them; `onNews` is called after each read. */
export function createWatchedSearches(
  { searches }: Pick<TerminalCluster, "searches">,
  { clock, onNews }: { readonly clock: Clock; readonly onNews: () => void },
) {
  let running: readonly SearchRow[] = [];
  let outage: string | undefined;

  const loop: RepeatOptions = {
    async pass(signal) {
      const { searches: all } = await searches.list(signal);
      running = all.filter(({ state }) => state !== undefined && isOpenState(state));
      outage = undefined;
      onNews();
      return READ_MS;
    },
    onFailure(error) {
      outage = `searches: ${messageOf(error)}`;
      onNews();
    },
    clock,
    sleeper: createSleeper(clock),
    backoff: BACKOFF,
  };

  return {
    /** The newest first. */
    running: () => running,
    /** Why there is no news of them, if so. */
    outage: (): string | undefined => outage,
    /** Reads until `signal` aborts. */
    run: (signal: AbortSignal): Promise<void> => repeat(loop, signal),
  };
}
