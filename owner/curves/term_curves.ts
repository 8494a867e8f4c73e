/** Curves of one term: what of pushes, logs and objects of jobs is kept to be shown. */
import { type AnyJob, type JobKind, jobNow, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { endOf, progressOf } from "../../crds/job_state.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { Push } from "../../crds/wire/push.ts";
import type { Sample } from "../../crds/wire/sample.ts";
import type { CurveMark } from "../../crds/wire/shown_curves.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { controllerOf } from "../../platform/kube/owner_references.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { describeStop, type StopDecision } from "../observations/stop_decision.ts";
import { createCurveStore } from "./curve_store.ts";
import { createKeptCurves, type KeptCurvesOptions } from "./kept_curves.ts";
import { GAP_TEXTS } from "./marks.ts";
import { marksOfChange, marksOfPod, marksOfRestart, marksOfStart } from "./marks_of_change.ts";

/** Options of {@link openTermCurves}. */
export interface TermCurvesOptions {
  /** The caches of jobs by their kind, and of their pods, which tell of containers that are started again. */
  readonly jobs: ReadonlyMap<JobKind, {
    readonly jobs: Pick<Informer<AnyJob>, "get" | "onChange">;
    readonly pods?: Pick<Informer<WatchedPod>, "get" | "onChange">;
  }>;
  /** The cache of JobSets, which tell of restarts. */
  readonly jobSets: Pick<Informer<JobSet>, "onChange">;
  readonly clock: Clock;
  /** Bytes of all curves together. */
  readonly curveBytes: number;
  /** Absent: nothing is recorded. */
  readonly logs?: KeptCurvesOptions["logs"] | undefined;
}

function sampleOf({ metrics = [], progressPercentage, step, lastUpdatedTime }: Sample) {
  return { timeMs: Date.parse(lastUpdatedTime), metrics, progress: progressPercentage, step };
}

/** Opens the curves of one term, which follow the caches from now on. */
export function openTermCurves({ jobs, jobSets, clock, curveBytes, logs }: TermCurvesOptions) {
  const beganMs = clock.now();
  const store = createCurveStore({
    clock,
    maxBytes: curveBytes,
    onDrop: (uid) => kept?.dropped(uid),
  });
  const kept = logs && createKeptCurves({ store, jobs, logs, clock });

  /** Says of a job of which more was known than its curves have, why that is not here. */
  function markGap(push: Push, object: AnyJob): void {
    const { job, earlier: [first] = [], trainerStatus } = push;
    const nowMs = Date.parse((first ?? trainerStatus).lastUpdatedTime);
    const beforeMs = Date.parse(progressOf(job.kind, object)?.lastUpdatedTime ?? "");
    if (!(beforeMs < nowMs)) return;
    const ofOther = beforeMs < beganMs;
    const text = ofOther ? GAP_TEXTS.restarted : GAP_TEXTS.short;
    store.mark(job.uid, { timeMs: ofOther ? beganMs : nowMs, kind: "gap", text });
  }

  /** Marks that the container of a pod was started again before this term heard of it. */
  function markStart({ job, pod: { name, uid } }: Push): void {
    const object = jobNow(jobs, job);
    const shownMs = Date.parse((object && progressOf(job.kind, object))?.lastUpdatedTime ?? "");
    if (!(shownMs < beganMs)) return;
    const pod = jobs.get(job.kind)?.pods?.get({ namespace: job.namespace, name });
    if (pod?.metadata?.uid === uid) mark(job, marksOfStart(pod, shownMs));
  }

  function mark(job: JobRef, marks: readonly CurveMark[]): void {
    for (const one of marks) store.mark(job.uid, one);
    if (marks.length > 0) kept?.changed(job);
  }

  function noteEnd(kind: JobKind, object: AnyJob): void {
    if (endOf(kind, object) === undefined) return;
    const job = jobRefOf(kind, object);
    store.end(job.uid);
    kept?.changed(job, false);
  }

  const stops = [
    ...[...jobs].map(([kind, cache]) =>
      cache.jobs.onChange(({ type, object, old }) => {
        const job = jobRefOf(kind, object);
        if (type === "deleted") return store.forget(job.uid);
        // What left may come back.
        if (type === "left") return;
        // What the cache was filled with is no news.
        if (old !== undefined) mark(job, marksOfChange(kind, old, object, clock.now()));
        const isEnded = old !== undefined && endOf(kind, old) !== undefined;
        if (!isEnded) noteEnd(kind, object);
      })
    ),
    ...[...jobs].map(([kind, { jobs: cache, pods }]) =>
      pods?.onChange(({ type, object, old }) => {
        const { namespace = "", labels, uid = "" } = object.metadata ?? {};
        const name = labels?.[kind.podLabels.jobName];
        if (type !== "updated" || name === undefined) return;
        const job = cache.get({ namespace, name });
        // A label is no proof: a pod that has pushed for the job is one of its own.
        if (job === undefined || !store.isPushedBy(job.metadata.uid ?? "", uid)) return;
        mark(jobRefOf(kind, job), marksOfPod(old, object, clock.now()));
      })
    ),
    jobSets.onChange(({ type, object, old }) => {
      const owner = controllerOf(object.metadata);
      if (type === "deleted" || owner?.kind !== TRAINJOB.kind) return;
      const { namespace = "" } = object.metadata;
      const job = { kind: TRAINJOB, namespace, name: owner.name, uid: owner.uid };
      mark(job, marksOfRestart(old, object, clock.now()));
    }),
  ];

  return {
    store,
    /** Keeps the samples of a push that was taken; its log may lack them. */
    record(push: Push, isUnrecorded = false): void {
      const { job, pod, earlier = [], trainerStatus } = push;
      const object = store.hasSamples(job.uid) ? undefined : jobNow(jobs, job);
      if (object !== undefined) markGap(push, object);
      if (!store.isPushedBy(job.uid, pod.uid)) markStart(push);
      const samples = [...earlier, trainerStatus].map(sampleOf);
      const marks = store.marksOf(job.uid) ?? [];
      store.record(job, pod, samples);
      if (isUnrecorded) {
        for (const { timeMs } of samples) kept?.lacks(job.uid, Math.min(timeMs, clock.now()));
      }
      // The first push says that the job runs, where its log had been that of one that ended.
      const isChanged = isUnrecorded || object !== undefined ||
        (store.marksOf(job.uid) ?? marks) !== marks ||
        samples.some(({ progress, step }) => progress !== undefined || step !== undefined);
      if (isChanged) kept?.changed(job);
      if (object !== undefined && endOf(job.kind, object) !== undefined) store.end(job.uid);
    },
    /** Marks the report by which it was decided to stop the job. */
    stopped(job: JobRef, decision: StopDecision): void {
      const timeMs = Date.parse(decision.time);
      mark(job, [{ timeMs, kind: "stopped", text: describeStop(decision) }]);
    },
    /** See {@link createKeptCurves}. */
    restore: (jobs: readonly JobRef[], waitMs: number) => kept?.restore(jobs, waitMs),
    /** Keeps marks, progress and steps beside the logs until `signal` aborts. */
    run: async (signal: AbortSignal) => await kept?.run(signal),
    /** Stops listening to the caches; what is not kept yet is within that time. */
    async close(withinMs: number): Promise<void> {
      stops.forEach((stop) => stop?.());
      await kept?.close(withinMs);
    },
  };
}
