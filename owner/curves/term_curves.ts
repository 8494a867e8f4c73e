/** Wiring of curves: what pods push and what becomes of their jobs is kept to be shown, for one term of leadership. */
import { type AnyJob, jobNow, type JobRef, type WatchedJobs } from "../../crds/job_kind.ts";
import { endOf, progressOf } from "../../crds/job_state.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import type { Sample } from "../../crds/wire/sample.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { aborted, onAbort } from "../../platform/base/aborted.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { controllerOf } from "../../platform/kube/owner_references.ts";
import { createCurveStore, type CurveSample, type CurveStore } from "./curve_store.ts";
import { marksOfChange, marksOfRestart } from "./marks_of_change.ts";
import { describeStop, type StopDecision } from "../observations/stop_decision.ts";
import type { PushAnswer } from "../../crds/wire/push_answer.ts";
import type { Push } from "../../crds/wire/push.ts";
import type { PushRecorder } from "../owned_state.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";

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

/** Whether a job has shown progress, or metrics, of which its log has nothing. */
function hasMore(shown: TrainerStatus | undefined, rows: readonly ObservationRow[]): boolean {
  const logged = new Set(rows.map(({ name }) => name));
  return shown?.progressPercentage !== undefined ||
    (shown?.metrics?.some(({ name }) => !logged.has(name)) ?? false);
}

/** The curves of one term, and when it began. */
interface Term {
  readonly store: CurveStore;
  readonly beganMs: number;
}

function sampleOf({ metrics = [], progressPercentage, lastUpdatedTime }: Sample) {
  return { timeMs: Date.parse(lastUpdatedTime), metrics, progress: progressPercentage };
}

/** Creates {@link TermCurves}; nothing is kept before a term begins. */
export function createTermCurves(
  { jobs, jobSets, clock, maxBytes }: TermCurvesOptions,
): TermCurves {
  let term: Term | undefined;

  /** Says of a job of which more was known than its curves have, why that is not here. */
  function markGap({ store, beganMs }: Term, push: Push, object: AnyJob): void {
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

  function record(term: Term, push: Push): void {
    const { store } = term;
    const { job, pod, earlier = [], trainerStatus } = push;
    const object = store.hasSamples(job.uid) ? undefined : jobNow(jobs, job);
    if (object !== undefined) markGap(term, push, object);
    store.record(job, pod, [...earlier, trainerStatus].map(sampleOf));
    if (object !== undefined && endOf(job.kind, object) !== undefined) store.end(job.uid);
  }

  /** Keeps what was taken: of a push that was refused the client sends the samples again. */
  function recordIfTaken(term: Term, push: Push, answer: PushAnswer | undefined) {
    if (answer === undefined || answer.ok) record(term, push);
    return answer;
  }

  function follow(store: CurveStore): () => void {
    const stops = [...jobs].map(([kind, cache]) =>
      cache.jobs.onChange(({ type, object, old }) => {
        const { uid = "" } = object.metadata;
        if (type === "deleted") return store.forget(uid);
        // What left may come back. What the cache was filled with is no news.
        if (type === "left" || old === undefined) return;
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
      return term?.store;
    },
    begin(recorder) {
      const store = createCurveStore({ clock, maxBytes });
      const own = term = { store, beganMs: clock.now() };
      return {
        accept(push, signal) {
          const answer = recorder?.accept(push, signal);
          return answer instanceof Promise
            ? answer.then((it) => recordIfTaken(own, push, it))
            : recordIfTaken(own, push, answer);
        },
        stopped: (job) => recorder?.stopped(job),
        forget(job: JobRef, object: AnyJob) {
          store.forget(job.uid);
          recorder?.forget(job, object);
        },
        leave: (job: JobRef) => recorder?.leave(job),
        async run(signal) {
          const stop = follow(store);
          const end = () => {
            if (term === own) term = undefined;
          };
          onAbort(signal, end);
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
      term?.store.mark(uid, { timeMs, kind: "stopped", text: describeStop(decision) });
    },
    restore(job, rows) {
      const byTime = Map.groupBy(rows, ({ time }) => time);
      const samples = [...byTime].map(([time, metrics]): CurveSample => ({
        timeMs: Date.parse(time),
        metrics,
      }));
      const object = jobNow(jobs, job);
      if (term === undefined) return;
      const { store, beganMs } = term;
      store.record(job, undefined, samples);
      if (object === undefined) return;
      const shown = progressOf(job.kind, object);
      if (Date.parse(shown?.lastUpdatedTime ?? "") < beganMs && hasMore(shown, rows)) {
        const text = "another replica led before: of what it was told only the log is here";
        store.mark(job.uid, { timeMs: beganMs, kind: "gap", text });
      }
      if (endOf(job.kind, object) !== undefined) store.end(job.uid);
    },
  };
}
