/** Wiring of the observation API on this replica: reads go to the owner of the state. */
import { createAccess } from "../../katib/api/observation_access.ts";
import {
  type ObservationAnswer,
  type ObservationAsk,
  parseAnswer,
} from "../../katib/api/owner_requests.ts";
import { outcomeByTemplate } from "../../katib/api/observation_state.ts";
import { createObservationApi, type ObservationApi } from "../../katib/api/observation_api.ts";
import { type AnyJob, jobNow, type JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import type { LeaderLocator } from "../../kube/leadership.ts";
import { peerKey } from "../../http/limits/peer_key.ts";
import type { Peers } from "../../http/limits/peers.ts";
import type { StreamSlots } from "../../http/limits/stream_limits.ts";
import { createReservedBudget } from "../../http/limits/reserved_budget.ts";
import { createKeyedBuckets } from "../../http/limits/token_bucket.ts";
import { runEventLoop } from "../../http/event_stream.ts";
import { createJobFeeds } from "../../http/replicas/job_feeds.ts";
import type { ForwardClient } from "../../status/replicas/forward_client.ts";
import { createOwnerRouter } from "../../http/replicas/owner_router.ts";
import { createOwnerPoll } from "../../http/replicas/owner_poll.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import type { Caches } from "./caches.ts";
import type { FindJob } from "./status_endpoint.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";
import type { JobEnds } from "../../status/reading/job_ends.ts";
import type { Metrics } from "./metrics.ts";
import type { ObservationsHere } from "./observations_here.ts";

/** Dependencies of {@link serveObservations}. */
export interface ObservationServingOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly configuration: Pick<ManagerConfiguration, "tokenReviewQps">;
  readonly kinds: JobKinds;
  readonly caches: Pick<Caches, "byKind" | "trials">;
  readonly metrics: Metrics;
  /** Shared with pushes: failures here count there. */
  readonly peers: Peers;
  /** Shared with the streams of statuses. */
  readonly slots: StreamSlots;
  readonly ends: Pick<JobEnds, "on">;
  readonly findJob: FindJob;
  /** Locates the owner. */
  readonly leadership: LeaderLocator;
  readonly here: ObservationsHere;
  readonly forward: Pick<ForwardClient, "ask" | "readChanges">;
}

/** Observations that are served. */
export interface ObservationServing extends ObservationApi {
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Reads of one subject: a controller that polls a thousand trials every five seconds. */
const READS_PER_SUBJECT = { ratePerSecond: 200, burst: 1000 } as const;
/** Subjects remembered. */
const MAX_SUBJECTS = 10_000;
/** Part of the budget of SubjectAccessReviews that one reader may have. */
const READERS_SHARE = 0.5;

const limitsOf = (perSecond: number) => ({
  ratePerSecond: perSecond,
  burst: Math.max(1, perSecond),
});

/** Sends questions to the owner: in process, or by a call. */
function createAsk(options: ObservationServingOptions) {
  const { leadership: leader, here, forward, clock } = options;
  return createOwnerRouter<ObservationAsk, ObservationAnswer>({
    leader,
    acceptHere: here.answer,
    forward: async (target, ask, bounds) => ({
      acceptance: parseAnswer(await forward.ask(target, ask, bounds)),
    }),
    clock,
  });
}

/** Reports changes of the log at its owner, and of the job here. */
function createFollow(options: ObservationServingOptions) {
  const { caches, leadership: leader, here, forward, clock } = options;
  const poll = createOwnerPoll({
    leader,
    pollHere: here.poll,
    forward: forward.readChanges,
    clock,
  });
  const feeds = createJobFeeds({ poll, clock, select: ({ cursor }) => cursor });
  /** By the UID of the job; never more keys than streams. */
  const listeners = new Map<string, Set<() => void>>();
  const stops = [...caches.byKind.values()].map(({ jobs }) =>
    jobs.onChange(({ object }) => {
      for (const listener of listeners.get(object.metadata.uid ?? "") ?? []) listener();
    })
  );
  return {
    follow(job: JobRef, listener: () => void) {
      const own = listeners.get(job.uid) ?? new Set();
      listeners.set(job.uid, own.add(listener));
      const unfollow = feeds.follow(job, listener);
      return () => {
        unfollow();
        own.delete(listener);
        if (own.size === 0 && listeners.get(job.uid) === own) listeners.delete(job.uid);
      };
    },
    async close() {
      stops.forEach((stop) => stop());
      await feeds.close();
    },
  };
}

/** Returns the Trial that the job's controller reference names by its UID. */
function trialOf(trials: Pick<Caches["trials"], "get">, { metadata }: AnyJob) {
  const owner = trialReference(metadata);
  if (owner === undefined) return undefined;
  const trial = trials.get({ namespace: metadata.namespace ?? "", name: owner.name });
  return trial?.metadata.uid === owner.uid ? trial : undefined;
}

/** Serves observations; `handles` selects its requests. */
export function serveObservations(options: ObservationServingOptions): ObservationServing {
  const { client, clock, configuration, caches, metrics, peers } = options;
  const follow = createFollow(options);
  const reads = createKeyedBuckets(READS_PER_SUBJECT, MAX_SUBJECTS);
  const access = createAccess({
    client,
    clock,
    takeTokenReview: createReservedBudget(configuration.tokenReviewQps),
    takeAccessReview: createReservedBudget(configuration.tokenReviewQps),
    takeShare: createKeyedBuckets(
      limitsOf(configuration.tokenReviewQps * READERS_SHARE),
      MAX_SUBJECTS,
    ).take,
    onReview: (result) => metrics.tokenReviews.inc({ result }),
  });
  const api = createObservationApi({
    access,
    clock,
    peers: {
      waitMs: (address, nowMs) => peers.waitMs(peerKey(address), nowMs),
      isShunned: (address, nowMs) => peers.isShunned(peerKey(address), nowMs),
      failed: (address, nowMs, cost) => peers.failed(peerKey(address), nowMs, cost),
      proved: (address, nowMs) => peers.proved(peerKey(address), nowMs),
    },
    takeRead: reads.take,
    slots: options.slots,
    kinds: options.kinds,
    findJob: options.findJob,
    jobNow: (job) => jobNow(caches.byKind, job),
    outcomeOf: (kind, job) => outcomeByTemplate(kind, job, trialOf(caches.trials, job)?.spec),
    ask: createAsk(options),
    follow: follow.follow,
    onJobEnd: options.ends.on,
    runWatch: runEventLoop,
    onRead: (kind, result) => metrics.reads.inc({ kind, result }),
  });
  return {
    ...api,
    async close() {
      await Promise.all([follow.close(), access.close()]);
    },
  };
}
