/** Reads of jobs' status on this replica, wherever the owner of all state is. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { Clock } from "../../kube/clock.ts";
import type { LeaderLocator } from "../../kube/leadership.ts";
import type { ForwardClient } from "../../status/replicas/forward_client.ts";
import { createOwnerRouter } from "../../http/replicas/owner_router.ts";
import { createOwnerPoll } from "../../status/replicas/owner_poll.ts";
import type { ReadingParts } from "../../status/reading/read_stages.ts";
import type { JobStatus, Reading } from "../../status/reading/reading.ts";
import { createStatusFeeds } from "../../status/reading/status_feeds.ts";
import { createStreamPlaces } from "../../http/limits/stream_limits.ts";
import type { Caches } from "./caches.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";
import { createJobEnds, type JobEnds } from "../../status/reading/job_ends.ts";
import type { Metrics } from "./metrics.ts";
import type { OwnedState } from "../../status/ledger/owned_state.ts";

/** What it works with. */
export interface ReadServingOptions {
  readonly configuration: Pick<ManagerConfiguration, "maxStreams" | "maxStreamsPerSubject">;
  readonly caches: Pick<Caches, "byKind">;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly owned: Pick<OwnedState, "poll">;
  /** Locates the owner. */
  readonly leadership: LeaderLocator;
  readonly forward: ForwardClient["read"];
}

/** Reads that are served. */
export interface ReadServing extends ReadingParts {
  /** When jobs end. */
  readonly ends: Pick<JobEnds, "on">;
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

type OwnersAnswer = { readonly ok: true; readonly status?: JobStatus | undefined };

/** The one reading that was asked for. */
function answerOf(readings: readonly Reading[] | undefined): OwnersAnswer | undefined {
  return readings && { ok: true, status: readings[0]?.status };
}

/** Serves reads: each for itself, and streams by feeds that they share. */
export function serveReads(options: ReadServingOptions): ReadServing {
  const { configuration, caches, clock, metrics, owned, leadership: leader } = options;
  const forward = options.forward;
  const ends = createJobEnds(caches.byKind);
  const feeds = createStatusFeeds({
    poll: createOwnerPoll({ leader, pollHere: owned.poll, forward, clock }),
    clock,
  });
  const read = createOwnerRouter<JobRef, OwnersAnswer>({
    leader,
    acceptHere: async (job, signal) => answerOf(await owned.poll([{ job }], 0, signal)),
    forward: async (target, job, bounds) => ({
      acceptance: answerOf(await forward(target, { entries: [{ job }], waitMs: 0 }, bounds)),
    }),
    clock,
  });
  return {
    read: async (job, signal) => await read(job, signal),
    feeds,
    places: createStreamPlaces(
      { total: configuration.maxStreams, perSubject: configuration.maxStreamsPerSubject },
      (open) => metrics.openStreams.set(open),
    ),
    ends,
    onJobEnd: ends.on,
    async close() {
      ends.close();
      await feeds.close();
    },
  };
}
