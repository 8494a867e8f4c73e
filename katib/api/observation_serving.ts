/** Serving of observations: reads and streams go to the owner of the state. */
import { type AnyJob, type JobKind, jobNow } from "../../crds/job_kind.ts";
import { createKeyedListeners } from "../../platform/base/keyed_listeners.ts";
import { createKeyedBuckets } from "../../platform/base/token_bucket.ts";
import { createFairTurns } from "../../platform/base/fair_turns.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { type Change, isRemoval } from "../../platform/kube/watching/informer_cache.ts";
import { cachedTrial } from "../trials/cached_trial.ts";
import type { TrialCache } from "../trials/plan_cache.ts";
import type { ReaderParts } from "../../platform/http/callers/reader_checks.ts";
import type { OwnerClient } from "../../owner/owner_client.ts";
import { observationAsks, pagesAsks } from "../../owner/observations/observation_asks.ts";
import { stopAsks } from "../../owner/observations/stop_asks.ts";
import { restartAsks } from "../../owner/restarts/restart_asks.ts";
import type { Place } from "./checks.ts";
import { outcomeByTemplate } from "./observation_state.ts";
import { createObservationApi, type ObservationApiOptions } from "./observation_api.ts";

/** Requests of one subject to stop or restart jobs: a controller that ends a rung of a thousand trials. */
const CHANGES_PER_SUBJECT = { ratePerSecond: 20, burst: 200 } as const;
/** Subjects remembered. */
const MAX_SUBJECTS = 10_000;
/** Questions of streams of many jobs that are under way, in all and of one user. */
const STREAM_READS = { total: 32, perKey: 8 } as const;
/** The same of one user over time: 1,000 jobs that push each second are 42 a second. */
const STREAM_READS_PER_SUBJECT = { ratePerSecond: 100, burst: 200 } as const;

const placeKey = ({ kind, namespace }: Place) => `${kind.id}/${namespace}`;

/** Serves observations; `handles` selects its requests. */
export function serveObservations(
  options:
    & Pick<ObservationApiOptions, "kinds" | "clock" | "slots" | "findJob" | "onJobEnd">
    & Required<Pick<ObservationApiOptions, "onRead" | "onChange">>
    & {
      /** The checks of readers. */
      readonly readers: ReaderParts;
      /** The caches of jobs by their kind. */
      readonly jobs: ReadonlyMap<
        JobKind,
        { readonly jobs: Pick<Informer<AnyJob>, "get" | "list" | "onChange"> }
      >;
      readonly trials: Pick<TrialCache, "get">;
      readonly owner: OwnerClient;
    },
) {
  const { readers, kinds, jobs, trials, owner } = options;
  const changedJobs = createKeyedListeners();
  const changedPlaces = createKeyedListeners<Change<AnyJob>>();
  const stops = [...jobs].map(([kind, { jobs }]) =>
    jobs.onChange((change) => {
      const { uid = "", namespace = "" } = change.object.metadata;
      changedJobs.notify(uid);
      changedPlaces.notify(placeKey({ kind, namespace }), change);
    })
  );
  const api = createObservationApi({
    ...readers,
    ...options,
    jobNow: (job) => jobNow(jobs, job),
    outcomeOf: (kind, job) => outcomeByTemplate(kind, job, cachedTrial(trials, job)?.spec),
    ask: owner.asks(observationAsks(kinds)),
    stop: owner.asks(stopAsks(kinds)),
    restart: owner.asks(restartAsks(kinds)),
    many: {
      ask: owner.asks(pagesAsks(kinds)),
      take: createKeyedBuckets(STREAM_READS_PER_SUBJECT, MAX_SUBJECTS).take,
      inTurn: createFairTurns(STREAM_READS),
      jobs: ({ kind, namespace }) => jobs.get(kind)?.jobs.list(namespace) ?? [],
      onJob: (place, listener) =>
        changedPlaces.add(
          placeKey(place),
          (change) => listener(change.object, !isRemoval(change)),
        ),
    },
    takeChange: createKeyedBuckets(CHANGES_PER_SUBJECT, MAX_SUBJECTS).take,
    follow(job, listener) {
      const ends = [
        changedJobs.add(job.uid, () => listener("job")),
        owner.follow.observation(job, () => listener("log")),
      ];
      return () => ends.forEach((end) => end());
    },
  });
  return {
    ...api,
    /** Stops listening to the caches. */
    close: () => stops.forEach((stop) => stop()),
  };
}
