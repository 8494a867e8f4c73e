/** Serving of reads of jobs' statuses: each read goes to the owner, streams share feeds. */
import type { JobRef, WatchedJobs } from "../../crds/job_kind.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { LeaderLocator } from "../../platform/kube/leading/leadership.ts";
import type { ForwardClient } from "../../owner/replicas/forward_client.ts";
import { createOwnerRouter } from "../../platform/http/replicas/owner_router.ts";
import { createOwnerPoll, type PollOwner } from "../../owner/owner_poll.ts";
import type { ReadingParts } from "./read_stages.ts";
import type { JobStatus, Reading } from "../../owner/ledger/reading.ts";
import { createJobFeeds } from "../../owner/job_feeds.ts";
import { createStreamSlots } from "../../platform/http/limits/stream_limits.ts";
import { createJobEnds } from "./job_ends.ts";

/** Options of {@link serveReads}. */
export interface ReadServingOptions {
  /** The caches of jobs by their kind. */
  readonly jobs: WatchedJobs;
  readonly clock: Clock;
  /** Most streams, of all subjects and of one. */
  readonly maxStreams: { readonly total: number; readonly perSubject: number };
  /** Called with the number of open streams after each change. */
  readonly onOpenStreams: (open: number) => void;
  /** Reads this replica's own state. */
  readonly pollHere: PollOwner<Reading>;
  /** Locates the owner. */
  readonly leader: LeaderLocator;
  /** Reads the owner's state on another replica. */
  readonly forward: ForwardClient["read"];
}

/** The served reads. */
export interface ReadServing extends ReadingParts {
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

type OwnersAnswer = { readonly ok: true; readonly status?: JobStatus | undefined };

/** The answer to a read of one job. */
function answerOf(readings: readonly Reading[] | undefined): OwnersAnswer | undefined {
  return readings && { ok: true, status: readings[0]?.status };
}

/** Serves reads. */
export function serveReads(options: ReadServingOptions): ReadServing {
  const { clock, pollHere, leader, forward } = options;
  const ends = createJobEnds(options.jobs);
  const feeds = createJobFeeds({
    poll: createOwnerPoll({ leader, pollHere, forward, clock }),
    select: ({ status }: Reading) => status,
    clock,
  });
  const read = createOwnerRouter<JobRef, OwnersAnswer>({
    leader,
    acceptHere: async (job, signal) => answerOf(await pollHere([{ job }], 0, signal)),
    forward: async (target, job, bounds) => ({
      acceptance: answerOf(await forward(target, { entries: [{ job }], waitMs: 0 }, bounds)),
    }),
    clock,
  });
  return {
    read: async (job, signal) => await read(job, signal),
    feeds,
    slots: createStreamSlots(options.maxStreams, options.onOpenStreams),
    onJobEnd: ends.on,
    async close() {
      ends.close();
      await feeds.close();
    },
  };
}
