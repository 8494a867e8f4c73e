/** One search of a term: its state, read from records and logs when it is needed, and kept up with what is reported. */
import { type Backoff, backoffMs } from "../../platform/base/backoff.ts";
import type { createSizedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { goNumber } from "../../platform/base/go_float.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import type { JobRef } from "../../crds/job_kind.ts";
import { sortableTime } from "../../trials/recording/row_time.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { hasEnded, isComplete } from "../../trials/search/trial_end.ts";
import type { JobTrial } from "./pruned_search.ts";
import type { RecordWriter } from "./record_writer.ts";
import {
  createSearchState,
  needsLog,
  type PrunedSearch,
  type SearchState,
} from "./search_state.ts";

/** Logs that are read at a time. */
const AT_ONCE = 16;
/** Pushes that wait while logs are read; of more of them the log is read once more. */
const MAX_WAITING = 10_000;
/** Newest rows of a log by which a push is known that the log has already. */
const NEWEST = 1_000;
/** Time from one reading of all logs to the next, in milliseconds: where there is room for too few states. */
const REOPEN_MS = 5_000;
/** Pauses after records or logs that could not be read. */
const RETRY: Backoff = { firstMs: 1_000, longestMs: 15_000 };

/** Rows of the objective of one push; none of one that is repeated. */
interface Push extends Pick<JobTrial, "index" | "ref"> {
  readonly rows: readonly ObservationRow[];
}

/** Options of {@link createOpenSearch}. */
export interface OpenSearchOptions {
  /** The states of all searches, by UID. One that has no room is read again when it is needed. */
  readonly states: ReturnType<typeof createSizedCache<SearchState>>;
  readonly uid: string;
  readonly pruned: PrunedSearch;
  readonly clock: Pick<Clock, "monotonic" | "now">;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  readonly writer: Pick<RecordWriter, "load" | "write">;
  /** Returns the trials of the search that have a job. */
  readonly trials: () => readonly JobTrial[];
  /** Returns the rows of the objective in a trial's log. */
  readonly readLog: (job: JobRef) => Promise<readonly ObservationRow[]>;
  /** Whether logs keep pod and step of each row. */
  readonly keepsRuns: () => boolean;
  /** Whether a trial may be stopped now. */
  readonly mayStop: (index: number) => boolean;
  /** Called if records or logs cannot be read. */
  readonly onFailure: (error: unknown) => void;
}

/** One search. */
export type OpenSearch = ReturnType<typeof createOpenSearch>;

const timeOf = ({ time }: ObservationRow) => sortableTime(time) ?? time;

const reportOf = (row: ObservationRow) => ({
  value: goNumber(row.value),
  step: row.step,
  pod: row.run,
  time: timeOf(row),
});

/** Creates the search; it reads nothing before it is used. */
export function createOpenSearch(options: OpenSearchOptions) {
  const { states, uid, pruned, clock, random, writer, trials, mayStop, onFailure } = options;
  /** UIDs of the jobs whose logs are in the state, by their trials. */
  const read = new Map<number, string>();
  /** Trials whose logs are to be read, and when: again at the earliest. */
  const unread = new Map<number, { readonly failures: number; readonly atMs: number }>();
  let reading: Promise<void> | undefined;
  let waiting: Push[] = [];
  let failures = 0;
  let [loadAtMs, reopenAtMs] = [-Infinity, -Infinity];
  /** Writes to logs of which nobody knows whether they came in. */
  let unknown = 0;

  const now = (index: number) => mayStop(index) ? new Date(clock.now()).toISOString() : undefined;
  const retryAt = (count: number) => clock.monotonic() + backoffMs(count, RETRY, random);
  const isRead = ({ index, ref }: Pick<JobTrial, "index" | "ref">) => read.get(index) === ref.uid;
  const isDue = (index: number) => (unread.get(index)?.atMs ?? -Infinity) <= clock.monotonic();

  function readLater(index: number): void {
    const count = 1 + (unread.get(index)?.failures ?? 0);
    unread.set(index, { failures: count, atMs: retryAt(count) });
  }

  /** Takes in the log of one trial. Returns its newest times. */
  async function readTrial(opened: SearchState, { index, ref }: JobTrial): Promise<Set<string>> {
    const before = unknown;
    const rows = await options.readLog(ref);
    if (unknown !== before) throw new Error("the log of a trial was written to meanwhile");
    opened.read(index, rows.map(reportOf));
    read.set(index, ref.uid);
    unread.delete(index);
    return new Set(rows.slice(-NEWEST).map(timeOf));
  }

  function end(opened: SearchState, { index, ref, job }: JobTrial): void {
    if (hasEnded(job) && isRead({ index, ref })) opened.end(index, isComplete(job));
  }

  /** Keeps a state, which may have grown, before those that were used less lately. */
  function keep(opened: SearchState): void {
    states.delete(uid);
    states.set(uid, opened);
  }

  /** Takes a push whose log is in the state; `known` are times of rows that came from there. */
  function take(opened: SearchState, { index, rows }: Push, known?: ReadonlySet<string>): void {
    for (const row of rows) {
      if (known?.has(timeOf(row))) continue;
      opened.add(index, reportOf(row));
      opened.judge(index, now(index));
    }
    // Of a push that is repeated a former owner may have died before it answered.
    if (!opened.isJudged(index)) opened.judge(index, now(index));
  }

  /** Reads the records, and the logs that are not in the state. What cannot be read is left out, and read later. */
  async function readLogs(): Promise<void> {
    const records = await writer.load();
    const state = states.get(uid);
    const isNew = state === undefined;
    if (isNew) {
      read.clear();
      reopenAtMs = clock.monotonic() + REOPEN_MS;
    }
    const opened = state ?? createSearchState(pruned, records.pruning);
    // Only the controller's records say which job is a trial: anybody who makes jobs may name an owner.
    const all = trials().filter(({ index, ref }) => records.trials.get(index)?.uid === ref.uid);
    for (const { index, ref, job } of isNew ? all : []) {
      const record = records.pruning.get(index);
      const isStopped = record?.pruned !== undefined && hasEnded(job) && !isComplete(job);
      if (isStopped || !needsLog(record, options.keepsRuns())) read.set(index, ref.uid);
    }
    const times = new Map<number, Set<string>>();
    const wanted = all.filter((it) => !isRead(it) && isDue(it.index));
    const errors = await inParallel(wanted, async (trial) => {
      try {
        times.set(trial.index, await readTrial(opened, trial));
      } catch (error) {
        readLater(trial.index);
        throw error;
      }
    }, { limit: AT_ONCE });
    opened.judgeRead(now);
    for (const trial of all) end(opened, trial);
    for (const push of waiting) {
      if (isRead(push)) take(opened, push, times.get(push.index));
      else if (isDue(push.index)) readLater(push.index);
    }
    waiting = [];
    failures = 0;
    keep(opened);
    if (errors.length > 0) onFailure(errors[0]);
    await record(opened);
  }

  async function readOnce(): Promise<void> {
    try {
      await readLogs();
    } catch (error) {
      waiting = [];
      failures += 1;
      loadAtMs = retryAt(failures);
      onFailure(error);
    } finally {
      reading = undefined;
    }
  }

  function record(opened: SearchState): Promise<void> | undefined {
    const changes = opened.changes();
    return changes.size === 0 ? undefined : writer.write(changes);
  }

  /** Rows may have come into a log of which nobody was told: it is read again. */
  function readAgain(index: number): void {
    unknown += 1;
    read.delete(index);
    unread.set(index, { failures: 0, atMs: clock.monotonic() });
  }

  return {
    /**
     * Takes the rows of the objective of a push, which are in the log now. Returns undefined if that changes nothing else;
     * otherwise it resolves when what it changes is recorded, or was tried to be.
     */
    report(push: Push): Promise<void> | undefined {
      const state = states.get(uid);
      const isKnown = state !== undefined && isRead(push);
      const isWanted = isKnown ? [...unread.keys()].some(isDue) : isDue(push.index);
      const atMs = state === undefined ? Math.max(loadAtMs, reopenAtMs) : loadAtMs;
      if (isWanted && clock.monotonic() >= atMs) reading ??= readOnce();
      if (state !== undefined && isKnown) {
        take(state, push);
        keep(state);
        return record(state);
      }
      if (reading === undefined) return undefined;
      if (waiting.length < MAX_WAITING) waiting.push(push);
      else readAgain(push.index);
      return reading;
    },
    /** Notes that the job of a trial has ended. */
    ended(trial: JobTrial): void {
      const state = states.get(uid);
      if (state === undefined) return;
      end(state, trial);
      void record(state);
    },
    readAgain,
    /** Whether a trial of it has reported. */
    hasBegun: (): boolean => reading !== undefined || read.size > 0,
  };
}
