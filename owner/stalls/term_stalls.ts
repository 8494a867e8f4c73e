/** Stalls of one term: verdicts on the silence of jobs, as their pushes arrive, and what jobs say of them (docs/decisions/0081). */
import { type AnyJob, type JobKind, jobNow, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { endOf, progressOf } from "../../crds/job_state.ts";
import type { JobCheckpoint } from "../../crds/job_restart.ts";
import type { Spending } from "../../crds/job_time_spent.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { Beat, Push } from "../../crds/wire/push.ts";
import type { CurveMark } from "../../crds/wire/shown_curves.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { humanDuration } from "../../platform/base/human_duration.ts";
import { sameJson } from "../../platform/base/json.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { type EventText, subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { isRemoval } from "../../platform/kube/watching/informer_cache.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { stallsTogether } from "../../trials/stalls/storm.ts";
import { SILENCE_MS, verdictOf } from "../../trials/stalls/stall_verdict.ts";
import { excused } from "../../trials/stalls/silence_watch.ts";
import type { Moment } from "../../trials/stalls/time_spent.ts";
import { createFieldWrites } from "../field_writes.ts";
import { isOpenJob, openRun } from "./opened_run.ts";
import { createSilenceStorm } from "./silence_storm.ts";
import { createStallActor, type StallActorOptions } from "./stall_actor.ts";
import { firstNaming, namedAgain, takenNaming } from "./stall_naming.ts";
import type { StallPolicies } from "./stall_policies.ts";
import type { StallWriter } from "./stall_writer.ts";
import type { WatchedRun } from "./watched_run.ts";

/** Jobs that are watched; those that were silent longest are forgotten. */
const MAX_JOBS = 100_000;
/** Interval of the verdicts, in milliseconds. */
const TICK_MS = 1_000;
/** A verdict that comes so late, in milliseconds, says that nobody could be heard meanwhile. */
const LATE_MS = 5_000;
/** Least time between two writes of a job's pace, in milliseconds. */
const PACE_MS = 600_000;
/** Options of {@link openTermStalls}. */
export interface TermStallsOptions {
  readonly jobs: ReadonlyMap<JobKind, {
    readonly jobs: Pick<Informer<AnyJob>, "get" | "onChange">;
    readonly pods?: Pick<Informer<WatchedPod>, "get" | "onChange">;
  }>;
  readonly clock: Clock;
  readonly leading: () => boolean;
  readonly writer: StallWriter;
  /** The newest checkpoint of a job. Absent: none is known. */
  readonly checkpointOf?: (job: JobRef) => JobCheckpoint | undefined;
  readonly events?: Pick<EventRecorder, "record"> | undefined;
  /** Called when a job becomes quiet, with what is said of it, and when it is quiet no more. */
  readonly onQuiet?: ((job: JobRef, mark: CurveMark | undefined) => void) | undefined;
  /** Called with seconds of a job that were counted. */
  readonly onSpent?: ((on: Spending, seconds: number) => void) | undefined;
  readonly policies: StallPolicies;
  /** What restarts and ends jobs. */
  readonly acting: Pick<StallActorOptions, "restart" | "end">;
}

const isJudged = (run: WatchedRun) =>
  run.isExpected && run.stall === undefined && run.policy.action !== "Ignore";

/** Opens the stalls of one term, which follow the caches from now on. */
export function openTermStalls(options: TermStallsOptions) {
  const { jobs, clock, leading, writer, events, policies, checkpointOf, onQuiet, onSpent } =
    options;
  const actor = createStallActor({ ...options.acting, clock, events });
  const runs = createBoundedCache<WatchedRun>(MAX_JOBS);
  /** Jobs that do not say what they shall; later those of which no more than their time is to be written. */
  const writes = createFieldWrites<WatchedRun>({
    what: "stalls of jobs",
    clock,
    leading,
    isWanted: (job) => jobNow(jobs, job) !== undefined,
    async write(run, signal) {
      const { job, timeSpent } = run;
      const object = jobNow(jobs, job);
      if (object === undefined) return;
      // One that ended while it was stalled says what it said.
      const stall = runs.has(job.uid) ? run.stall : run.stall && writer.told(job.kind, object);
      await writer.write(job, object, { stall, pace: run.keptPace, timeSpent }, signal);
    },
  });
  let tickedMs = clock.monotonic();
  const storm = createSilenceStorm({ runs: () => runs.values(), isJudged });

  function runOf(kind: JobKind, object: AnyJob): WatchedRun {
    const job = jobRefOf(kind, object);
    const known = runs.get(job.uid);
    if (known !== undefined) return known;
    const pods = jobs.get(kind)?.pods;
    const stall = writer.told(kind, object);
    const now = moment();
    const { monotonicMs } = now;
    const run = openRun(kind, object, {
      now,
      policy: policies.of(kind, object),
      stall,
      paceDueMs: monotonicMs + PACE_MS,
      // Not all jobs of a new owner at once.
      timeDueMs: monotonicMs + PACE_MS * (1 + Math.random() / 2),
      podOf: pods && ((name: string) => pods.get({ namespace: job.namespace, name })),
      onSpent,
    });
    if (stall !== undefined) {
      // An owner before this one has told it: of a storm, too, each is one of many.
      const atMs = Date.parse(stall.time ?? "");
      run.toldMs = Number.isNaN(atMs) ? undefined : atMs;
      run.naming = takenNaming(stall, monotonicMs);
    }
    runs.set(job.uid, run);
    return run;
  }

  function tell(run: WatchedRun, event: EventText): void {
    writes.add(run);
    const object = jobNow(jobs, run.job);
    if (object !== undefined) events?.record(subjectOf(run.job.kind, object), event);
  }

  /** What the job's time went to is to be written. */
  function noteTime(run: WatchedRun): void {
    run.keepTime(moment(), PACE_MS);
    writes.addLater(run);
  }

  function setQuiet(run: WatchedRun, isQuiet: boolean): void {
    if (run.isQuiet === isQuiet) return;
    run.isQuiet = isQuiet;
    if (!isQuiet) return onQuiet?.(run.job, undefined);
    const { since, message: text } = run.stallAt(moment());
    onQuiet?.(run.job, { timeMs: Date.parse(since), kind: "quiet", text });
  }

  /** The job makes progress again, or need not any more. */
  function settle(run: WatchedRun, message?: string): void {
    setQuiet(run, false);
    if (run.stall === undefined) return;
    run.stall = run.note = undefined;
    run.isHeld = false;
    noteTime(run);
    if (message === undefined) writes.add(run);
    else tell(run, { type: "Normal", reason: EVENT_REASONS.progressResumed, message });
  }

  const moment = (): Moment => ({ wallMs: clock.now(), monotonicMs: clock.monotonic() });

  const stallNow = (run: WatchedRun, now: Moment, time?: string) => ({
    ...run.stallAt(now, { note: run.note, checkpoint: checkpointOf?.(run.job) }),
    time,
  });

  /** Calls jobs stalled, of each with what becomes of it. */
  function stalled(some: readonly WatchedRun[], now: Moment, act: (run: WatchedRun) => void): void {
    const time = rfc3339(now.wallMs);
    for (const run of some) {
      run.stall = stallNow(run, now, time);
      run.toldMs = now.wallMs;
    }
    for (const run of some) {
      act(run);
      run.stall = stallNow(run, now, time);
      setQuiet(run, false);
      noteTime(run);
      run.naming = firstNaming(run.note, now.monotonicMs);
      tell(run, { type: "Warning", reason: EVENT_REASONS.stalled, message: run.stall.message });
    }
  }

  /** Acts on stalled jobs as their policies say; none of many that are stalled together. */
  function actorAt(now: Moment, signal: AbortSignal): (run: WatchedRun) => void {
    let together: ReturnType<typeof stallsTogether> | undefined;
    return (run) => {
      const { job, policy: { action }, stall } = run;
      const object = action === "Notify" ? undefined : jobNow(jobs, job);
      if (object === undefined || !run.isExpected) return;
      together ??= stallsTogether(
        [...runs.values()].flatMap(({ toldMs = [] }) => toldMs),
        [...runs.values()].filter(({ isExpected }) => isExpected).length,
      );
      const isStorm = storm.isOn() || together(Date.parse(stall?.time ?? ""));
      // The others of a storm that is over may be about to make a step.
      if (run.isHeld && !isStorm) run.watch = excused(run.watch, now.monotonicMs);
      run.isHeld = isStorm;
      run.note = actor.consider({ run, object, isStorm, now }, signal);
    };
  }

  /** Says again which pods stand out, of which more is known some heartbeats later, and why nothing is done. */
  function nameAgain(run: WatchedRun, nowMs: number): void {
    const { naming, stall: told, note } = run;
    if (naming === undefined) return;
    const stallAgain = () => stallNow(run, moment(), told?.time);
    const next = namedAgain(naming, told, { note, nowMs, stallNow: stallAgain });
    if (next === undefined) return;
    run.stall = next;
    writes.add(run);
  }

  function forget(uid: string, isGone: boolean): void {
    // A stall that is over is taken away from a job that has ended meanwhile, too.
    const isOver = runs.get(uid)?.stall === undefined;
    if (isGone) writes.drop(uid);
    else if (!isOver) writes.defer(uid);
    runs.delete(uid);
  }

  function jobSeen(kind: JobKind, object: AnyJob, isGone: boolean): void {
    const { uid = "" } = object.metadata;
    if (isGone || endOf(kind, object) !== undefined) {
      const run = runs.get(uid);
      if (run !== undefined && !isGone) noteTime(run);
      if (run !== undefined) setQuiet(run, false);
      return forget(uid, isGone);
    }
    if (progressOf(kind, object) === undefined && !runs.has(uid)) return;
    const run = runOf(kind, object);
    const before = run.isOpen;
    run.policy = policies.of(kind, object);
    run.isOpen = isOpenJob(kind, object, run.policy);
    // What was written may show late, or was written although no answer came.
    if (!sameJson(writer.told(kind, object), run.stall)) writes.add(run);
    if (before === run.isOpen) return;
    run.begin(clock.monotonic());
    if (run.isOpen) return;
    noteTime(run);
    settle(run);
  }

  const stops = [...jobs].flatMap(([kind, cache]) => [
    cache.jobs.onChange((change) => {
      if (kind.isForeign) policies.warnOfForeign(kind, change.object);
      else jobSeen(kind, change.object, isRemoval(change));
    }),
    kind.isForeign ? undefined : cache.pods?.onChange((change) => {
      const { namespace = "", labels, uid = "" } = change.object.metadata ?? {};
      const name = labels?.[kind.podLabels.jobName];
      const job = name === undefined ? undefined : cache.jobs.get({ namespace, name });
      const run = runs.get(job?.metadata.uid ?? "");
      // A label is no proof: of pods that never reported for the job nothing follows.
      const pod = isRemoval(change) ? undefined : change.object;
      if (run?.seen(uid, pod, clock.monotonic())) settle(run);
    }),
  ]);

  /** Takes what was heard of a job; `take` returns whether that is a sign of progress. */
  function heard(job: JobRef, take: (run: WatchedRun, now: Moment) => boolean): void {
    const object = runs.has(job.uid) || job.kind.isForeign ? undefined : jobNow(jobs, job);
    const isNew = object !== undefined && endOf(job.kind, object) === undefined;
    const run = isNew ? runOf(job.kind, object) : runs.get(job.uid);
    if (run === undefined) return;
    const now = moment();
    const silentMs = now.monotonicMs - run.watch.sinceMs;
    if (now.monotonicMs >= run.timeDueMs) noteTime(run);
    if (take(run, now)) {
      settle(run, `makes progress again, after ${humanDuration(silentMs)}`);
      run.toldMs = undefined;
    }
    if (run.keepPace(now.monotonicMs, PACE_MS)) writes.add(run);
  }

  /** Comes to verdicts. */
  function judge(signal: AbortSignal): void {
    const now = moment();
    const nowMs = now.monotonicMs;
    const isLate = nowMs - tickedMs > LATE_MS;
    tickedMs = nowMs;
    if (!leading()) return;
    if (isLate) runs.forEach((run) => run.watch = excused(run.watch, nowMs));
    const candidates: WatchedRun[] = [];
    const act = actorAt(now, signal);
    for (const run of runs.values()) {
      // Nearly all jobs have just been heard.
      const isSilent = nowMs - run.watch.sinceMs >= SILENCE_MS.quiet;
      if (!isSilent && !run.isQuiet) continue;
      // That of its runtime may have changed.
      const object = jobNow(jobs, run.job);
      if (object !== undefined) run.policy = policies.of(run.job.kind, object);
      if (run.stall !== undefined) {
        act(run);
        nameAgain(run, nowMs);
        if (nowMs >= run.timeDueMs) noteTime(run);
        continue;
      }
      const verdict = isSilent && isJudged(run) ? verdictOf(run.watch, nowMs, run.policy) : "going";
      if (verdict === "stalled") candidates.push(run);
      else setQuiet(run, verdict === "quiet");
    }
    stalled(storm.without(candidates, nowMs), now, act);
  }

  return {
    /** Takes a push that was taken. */
    reported: (push: Push): void => heard(push.job, (run, now) => run.pushed(push, now)),
    /** Takes a heartbeat. */
    beat: (beat: Beat): void => heard(beat.job, (run, now) => run.beat(beat, now)),
    /** A push of the job was refused: its silence may be ours. */
    refused({ uid }: JobRef): void {
      const run = runs.get(uid);
      if (run !== undefined) run.watch = excused(run.watch, clock.monotonic());
    },
    /** Returns the last step of the job's run, as far as this owner knows it. */
    lastStep: (uid: string): number | undefined => runs.get(uid)?.step,
    /** Number of jobs that are called stalled now: `jobs_stalled`. */
    stalled: () => [...runs.values()].filter(({ stall }) => stall !== undefined).length,
    /** Comes to verdicts, and writes them, until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      const writing = writes.run(signal);
      try {
        tickedMs = clock.monotonic();
        while (!signal.aborted) {
          await clock.sleep(TICK_MS, signal);
          if (!signal.aborted) judge(signal);
        }
        await Promise.all([writing, actor.settled()]);
      } finally {
        stops.forEach((stop) => stop?.());
      }
    },
  };
}
