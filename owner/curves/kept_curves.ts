/** Curves that outlive their term: what logs and texts beside them have is read when somebody asks, and what has changed is kept. */
import { getLogger } from "@logtape/logtape";
import { type AnyJob, jobNow, type JobRef, type WatchedJobs } from "../../crds/job_kind.ts";
import { endOf, endTimeOf, progressOf } from "../../crds/job_state.ts";
import { parseShownCurves, type ShownCurves } from "../../crds/wire/shown_curves.ts";
import { backoffMs } from "../../platform/base/backoff.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { answerInTime, withDeadline } from "../../platform/base/deadline.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { Observations } from "../observations/observations.ts";
import type { HistoryNews } from "../observations/sink.ts";
import { type CurveStore, PROGRESS, STEP } from "./curve_store.ts";
import { isNoMetric, keptSamplesOf, rowSamplesOf } from "./kept_samples.ts";
import { readInParts } from "./log_reading.ts";
import { GAP_TEXTS } from "./marks.ts";

/** Bounds of what is read and kept. */
const KEPT_LIMITS = {
  /** Logs that are read at a time, and those that are read or wait for it: others when they are asked for again. */
  logsAtOnce: 2,
  waiting: 1_000,
  /** Time after which a log is read again that could not be read, or whose curves gave way, in milliseconds. */
  failedMs: 10_000,
  droppedMs: 60_000,
  /** Jobs of which it is remembered what was read. */
  jobs: 100_000,
  /** What has changed is kept so often, of so many jobs at a time, and the ends of as many: a process that is killed loses as much. */
  keepEveryMs: 1_000,
  atOnce: 100,
  /** What is kept in one call, in characters: texts of a hundred jobs are seldom longer. */
  charsAtOnce: 4 << 20,
} as const;
const RETRY = { firstMs: KEPT_LIMITS.keepEveryMs, longestMs: 30_000 } as const;

/** Clocks of this replica and of the API server may differ by so much, in milliseconds. */
const CLOCKS_MS = 10_000;

/** Options of {@link createKeptCurves}. */
export interface KeptCurvesOptions {
  /** The caches of jobs by their kind. */
  readonly jobs: WatchedJobs;
  readonly store: Pick<CurveStore, "record" | "mark" | "unmark" | "end" | "curvesOf">;
  readonly logs: Pick<Observations, "pageOf" | "logOf" | "history">;
  readonly clock: Clock;
}

/** What is to be kept of a job. */
interface News {
  readonly job: JobRef;
  isChanged?: boolean;
}

/** What is kept beside a log: whether anything may be, and the names of metrics of which the log lacks samples. */
interface KeptText {
  readonly isKept: boolean;
  readonly names: readonly string[];
}

/**
 * Creates the curves of a term that begins, which are made whole by what logs have of them, and kept beside these;
 * nothing is read before somebody asks.
 */
