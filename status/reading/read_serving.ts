/** Serving of reads of jobs' statuses: each read goes to the owner, streams share feeds. */
import type { WatchedJobs } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createStreamSlots } from "../../platform/http/limits/stream_limits.ts";
import { createJobFeeds } from "../../owner/job_feeds.ts";
import type { Reading } from "../../owner/ledger/reading.ts";
import { statusAsks } from "../../owner/ledger/status_asks.ts";
import type { OwnerClient } from "../../owner/owner_client.ts";
import { createJobEnds } from "./job_ends.ts";
import type { ReadingParts } from "./read_stages.ts";

/** Options of {@link serveReads}. */
export interface ReadServingOptions {
  readonly kinds: JobKinds;
  /** The caches of jobs by their kind. */
  readonly jobs: WatchedJobs;
  readonly clock: Clock;
  /** Most streams, of all subjects and of one. */
  readonly maxStreams: { readonly total: number; readonly perSubject: number };
  /** Called with the number of open streams after each change. */
  readonly onOpenStreams: (open: number) => void;
  readonly owner: OwnerClient;
}

/** The served reads. */
export interface ReadServing extends ReadingParts {
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Serves reads. */
export function serveReads(options: ReadServingOptions): ReadServing {
  const { kinds, clock, owner } = options;
  const ends = createJobEnds(options.jobs);
  const feeds = createJobFeeds({
    poll: owner.changes.status,
    select: ({ status }: Reading) => status,
    clock,
  });
  return {
    read: owner.asks(statusAsks(kinds)),
    feeds,
    slots: createStreamSlots(options.maxStreams, options.onOpenStreams),
    onJobEnd: ends.on,
    async close() {
      ends.close();
      await feeds.close();
    },
  };
}
