/** Wiring of curves: what pods push and what becomes of their jobs is kept to be shown, for one term of leadership. */
import { type AnyJob, jobNow, type JobRef } from "../../crds/job_kind.ts";
import { endOf, progressOf } from "../../crds/job_state.ts";
import type { PushedStatus } from "../../crds/trainjob.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { aborted } from "../../kube/aborted.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Informer } from "../../kube/informer.ts";
import { controllerOf } from "../../kube/owner_references.ts";
import {
  createCurveStore,
  type CurveSample,
  type CurveStore,
} from "../../page/curves/curve_store.ts";
import { marksOfChange, marksOfRestart } from "../../page/curves/marks_of_change.ts";
import { describeStop, type StopDecision } from "../../katib/stopping/stop_decision.ts";
import type { Push } from "../../status/chain/exchange.ts";
import type { PushRecorder } from "../../status/ledger/owned_state.ts";
import type { WatchedJobs } from "../../status/reading/job_ends.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { trialReference } from "../../trials/plan/claim.ts";

/** Options of {@link createTermCurves}. */
export interface TermCurvesOptions {
  /** The caches of jobs by their kind. */
  readonly jobs: WatchedJobs;
  /** The cache of JobSets, which tell of restarts. */
  readonly jobSets: Pick<Informer<JobSet>, "onChange">;
  readonly clock: Clock;
  /** Bytes of all curves together. */
  readonly maxBytes: number;
}

/** The curves of this replica's terms. */
export interface TermCurves {
  /** The curves of the term that runs here; undefined if none does. */
  readonly current: CurveStore | undefined;
  /** Begins a term; its recorder keeps curves, and passes all on to `recorder`. */
  begin(recorder: PushRecorder | undefined): PushRecorder;
  /** Marks the report by which it was decided to stop the job. */
  stopped(job: JobRef, decision: StopDecision): void;
  /** Adds the rows of a log that was written before this term. */
  restore(job: JobRef, rows: readonly ObservationRow[]): void;
}

function sampleOf({ metrics = [], progressPercentage, lastUpdatedTime }: PushedStatus) {
  return { timeMs: Date.parse(lastUpdatedTime), metrics, progress: progressPercentage };
}

/** Creates {@link TermCurves}; nothing is kept before a term begins. */
export function createTermCurves(
  { jobs, jobSets, clock, maxBytes }: TermCurvesOptions,
): TermCurves {
  let current: CurveStore | undefined;

  /** Says of a job of which an earlier owner knew more that its curves begin with this term. */
  function markGap(store: CurveStore, { job }: Push, beganMs: number): void {
    const object = jobNow(jobs, job);
    // The log of a trial is read again.
    if (object === undefined || trialReference(object.metadata) !== undefined) return;
    const shownMs = Date.parse(progressOf(job.kind, object)?.lastUpdatedTime ?? "");
    if (!(shownMs < beganMs)) return;
    const text = "another replica led before: what it was told is not here";
    store.mark(job.uid, { timeMs: beganMs, kind: "gap", text });
  }

  function record(store: CurveStore, push: Push, beganMs: number): void {
    const { job, pod, earlier = [], trainerStatus } = push;
    if (store.versionOf(job.uid) === 0) markGap(store, push, beganMs);
    store.record(job, pod, [...earlier, trainerStatus].map(sampleOf));
  }

  function follow(store: CurveStore): () => void {
    const stops = [...jobs].map(([kind, cache]) =>
      cache.jobs.onChange(({ type, object, old }) => {
        const { uid = "" } = object.metadata;
        if (type === "deleted") return store.forget(uid);
        // What the cache was filled with is no news.
        if (old === undefined) return;
        for (const mark of marksOfChange(kind, old, object, clock.now())) store.mark(uid, mark);
        if (endOf(kind, object) !== undefined) store.end(uid);
      })
    );
    const restarts = jobSets.onChange(({ type, object, old }) => {
      const owner = controllerOf(object.metadata);
      if (type === "deleted" || owner?.kind !== TRAINJOB.kind) return;
      for (const mark of marksOfRestart(old, object, clock.now())) store.mark(owner.uid, mark);
    });
    return () => [...stops, restarts].forEach((stop) => stop());
  }

  return {
    get current() {
      return current;
    },
    begin(recorder) {
      const store = current = createCurveStore({ clock, maxBytes });
      const beganMs = clock.now();
      return {
        accept(push, signal) {
          record(store, push, beganMs);
          return recorder?.accept(push, signal);
        },
        forget(job: JobRef, object: AnyJob) {
          store.forget(job.uid);
          recorder?.forget(job, object);
        },
        async run(signal) {
          const stop = follow(store);
          const end = () => {
            if (current === store) current = undefined;
          };
          signal.addEventListener("abort", end, { once: true });
          try {
            await Promise.all([recorder?.run(signal), aborted(signal)]);
          } finally {
            end();
            stop();
          }
        },
      };
    },
    stopped({ uid }, decision) {
      const timeMs = Date.parse(decision.time);
      current?.mark(uid, { timeMs, kind: "stopped", text: describeStop(decision) });
    },
    restore(job, rows) {
      const byTime = Map.groupBy(rows, ({ time }) => time);
      const samples = [...byTime].map(([time, metrics]): CurveSample => ({
        timeMs: Date.parse(time),
        metrics,
      }));
      current?.record(job, undefined, samples);
    },
  };
}