export function createKeptCurves({ jobs, store, logs, clock }: KeptCurvesOptions) {
  const log = getLogger(["milepost", "page"]);
  const beganMs = clock.now();
  const closed = new AbortController();
  const places = createSemaphore(KEPT_LIMITS.logsAtOnce);
  /** When a job's log is to be read again, in monotonic milliseconds. */
  const readAgain = createBoundedCache<number>(KEPT_LIMITS.jobs);
  /** Jobs whose curves have what is kept beside their log. */
  const withText = createBoundedCache<KeptText>(KEPT_LIMITS.jobs);
  /** The times between which the log of a job lacks samples, in milliseconds since the epoch. */
  const unrecorded = createBoundedCache<{ fromMs: number; toMs: number }>(KEPT_LIMITS.jobs);
  const reading = new Map<string, Promise<void>>();
  const waiting = new Map<string, News>();
  /** What is being kept; settles always. */
  let keeping: Promise<unknown> = Promise.resolve();

  /** The log of a job lacks samples of that time: what its curves show of it is kept beside the log. */
  function lacks(jobUid: string, timeMs: number): void {
    const times = unrecorded.get(jobUid) ?? { fromMs: timeMs, toMs: timeMs };
    times.fromMs = Math.min(times.fromMs, timeMs);
    times.toMs = Math.max(times.toMs, timeMs);
    unrecorded.set(jobUid, times);
  }

  /** Adds what is kept beside a job's log, once. Rejects with a SinkError. */
  async function addText(job: JobRef, signal: AbortSignal): Promise<KeptText> {
    const known = withText.get(job.uid);
    if (known !== undefined) return known;
    const key = await logs.logOf(job, signal);
    const text = key && await logs.history?.read(key, signal);
    const shown = text ? parseShownCurves(text) : undefined;
    const added = { isKept: text !== undefined, names: new Array<string>() };
    withText.set(job.uid, added);
    // Where logs have only the names of Trials it may be of one that had this name before.
    if (shown?.uid !== job.uid) return added;
    store.record(job, undefined, shown.metrics.flatMap(keptSamplesOf));
    for (const mark of shown.marks) store.mark(job.uid, mark);
    for (const curve of shown.metrics) {
      if (isNoMetric(curve)) continue;
      added.names.push(curve.name);
      for (const [timeMs] of curve.points) lacks(job.uid, timeMs);
    }
    return added;
  }

  /** Says where points are missing: where the job's object shows more than was found. */
  function judge(job: JobRef, isKept: boolean, hasRows: boolean, lacking: ReadonlySet<string>) {
    const object = jobNow(jobs, job);
    if (object === undefined) return;
    const shown = progressOf(job.kind, object);
    const isEnded = endOf(job.kind, object) !== undefined;
    const shownMs = Date.parse(shown?.lastUpdatedTime ?? "");
    const gap = (timeMs: number, text: string) =>
      store.mark(job.uid, { timeMs, kind: "gap", text });
    const isWhole = lacking.size === 0 && (isKept || shown?.progressPercentage === undefined);
    if (isWhole) store.unmark(job.uid, "gap");
    else if (isEnded && !hasRows) gap(shownMs, GAP_TEXTS.gone);
    else if (shownMs < beganMs) gap(beganMs, GAP_TEXTS.restarted);
    if (isEnded) store.end(job.uid);
  }

  async function read(job: JobRef): Promise<void> {
    const object = jobNow(jobs, job);
    const { metrics = [] } = object && progressOf(job.kind, object) || {};
    const lacking = new Set(metrics.map(({ name }) => name));
    const { isKept, names } = await addText(job, closed.signal);
    for (const name of names) lacking.delete(name);
    let hasRows = false;
    await readInParts({ readLog: logs.pageOf, clock }, job, {}, (rows) => {
      hasRows ||= rows.length > 0;
      for (const { name } of rows) lacking.delete(name);
      store.record(job, undefined, rowSamplesOf(rows));
    }, closed.signal);
    judge(job, isKept, hasRows, lacking);
    readAgain.set(job.uid, Infinity);
  }

  /** Whether nothing can have been pushed for the job before this term, as far as clocks agree. */
  const isNew = (job: JobRef) =>
    Date.parse(String(jobNow(jobs, job)?.metadata.creationTimestamp)) > beganMs + CLOCKS_MS;

  /** Reads the log unless that is under way, or was done. */
  function readOnce(job: JobRef): Promise<void> | undefined {
    const { uid, namespace, name } = job;
    const known = reading.get(uid);
    if (known !== undefined) return known;
    const againMs = readAgain.get(uid);
    if (againMs === undefined ? isNew(job) : againMs > clock.monotonic()) return undefined;
    if (reading.size >= KEPT_LIMITS.waiting || closed.signal.aborted) return undefined;
    const work = places.run(() => read(job), closed.signal).catch((error) => {
      if (closed.signal.aborted) return;
      readAgain.set(uid, clock.monotonic() + KEPT_LIMITS.failedMs);
      log.debug("a log cannot be read for curves", { namespace, name, problem: messageOf(error) });
    }).finally(() => reading.delete(uid));
    reading.set(uid, work);
    return work;
  }

  /** What is kept of a job: as it is asked for, but for metrics that its log has, and gaps and quiet, which are of this term. */
  function textOf({ uid }: JobRef): string | undefined {
    const { metrics = [], marks = [] } = store.curvesOf(uid, { metrics: [PROGRESS, STEP] }) ?? {};
    const times = unrecorded.get(uid);
    const lost = times && store.curvesOf(uid, times)?.metrics
      .filter((it) => !isNoMetric(it) && it.points.length > 0);
    const kept: ShownCurves = {
      uid,
      // Steps come last: those of metrics that are pushed seldom are not the last ones of their buckets.
      metrics: [...lost ?? [], ...metrics.filter(isNoMetric)],
      marks: marks.filter(({ kind }) => kind !== "gap" && kind !== "quiet"),
    };
    return kept.metrics.length + kept.marks.length === 0 ? undefined : JSON.stringify(kept);
  }

  function note({ job, isChanged }: News): void {
    const news = waiting.get(job.uid) ?? { job };
    if (isChanged) news.isChanged = true;
    waiting.set(job.uid, news);
  }

  /** Returns when the job ended, in milliseconds since the epoch; undefined if it has not. */
  function endMsOf({ kind }: JobRef, object: AnyJob): number | undefined {
    if (endOf(kind, object) === undefined) return undefined;
    const endedMs = Date.parse(endTimeOf(kind, object) ?? "");
    return Number.isFinite(endedMs) ? endedMs : clock.now();
  }

  /** Returns undefined if the job has no log, or is gone. Rejects if that is not known now. */
  async function newsOf({ job, isChanged }: News, signal: AbortSignal) {
    const object = jobNow(jobs, job);
    if (object === undefined) return undefined;
    const key = await logs.logOf(job, signal);
    if (key !== undefined && isChanged) await addText(job, signal);
    // Curves that gave way meanwhile are not whole.
    const text = isChanged && withText.has(job.uid) ? textOf(job) : undefined;
    return key && { key, text, endedMs: endMsOf(job, object) };
  }

  /** Keeps what has changed of some jobs. What could not be kept waits again. Resolves with why that is not known of one. */
  async function keepSome(signal: AbortSignal): Promise<unknown> {
    const changed = waiting.values().filter(({ isChanged }) => isChanged).take(KEPT_LIMITS.atOnce);
    const ended = waiting.values().filter(({ isChanged }) => !isChanged).take(KEPT_LIMITS.atOnce);
    const left = new Set([...changed, ...ended]);
    for (const { job } of left) waiting.delete(job.uid);
    const [news, ready]: [HistoryNews[], News[]] = [[], []];
    let chars = 0;
    let problem: unknown;
    try {
      for (const one of left) {
        if (chars > KEPT_LIMITS.charsAtOnce) break;
        try {
          const found = await newsOf(one, signal);
          ready.push(one);
          if (found !== undefined) news.push(found);
          chars += found?.text?.length ?? 0;
        } catch (error) {
          // The others do not wait for it.
          problem = error;
        }
      }
      if (news.length > 0) await logs.history?.keep(news, signal);
      for (const one of ready) left.delete(one);
      return problem;
    } finally {
      left.forEach(note);
    }
  }

  /** Rejects with why something could not be kept. */
  async function keepAll(signal: AbortSignal): Promise<void> {
    for (let before = Infinity; waiting.size < before;) {
      before = waiting.size;
      const problem = await keepSome(signal);
      if (problem !== undefined && waiting.size >= before) throw problem;
    }
  }

  return {
    /**
     * Reads the logs of those jobs whose curves are not whole, and resolves when they are, or after `waitMs`, with the
     * UIDs of those that are not yet. Returns undefined if there is nothing to read. Never rejects.
     */
    restore(asked: readonly JobRef[], waitMs: number): Promise<readonly string[]> | undefined {
      const works = asked.map(readOnce).filter((it) => it !== undefined);
      if (works.length === 0) return undefined;
      const left = () => asked.flatMap(({ uid }) => reading.has(uid) ? [uid] : []);
      const all = Promise.all(works).then(() => {});
      return Promise.resolve(answerInTime(clock, waitMs, undefined, () => all, closed.signal))
        .then(left);
    },
    /** Progress, steps or marks of a job have changed, or only whether it has ended. */
    changed(job: JobRef, isChanged = true): void {
      if (logs.history === undefined || waiting.get(job.uid)?.isChanged) return;
      note({ job, isChanged });
    },
    lacks,
    /** The curves of a job have given way to others, or it is gone. */
    dropped(jobUid: string): void {
      withText.delete(jobUid);
      unrecorded.delete(jobUid);
      readAgain.set(jobUid, clock.monotonic() + KEPT_LIMITS.droppedMs);
    },
    /** Keeps what changes until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      for (let failures = 0;;) {
        // Without a failure that is up to a second.
        await clock.sleep(backoffMs(failures, RETRY, Math.random), signal);
        // What waits now is kept by `close`, which has a signal that still allows it.
        if (signal.aborted) return;
        const tell = (error: unknown) =>
          log.debug("cannot keep progress and marks; retrying", { problem: messageOf(error) });
        keeping = keepSome(signal).then((problem) => {
          failures = 0;
          if (problem !== undefined) tell(problem);
        }, (error) => {
          failures++;
          tell(error);
        });
        await keeping;
      }
    },
    /** Keeps what has changed within that time, and ends. */
    async close(withinMs: number): Promise<void> {
      const onDeadline = () => new Error(`not within ${withinMs} ms`);
      await keeping;
      try {
        if (withinMs > 0) {
          await withDeadline({ clock, deadlineMs: withinMs, onDeadline }, keepAll);
        }
      } catch (error) {
        const problem = messageOf(error);
        log.warn("progress and marks of jobs could not be kept", { jobs: waiting.size, problem });
      }
      closed.abort();
    },
  };
}
