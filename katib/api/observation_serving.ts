/** Serving of observations: reads and streams go to the owner of the state. */
import { type AnyJob, type JobKind, jobNow } from "../../crds/job_kind.ts";
import { createKeyedBuckets } from "../../platform/base/token_bucket.ts";
import type { Api } from "../../platform/http/api_shell.ts";
import { createOwnerRouter } from "../../platform/http/replicas/owner_router.ts";
import type { CallBounds } from "../../platform/http/replicas/calls.ts";
import type { JobVersion, OwnerPollOptions } from "../../owner/owner_poll.ts";
import type { ForwardTarget } from "../../platform/http/replicas/terms.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { LeaderLocator } from "../../platform/kube/leading/leadership.ts";
import { cachedTrial } from "../trials/cached_trial.ts";
import type { TrialCache } from "../trials/plan_cache.ts";
import type { ReaderParts } from "../../platform/http/callers/reader_checks.ts";
import type { OwnedState } from "../../owner/owned_state.ts";
import { type ObservationAsk, observationAsks } from "./owner_requests.ts";
import { type StopAsk, stopAsks } from "./owner_stops.ts";
import { outcomeByTemplate } from "./observation_state.ts";
import { createObservationApi, type ObservationApiOptions } from "./observation_api.ts";
import { createObservationChanges } from "./observation_changes.ts";

/** Calls to the owner on another replica. Neither throws; undefined if there was no answer. */
export interface ForwardedObservations {
  ask(target: ForwardTarget, ask: ObservationAsk, bounds: CallBounds): Promise<object | undefined>;
  stop(target: ForwardTarget, ask: StopAsk, bounds: CallBounds): Promise<object | undefined>;
  readonly readChanges: OwnerPollOptions<JobVersion>["forward"];
}

/** Options of {@link serveObservations}. */
export interface ObservationServingOptions
  extends
    Pick<ObservationApiOptions, "kinds" | "clock" | "slots" | "findJob" | "onJobEnd">,
    Required<Pick<ObservationApiOptions, "onRead" | "onStop">> {
  /** The checks of readers. */
  readonly readers: ReaderParts;
  /** The caches of jobs by their kind. */
  readonly jobs: ReadonlyMap<
    JobKind,
    { readonly jobs: Pick<Informer<AnyJob>, "get" | "onChange"> }
  >;
  readonly trials: Pick<TrialCache, "get">;
  /** Locates the owner. */
  readonly leader: LeaderLocator;
  readonly owned: Pick<OwnedState, "ask" | "changes">;
  readonly forward: ForwardedObservations;
}

/** Observations that are served. */
export interface ObservationServing extends Api {
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Requests of one subject to stop jobs: a controller that ends a rung of a thousand trials. */
const STOPS_PER_SUBJECT = { ratePerSecond: 20, burst: 200 } as const;
/** Subjects remembered. */
const MAX_SUBJECTS = 10_000;

/** Sends questions to the owner: in process, or by a call. */
function createAsk({ kinds, leader, owned, forward, clock }: ObservationServingOptions) {
  const kind = observationAsks(kinds);
  return createOwnerRouter({
    leader,
    acceptHere: (ask: ObservationAsk, signal) => owned.ask(kind, ask, signal),
    forward: async (target, ask, bounds) => ({
      acceptance: kind.readAnswer(await forward.ask(target, ask, bounds)),
    }),
    clock,
  });
}

/** Sends requests to stop jobs to the owner: in process, or by a call. */
function createStop({ kinds, leader, owned, forward, clock }: ObservationServingOptions) {
  const kind = stopAsks(kinds);
  return createOwnerRouter({
    leader,
    acceptHere: (ask: StopAsk, signal) => owned.ask(kind, ask, signal),
    forward: async (target, ask, bounds) => ({
      acceptance: kind.readAnswer(await forward.stop(target, ask, bounds)),
    }),
    clock,
  });
}

/** Serves observations; `handles` selects its requests. */
export function serveObservations(options: ObservationServingOptions): ObservationServing {
  const { readers, jobs, trials, leader, owned, forward, clock } = options;
  const changes = createObservationChanges({
    jobs,
    leader,
    pollHere: owned.changes.observation,
    forward: forward.readChanges,
    clock,
  });
  const api = createObservationApi({
    ...readers,
    kinds: options.kinds,
    clock,
    slots: options.slots,
    findJob: options.findJob,
    onJobEnd: options.onJobEnd,
    onRead: options.onRead,
    jobNow: (job) => jobNow(jobs, job),
    outcomeOf: (kind, job) => outcomeByTemplate(kind, job, cachedTrial(trials, job)?.spec),
    ask: createAsk(options),
    stop: createStop(options),
    takeStop: createKeyedBuckets(STOPS_PER_SUBJECT, MAX_SUBJECTS).take,
    onStop: options.onStop,
    follow: changes.follow,
  });
  return {
    ...api,
    close: changes.close,
  };
}
