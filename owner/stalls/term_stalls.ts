/** Stalls of one term: verdicts on the silence of jobs, as their pushes arrive, and what jobs say of them (docs/decisions/0081). */
import { getLogger } from "@logtape/logtape";
import { type AnyJob, type JobKind, jobNow, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { endOf, paceOf, progressOf, shouldProgress, timeSpentOf } from "../../crds/job_state.ts";
import type { JobPace } from "../../crds/job_stall.ts";
import type { Spending } from "../../crds/job_time_spent.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { Beat, Push } from "../../crds/wire/push.ts";
import type { CurveMark } from "../../crds/wire/shown_curves.ts";
import { backoffMs } from "../../platform/base/backoff.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { humanDuration } from "../../platform/base/human_duration.ts";
import { sameJson } from "../../platform/base/json.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { isInvalid, messageOf } from "../../platform/kube/errors.ts";
import { type EventText, subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { isRemoval } from "../../platform/kube/watching/informer_cache.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { isNewsOfPace } from "../../trials/stalls/pace_news.ts";
import { isOfStorm, stormAfter, stormOf } from "../../trials/stalls/storm.ts";
import { SILENCE_MS, verdictOf } from "../../trials/stalls/stall_verdict.ts";
import { beginDone, beginRun, excused } from "../../trials/stalls/silence_watch.ts";
import { type Moment, openTimeSpent } from "../../trials/stalls/time_spent.ts";
import type { StallWriter } from "./stall_writer.ts";
import { WatchedRun } from "./watched_run.ts";

const log = getLogger(["milepost", "manager"]);

/** Jobs that are watched; those that were silent longest are forgotten. */
const MAX_JOBS = 100_000;
/** Interval of the verdicts, in milliseconds. */
const TICK_MS = 1_000;
/** A verdict that comes so late, in milliseconds, says that nobody could be heard meanwhile. */
const LATE_MS = 5_000;
/** Least time between two writes of a job's pace, in milliseconds. */
const PACE_MS = 600_000;
/** How often the pods of one stall may be named, and how long after the last look, in milliseconds. */
const [NAMED_MOST, NAMED_MS] = [6, 5_000];
/** Jobs that are written at a time, and of one pass. */
const WRITES = { limit: 8, most: 64 } as const;
/** Pauses after a pass of which a write failed. */
const RETRY = { firstMs: 1_000, longestMs: 30_000 } as const;

/** Options of {@link openTermStalls}. */
export interface TermStallsOptions {
  readonly jobs: ReadonlyMap<JobKind, {
    readonly jobs: Pick<Informer<AnyJob>, "get" | "onChange">;
    readonly pods?: Pick<Informer<WatchedPod>, "get" | "onChange">;
  }>;
  readonly clock: Clock;
  readonly leading: () => boolean;
  readonly writer: StallWriter;
  readonly events?: Pick<EventRecorder, "record"> | undefined;
  /** Called when a job becomes quiet, with what is said of it, and when it is quiet no more. */
  readonly onQuiet?: ((job: JobRef, mark: CurveMark | undefined) => void) | undefined;
  /** Called with seconds of a job that were counted. */
  readonly onSpent?: ((on: Spending, seconds: number) => void) | undefined;
}

/** Opens the stalls of one term, which follow the caches from now on. */
export function openTermStalls(options: TermStallsOptions) {
  const { jobs, clock, leading, writer, events, onQuiet, onSpent } = options;
  const runs = createBoundedCache<WatchedRun>(MAX_JOBS);
  /** Jobs that do not say what they shall. */
  const unwritten = new Map<string, WatchedRun>();
  /** Jobs of which no more than their time is to be written: what the others say is awaited. */
  const later = new Map<string, WatchedRun>();
  /** When the pace of a job may be written, and the last one that was, by UID. */
  const paces = createBoundedCache<{ dueMs: number; pace: JobPace | undefined }>(MAX_JOBS);
  /** How often the pods of a stall of this term were named, and when they may be again. */
  const named = createBoundedCache<{ times: number; dueMs: number }>(MAX_JOBS);
  let tickedMs = clock.monotonic();
  let storm: { readonly beganMs: number; readonly jobs: readonly WatchedRun[] } | undefined;

  function runOf(kind: JobKind, object: AnyJob): WatchedRun {
    const job = jobRefOf(kind, object);
    const known = runs.get(job.uid);
    if (known !== undefined) return known;
    const nowMs = clock.monotonic();
    const progress = progressOf(kind, object);
    // It has reported to an owner before this one, to whom it had taught nothing yet.
    const kept = paceOf(object);
    const pace = kept ?? (progress && { silences: {} });
    const isOver = progress?.progressPercentage === 100;
    const watch = isOver ? beginDone(nowMs, pace, progress) : beginRun(nowMs, pace);
    const isOpen = shouldProgress(kind, object);
    const spent = openTimeSpent(timeSpentOf(object), {
      now: moment(),
      createdMs: Date.parse(String(object.metadata.creationTimestamp ?? "")),
      hasReported: progress !== undefined,
    });
    const podOf = (name: string) => jobs.get(kind)?.pods?.get({ namespace: job.namespace, name });
    const stall = writer.told(kind, object);
    // Not all jobs of a new owner at once.
    const timeDueMs = nowMs + PACE_MS * (1 + Math.random() / 2);
    const made = new WatchedRun(job, { watch, isOpen, stall, spent, timeDueMs, podOf, onSpent });
    runs.set(job.uid, made);
    paces.set(job.uid, { dueMs: nowMs + PACE_MS, pace: kept });
    return made;
  }

  function tell(run: WatchedRun, event: EventText): void {
    unwritten.set(run.job.uid, run);
    const object = jobNow(jobs, run.job);
    if (object !== undefined) events?.record(subjectOf(run.job.kind, object), event);
  }

  const isJudged = (run: WatchedRun) => run.isExpected && run.stall === undefined;

  /** What the job's time went to is to be written. */
  function noteTime(run: WatchedRun): void {
    run.keepTime(moment(), PACE_MS);
    later.set(run.job.uid, run);
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
    run.stall = undefined;
    noteTime(run);
    if (message === undefined) unwritten.set(run.job.uid, run);
    else tell(run, { type: "Normal", reason: EVENT_REASONS.progressResumed, message });
  }

  const moment = (): Moment => ({ wallMs: clock.now(), monotonicMs: clock.monotonic() });

  function stalled(run: WatchedRun): void {
    const now = moment();
    run.stall = { ...run.stallAt(now), time: rfc3339(now.wallMs) };
    named.set(run.job.uid, { times: 1, dueMs: now.monotonicMs });
    setQuiet(run, false);
    noteTime(run);
    tell(run, { type: "Warning", reason: EVENT_REASONS.stalled, message: run.stall.message });
  }

  /** Says again which pods stand out, of which more is known some heartbeats later. */
  function nameAgain(run: WatchedRun, nowMs: number): void {
    const known = named.get(run.job.uid);
    if (known === undefined || known.times >= NAMED_MOST || nowMs < known.dueMs) return;
    known.dueMs = nowMs + NAMED_MS;
    const next = run.stallAt(moment());
    if (sameJson(next.pods, run.stall?.pods)) return;
    known.times += 1;
    run.stall = { ...next, time: run.stall?.time };
    unwritten.set(run.job.uid, run);
  }

  function forget(uid: string, isGone: boolean): void {
    // A stall that is over is taken away from a job that has ended meanwhile, too.
    const isOver = runs.get(uid)?.stall === undefined;
    if (isGone || !isOver) unwritten.delete(uid);
    if (isGone) later.delete(uid);
    for (const memory of [runs, paces, named]) memory.delete(uid);
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
    run.isOpen = shouldProgress(kind, object);
    // What was written may show late, or was written although no answer came.
    if (!sameJson(writer.told(kind, object), run.stall)) unwritten.set(uid, run);
    if (before === run.isOpen) return;
    run.begin(clock.monotonic());
    if (run.isOpen) return;
    noteTime(run);
    settle(run);
  }

  const stops = [...jobs].filter(([kind]) => !kind.isForeign).flatMap(([kind, cache]) => [
    cache.jobs.onChange((change) => jobSeen(kind, change.object, isRemoval(change))),
    cache.pods?.onChange((change) => {
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
    if (take(run, now)) settle(run, `makes progress again, after ${humanDuration(silentMs)}`);
    notePace(run, now.monotonicMs);
  }

  /**
   * Returns those of the candidates whose silence is their own. That of a storm teaches nothing, and begins anew once the
   * storm is over.
   */
  function withoutStorm(candidates: readonly WatchedRun[], nowMs: number): readonly WatchedRun[] {
    if (candidates.length === 0 && storm === undefined) return candidates;
    const open = [...runs.values()].filter(isJudged);
    if (storm === undefined) {
      const silentMs = Math.min(...candidates.map(({ watch }) => nowMs - watch.sinceMs));
      const together = stormOf(open, silentMs, nowMs);
      if (together.length === 0) return candidates;
      storm = { beganMs: nowMs, jobs: together };
      const counts = { silent: together.length, watched: open.length };
      log.warn(
        "many jobs fell silent together: they are not called stalled before they are heard",
        counts,
      );
    }
    const { beganMs } = storm;
    const jobs = storm.jobs.filter((it) => runs.get(it.job.uid) === it && isJudged(it));
    const state = stormAfter(jobs, beganMs, nowMs);
    if (state === "long") {
      storm = undefined;
      return candidates;
    }
    const touched = open.filter(({ watch }) => isOfStorm(watch, beganMs));
    const own = candidates.filter(({ watch }) => !isOfStorm(watch, beganMs));
    if (state === "on") touched.forEach((it) => it.watch = { ...it.watch, isWhole: false });
    else {
      storm = undefined;
      log.info("jobs are heard again");
      touched.forEach((it) => it.watch = excused(it.watch, nowMs));
    }
    return own;
  }

  /** Comes to verdicts. */
  function judge(): void {
    const nowMs = clock.monotonic();
    const isLate = nowMs - tickedMs > LATE_MS;
    tickedMs = nowMs;
    if (!leading()) return;
    if (isLate) runs.forEach((run) => run.watch = excused(run.watch, nowMs));
    const candidates: WatchedRun[] = [];
    for (const run of runs.values()) {
      // Nearly all jobs have just been heard.
      const isSilent = nowMs - run.watch.sinceMs >= SILENCE_MS.quiet;
      if (!isSilent && !run.isQuiet) continue;
      if (run.stall !== undefined) {
        nameAgain(run, nowMs);
        if (nowMs >= run.timeDueMs) noteTime(run);
        continue;
      }
      const verdict = isSilent && run.isExpected ? verdictOf(run.watch, nowMs) : "going";
      if (verdict === "stalled") candidates.push(run);
      else setQuiet(run, verdict === "quiet");
    }
    withoutStorm(candidates, nowMs).forEach(stalled);
  }

  function notePace(run: WatchedRun, nowMs: number): void {
    const known = paces.get(run.job.uid);
    if (known === undefined || nowMs < known.dueMs) return;
    const { pace } = run;
    if (pace === undefined || !isNewsOfPace(known.pace, pace)) return;
    known.dueMs = nowMs + PACE_MS;
    known.pace = pace;
    unwritten.set(run.job.uid, run);
  }

  async function writeOne(run: WatchedRun, signal: AbortSignal): Promise<void> {
    const { job, timeSpent } = run;
    const object = jobNow(jobs, job);
    if (object === undefined) return;
    const pace = paces.get(job.uid)?.pace;
    // One that ended while it was stalled says what it said.
    const stall = runs.has(job.uid) ? run.stall : run.stall && writer.told(job.kind, object);
    await writer.write(job, object, { stall, pace, timeSpent }, signal);
  }

  /** Writes what jobs do not say yet. Resolves with the first error. */
  async function writeSome(signal: AbortSignal): Promise<unknown> {
    const some = [...new Map([...unwritten, ...later]).values()].slice(0, WRITES.most);
    for (const { job } of some) [unwritten, later].forEach((it) => it.delete(job.uid));
    const attempt = async (run: WatchedRun) => {
      try {
        await writeOne(run, signal);
      } catch (error) {
        // What is refused as it stands is written again once the cache shows another job.
        if (isInvalid(error)) return log.debug("a stall is refused", { problem: messageOf(error) });
        if (jobNow(jobs, run.job) !== undefined) unwritten.set(run.job.uid, run);
        throw error;
      }
    };
    const [error] = await inParallel(some, attempt, { limit: WRITES.limit, signal });
    return error;
  }

  async function writeAll(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      await clock.sleep(TICK_MS + backoffMs(failures, RETRY, Math.random), signal);
      if (signal.aborted || !leading()) continue;
      const error = await writeSome(signal);
      failures = error === undefined ? 0 : failures + 1;
      if (error === undefined || signal.aborted) continue;
      log.debug("cannot write the stalls of jobs; retrying", { problem: messageOf(error) });
    }
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
      const writing = writeAll(signal);
      try {
        tickedMs = clock.monotonic();
        while (!signal.aborted) {
          await clock.sleep(TICK_MS, signal);
          if (!signal.aborted) judge();
        }
        await writing;
      } finally {
        stops.forEach((stop) => stop?.());
      }
    },
  };
}
