/** Curves of one term: what of pushes, logs and objects of jobs is kept to be shown. */
import { type AnyJob, jobNow, type JobRef, type WatchedJobs } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { endOf, progressOf } from "../../crds/job_state.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import type { Push } from "../../crds/wire/push.ts";
import type { Sample } from "../../crds/wire/sample.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { controllerOf } from "../../platform/kube/owner_references.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { describeStop, type StopDecision } from "../observations/stop_decision.ts";
import { createCurveStore, type CurveSample, type CurveStore } from "./curve_store.ts";
import { marksOfChange, marksOfRestart } from "./marks_of_change.ts";

/** Options of {@link openTermCurves}. */
export interface TermCurvesOptions {
  /** The caches of jobs by their kind. */
  readonly jobs: WatchedJobs;
  /** The cache of JobSets, which tell of restarts. */
  readonly jobSets: Pick<Informer<JobSet>, "onChange">;
  readonly clock: Clock;
  /** Bytes of all curves together. */
  readonly curveBytes: number;
}

/** The curves of one term. */
export interface TermCurves {
  readonly store: CurveStore;
  /** Keeps the samples of a push that was taken. */
  record(push: Push): void;
  /** Marks the report by which it was decided to stop the job. */
  stopped(job: JobRef, decision: StopDecision): void;
  /** Adds the rows of a log that was written before this term. */
  restore(job: JobRef, rows: readonly ObservationRow[]): void;
  /** Stops listening to the caches. */
  close(): void;
}

/** Whether a job has shown progress, or metrics, of which its log has nothing. */
function hasMore(shown: TrainerStatus | undefined, rows: readonly ObservationRow[]): boolean {
  const logged = new Set(rows.map(({ name }) => name));
  return shown?.progressPercentage !== undefined ||
    (shown?.metrics?.some(({ name }) => !logged.has(name)) ?? false);
}

function sampleOf({ metrics = [], progressPercentage, step, lastUpdatedTime }: Sample) {
  return { timeMs: Date.parse(lastUpdatedTime), metrics, progress: progressPercentage, step };
}

/** Opens {@link TermCurves}, which follow the caches from now on. */
export function openTermCurves(
  { jobs, jobSets, clock, curveBytes }: TermCurvesOptions,
): TermCurves {
  const store = createCurveStore({ clock, maxBytes: curveBytes });
  const beganMs = clock.now();

  /** Says of a job of which more was known than its curves have, why that is not here. */
  function markGap(push: Push, object: AnyJob): void {
    const { job, earlier: [first] = [], trainerStatus } = push;
    const nowMs = Date.parse((first ?? trainerStatus).lastUpdatedTime);
    const beforeMs = Date.parse(progressOf(job.kind, object)?.lastUpdatedTime ?? "");
    if (!(beforeMs < nowMs)) return;
    const ofOther = beforeMs < beganMs;
    const text = ofOther
      ? "another replica led before: what it was told is not here"
      : "memory was short: what was pushed before is not here";
    store.mark(job.uid, { timeMs: ofOther ? beganMs : nowMs, kind: "gap", text });
  }

  const stops = [
    ...[...jobs].map(([kind, cache]) =>
      cache.jobs.onChange(({ type, object, old }) => {
        const { uid = "" } = object.metadata;
        if (type === "deleted") return store.forget(uid);
        // What left may come back. What the cache was filled with is no news.
        if (type === "left" || old === undefined) return;
        for (const mark of marksOfChange(kind, old, object, clock.now())) store.mark(uid, mark);
        if (endOf(kind, object) !== undefined) store.end(uid);
      })
    ),
    jobSets.onChange(({ type, object, old }) => {
      const owner = controllerOf(object.metadata);
      if (type === "deleted" || owner?.kind !== TRAINJOB.kind) return;
      for (const mark of marksOfRestart(old, object, clock.now())) store.mark(owner.uid, mark);
    }),
  ];

  return {
    store,
    record(push) {
      const { job, pod, earlier = [], trainerStatus } = push;
      const object = store.hasSamples(job.uid) ? undefined : jobNow(jobs, job);
      if (object !== undefined) markGap(push, object);
      store.record(job, pod, [...earlier, trainerStatus].map(sampleOf));
      if (object !== undefined && endOf(job.kind, object) !== undefined) store.end(job.uid);
    },
    stopped({ uid }, decision) {
      const timeMs = Date.parse(decision.time);
      store.mark(uid, { timeMs, kind: "stopped", text: describeStop(decision) });
    },
    restore(job, rows) {
      const byTime = Map.groupBy(rows, ({ time }) => time);
      const samples = [...byTime].map(([time, metrics]): CurveSample => ({
        timeMs: Date.parse(time),
        metrics,
        step: metrics[0]?.step,
      }));
      store.record(job, undefined, samples);
      const object = jobNow(jobs, job);
      if (object === undefined) return;
      const shown = progressOf(job.kind, object);
      if (Date.parse(shown?.lastUpdatedTime ?? "") < beganMs && hasMore(shown, rows)) {
        const text = "another replica led before: of what it was told only the log is here";
        store.mark(job.uid, { timeMs: beganMs, kind: "gap", text });
      }
      if (endOf(job.kind, object) !== undefined) store.end(job.uid);
    },
    close: () => stops.forEach((stop) => stop()),
  };
}
