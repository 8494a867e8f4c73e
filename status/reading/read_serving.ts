/** Serving of reads of jobs' statuses: each read goes to the owner, streams follow it. */
import type { WatchedJobs } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { createStreamSlots } from "../../platform/http/limits/stream_limits.ts";
import { statusAsks } from "../../owner/ledger/status_asks.ts";
import type { OwnerClient } from "../../owner/owner_client.ts";
import { createJobEnds } from "./job_ends.ts";

/** Options of {@link serveReads}. */
export interface ReadServingOptions {
  readonly kinds: JobKinds;
  /** The caches of jobs by their kind. */
  readonly jobs: WatchedJobs;
  /** Most streams, of all subjects and of one. */
  readonly maxStreams: { readonly total: number; readonly perSubject: number };
  /** Called with the number of open streams after each change. */
  readonly onOpenStreams: (open: number) => void;
  readonly owner: OwnerClient;
}

/** Serves reads. */
export function serveReads(options: ReadServingOptions) {
  const { kinds, owner } = options;
  const ends = createJobEnds(options.jobs);
  return {
    read: owner.asks(statusAsks(kinds)),
    follow: owner.follow.status,
    slots: createStreamSlots(options.maxStreams, options.onOpenStreams),
    onJobEnd: ends.on,
    /** Stops listening to the caches. */
    close: ends.close,
  };
}
