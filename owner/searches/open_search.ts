/** One search of a term: its state, read from records and logs when it is needed, and kept up with what is reported. */
import { type Backoff, backoffMs } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { readGoFloat } from "../../platform/base/go_float.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import type { JobRef } from "../../crds/job_kind.ts";
import type { PruningRecord } from "../../crds/trial_records.ts";
import { sortableTime } from "../../trials/recording/row_time.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import type { ObjectiveReport } from "../../trials/pruning/trial_reports.ts";
import { isComplete, type JobTrial } from "./pruned_search.ts";
import type { RecordWriter } from "./record_writer.ts";
import {
  createSearchState,
  hasAllValues,
  type PrunedSearch,
  type SearchState,
} from "./search_state.ts";

/** Logs that are read at a time. */
const AT_ONCE = 16;
/** Pushes that wait while logs are read; of more of them the reports are not judged. */
const MAX_WAITING = 10_000;
/** Pauses after logs that could not be read. */
const RETRY: Backoff = { firstMs: 250, longestMs: 15_000 };

/** A report as it is in the log. */
interface Reported {
  readonly index: number;
  readonly row: ObservationRow;
}

/** Reports of one push; none of one that is repeated. */
interface Push {
  readonly index: number;
  readonly rows: readonly ObservationRow[];
}

/** Options of {@link createOpenSearch}. */
export interface OpenSearchOptions {
  readonly pruned: PrunedSearch;
  readonly clock: Pick<Clock, "monotonic" | "now">;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  readonly writer: RecordWriter;
  /** Returns the trials of the search that have a job. */
  readonly trials: () => readonly JobTrial[];
  /** Returns the rows of the objective in a trial's log. */
  readonly readLog: (job: JobRef) => Promise<readonly ObservationRow[]>;
  /** Whether logs keep pod and step of each row. */
  readonly keepsRuns: () => boolean;
  /** Whether a trial may be stopped now. */
  readonly mayStop: (index: number) => boolean;
}

/** One search. */
export type OpenSearch = ReturnType<typeof createOpenSearch>;

const timeOf = ({ time }: ObservationRow) => sortableTime(time) ?? time;

const reportOf = ({ value, step, run }: ObservationRow): ObjectiveReport => ({
  value: readGoFloat(value)?.value ?? NaN,
  step,
  pod: run,
});

/** Creates the search; it reads nothing before it is used. */
export function createOpenSearch(options: OpenSearchOptions) {
  const { pruned: search, clock, random, writer, trials, readLog, keepsRuns, mayStop } = options;
  const { pruner } = search;
  let records: Promise<ReadonlyMap<number, PruningRecord>> | undefined;
  let state: SearchState | undefined;
  let opening: Promise<void> | undefined;
  let waiting: Push[] = [];
  let [failures, retryAtMs] = [0, -Infinity];
  /** Writes to logs of which nobody knows whether they came in. */
  let unknown = 0;

  /** Reads the records, once. */
  async function load(): Promise<ReadonlyMap<number, PruningRecord>> {
    const loading = records ??= writer.load();
    try {
      return await loading;
    } catch (error) {
      if (records === loading) records = undefined;
      throw error;
    }
  }

  const now = (index: number) => mayStop(index) ? new Date(clock.now()).toISOString() : undefined;

  /** Returns the rows of trials whose values are not recorded, in the order of their times. */
  async function readLogs(
    all: readonly JobTrial[],
    known: ReadonlyMap<number, PruningRecord>,
  ): Promise<Reported[]> {
    const rows: Reported[] = [];
    const unread = all.filter(({ index }) => {
      const record = known.get(index);
      return record?.values === undefined || (keepsRuns() && !hasAllValues(record));
    });
    const read = async ({ index, ref }: JobTrial) => {
      for (const row of await readLog(ref)) rows.push({ index, row });
    };
    const [error] = await inParallel(unread, read, { limit: AT_ONCE });
    if (error !== undefined) throw error;
    const timed = rows.map((it) => ({ ...it, time: timeOf(it.row) }));
    return timed.sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0);
  }

  /** Judges what the log has, and no owner has answered, which only rungs of known steps show. */
  function replay(opened: SearchState, rows: readonly Reported[]): void {
    const isJudged = pruner.kind === "asha" && pruner.settings.min_resource !== "auto";
    for (const { index, row } of rows) {
      opened.add(index, reportOf(row));
      if (isJudged) opened.judge(index, now(index));
    }
  }

  async function open(): Promise<void> {
    const before = unknown;
    const known = await load();
    const rows = await readLogs(trials(), known);
    if (unknown !== before) return await open();
    const opened = createSearchState(search, known);
    replay(opened, rows);
    for (const { index, job } of trials()) if (isComplete(job)) opened.complete(index);
    const read = new Set(rows.map(({ index, row }) => `${index} ${timeOf(row)}`));
    const came = waiting;
    waiting = [];
    for (const { index, rows } of came) {
      for (const row of rows) {
        if (!read.has(`${index} ${timeOf(row)}`)) opened.add(index, reportOf(row));
        opened.judge(index, now(index));
      }
      // Of a push that is repeated a former owner may have died before it answered.
      if (rows.length === 0) opened.judge(index, now(index));
    }
    state = opened;
    failures = 0;
    await record(opened);
  }

  async function openOnce(): Promise<void> {
    try {
      await open();
    } catch (error) {
      waiting = [];
      failures += 1;
      retryAtMs = clock.monotonic() + backoffMs(failures, RETRY, random);
      throw error;
    }
  }

  function record(opened: SearchState): Promise<void> | undefined {
    const changes = opened.changes();
    return changes.size === 0 ? undefined : writer.write(changes);
  }

  return {
    /**
     * Takes the rows of the objective of a push, which are in the log now. Returns undefined if that changes nothing else;
     * otherwise it resolves when what it changes is recorded, or was tried to be. Rejects if logs or records cannot be read.
     */
    report(index: number, rows: readonly ObservationRow[]): Promise<void> | undefined {
      if (state === undefined) {
        if (opening === undefined && clock.monotonic() < retryAtMs) return undefined;
        if (waiting.length < MAX_WAITING) waiting.push({ index, rows });
        opening ??= openOnce().finally(() => opening = undefined);
        return opening;
      }
      for (const row of rows) {
        state.add(index, reportOf(row));
        state.judge(index, now(index));
      }
      return record(state);
    },
    /** Notes that the job of a trial is complete. */
    completed(index: number): void {
      state?.complete(index);
      if (state !== undefined) void record(state);
    },
    /** Rows may have come into a log of which nobody was told: it is read again. */
    readAgain(): void {
      unknown += 1;
      if (state === undefined) return;
      records = Promise.resolve(state.records());
      state = undefined;
    },
    /** Resolves with what is decided of the trials. Rejects if that is not known now. */
    records: async (): Promise<ReadonlyMap<number, PruningRecord>> =>
      state === undefined ? await load() : state.records(),
  };
}
