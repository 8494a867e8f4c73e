/** Observation sink over a log store: in an SQLite file, or in memory. */
import { type Clock, systemClock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { deleteOldLogs, type HistoryBounds } from "./kept_ages.ts";
import { knownRow } from "./known_row.ts";
import { type LogStore, openLogStore } from "./log_store.ts";
import { shortTime } from "../../trials/recording/row_time.ts";
import { type ObservationSink, SinkError, type SinkName } from "../../owner/observations/sink.ts";
import { logKeyOf, logKeyText } from "../../trials/recording/observation_row.ts";
import { createStoreWriter } from "./store_writer.ts";

/** Commits to a file take at most half of the time. */
const PAUSE_PER_COMMIT = 1;

/** Creates a sink that keeps its logs in the store. */
export function createStoreSink(
  { name, isDurable, store, clock, bounds = {} }: {
    readonly name: SinkName;
    /** Whether the store is a file. */
    readonly isDurable: boolean;
    /** The sink closes it. */
    readonly store: LogStore;
    readonly clock: Clock;
    readonly bounds?: HistoryBounds | undefined;
  },
): ObservationSink {
  const stop = deleteOldLogs(store, clock, bounds);
  const writer = createStoreWriter({
    store,
    clock,
    pausePerCommit: isDurable ? PAUSE_PER_COMMIT : 0,
  });

  /** Runs `work`, and turns any error of the database into a SinkError. */
  const attempt = <T>(signal: AbortSignal, work: () => T): Promise<T> =>
    new Promise((resolve) => {
      if (signal.aborted) {
        throw new SinkError("unavailable", "the deadline passed before the log was read");
      }
      try {
        resolve(work());
      } catch (cause) {
        const problem = `the log's database: ${messageOf(cause)}`;
        throw new SinkError("unavailable", problem, { cause });
      }
    });

  return {
    traits: {
      name,
      keepsPlainJobs: true,
      isShared: isDurable,
      knowsTrialsByNameAlone: false,
      keepsRuns: true,
    },
    async append(key, rows, signal) {
      const append = {
        log: logKeyText(key),
        isPlain: key.kind === "job",
        rows: rows.map(knownRow),
      };
      if (rows.length > 0) await writer.append(append, signal);
    },
    read: (key, signal, range) =>
      attempt(signal, () => {
        const rows = store.read(logKeyText(key), range);
        return rows.map(({ at, ...row }) => ({ time: shortTime(at), ...row }));
      }),
    list: (after, limit, signal) =>
      attempt(signal, () => {
        const names = store.names(after === undefined ? "" : logKeyText(after), limit);
        return names.flatMap((name) => logKeyOf(name) ?? []);
      }),
    history: {
      keep: (news, signal) =>
        attempt(signal, () =>
          store.keep(news.map(({ key, ...it }) => ({
            ...it,
            log: logKeyText(key),
            isPlain: key.kind === "job",
          })))),
      read: (key, signal) => attempt(signal, () => store.history(logKeyText(key))),
    },
    delete: (key, signal) => attempt(signal, () => store.delete(logKeyText(key))),
    close() {
      stop();
      writer.close();
      store.close();
      return Promise.resolve();
    },
  };
}

/**
 * Creates a sink with its logs in a file, which is created if it does not exist, and belongs to one process
 * at a time. Throws an Error that names the file if it cannot be used.
 */
export function createSqliteSink(
  path: string,
  clock: Clock,
  bounds: HistoryBounds = {},
): ObservationSink {
  const store = openLogStore({ path, maxBytes: bounds.historyBytes });
  return createStoreSink({ name: "sqlite", isDurable: true, store, clock, bounds });
}

/** Creates an empty sink. Its rows are not on JavaScript's heap, where garbage collection visits them. */
export function createMemorySink(options: {
  /** Size of all logs; beyond it plain logs are dropped, and then appends fail. Default 128 MiB. */
  readonly maxBytes?: number;
  /** Most rows of the log of a job without a trial, which loses its oldest ones. Default 100000. */
  readonly maxPlainRows?: number;
  readonly clock?: Clock;
} = {}): ObservationSink {
  const { clock = systemClock, ...limits } = options;
  return createStoreSink({ name: "memory", isDurable: false, store: openLogStore(limits), clock });
}
