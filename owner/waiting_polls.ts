/** Polls that wait at the owner, for one term, until the state of a job changes. */
import type { JobRef } from "../crds/job_kind.ts";
import { onAbort } from "../platform/base/aborted.ts";
import type { Clock } from "../platform/base/clock.ts";
import { createKeyedListeners } from "../platform/base/keyed_listeners.ts";
import { createSleeper } from "../platform/base/sleeper.ts";
import type { JobVersion, PollEntry } from "./owner_poll.ts";

/** Creates polls, which resolve at once or when something changes. */
export function createWaitingPolls<State extends JobVersion>(
  { read, clock }: {
    /** Returns the present state of a job; undefined if it is that of the cursor. */
    readonly read: (job: JobRef, cursor: string | undefined) => State | undefined;
    readonly clock: Clock;
  },
) {
  /** Waiting polls by the UID of their job. */
  const waiting = createKeyedListeners();
  const closed = new AbortController();

  const changed = (entries: readonly PollEntry[]): State[] =>
    entries.flatMap(({ job, cursor }) => read(job, cursor) ?? []);

  return {
    /** Records that the state of the job of that UID has changed. */
    changed: (uid: string) => waiting.notify(uid),
    /**
     * Returns the jobs whose state is not that of their cursor; if there are none, waits for up to `waitMs`
     * milliseconds until there are. Returns what there is when `signal` aborts, or the term ends. Never
     * throws.
     */
    async poll(
      entries: readonly PollEntry[],
      waitMs: number,
      signal: AbortSignal,
    ): Promise<readonly State[]> {
      const now = changed(entries);
      if (now.length > 0 || waitMs <= 0 || signal.aborted || closed.signal.aborted) return now;
      const { wake, sleep } = createSleeper(clock);
      const removals = entries.map(({ job }) => waiting.add(job.uid, wake));
      removals.push(onAbort(closed.signal, wake));
      await sleep(waitMs, signal);
      for (const remove of removals) remove();
      return changed(entries);
    },
    /** Ends the term: polls that wait resolve, and later ones do not wait. */
    close: () => closed.abort(),
  };
}
