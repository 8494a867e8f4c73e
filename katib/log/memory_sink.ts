/** Logs in the memory of this process: they end with it. */
import { shortTime, sortableTime } from "./row_time.ts";
import { type LogKey, type ObservationRow, type ObservationSink, SinkError } from "./sink.ts";

/** How much is kept. */
export interface MemorySinkOptions {
  /** Rows of one log. A job without a trial loses its oldest then; a trial is refused more. Default 100000. */
  readonly maxRowsPerLog?: number;
  /** Rows of all logs; beyond it every append is refused as unavailable. Default 1000000. */
  readonly maxRows?: number;
}

interface Row {
  /** {@link sortableTime}. */
  readonly at: string;
  readonly name: string;
  readonly value: string;
}

/** The rows of one log, sorted, and what tells a repeated one. */
interface Log {
  readonly rows: Row[];
  readonly known: Set<string>;
}

/** Identifies a log among all others. */
function textOf({ kind, namespace, name, uid }: LogKey): string {
  return [kind, namespace, name, uid].join("/");
}

function identityOf({ at, name, value }: Row): string {
  return `${at}\n${name}\n${value}`;
}

function rowOf({ time, name, value }: ObservationRow): Row {
  const at = sortableTime(time);
  if (at === undefined) throw new SinkError("refused", `"${time}" is no RFC 3339 time`);
  return { at, name, value };
}

/** Puts a row behind all that are not later. */
function insert(rows: Row[], row: Row): void {
  let place = rows.length;
  while (place > 0 && (rows[place - 1]?.at ?? "") > row.at) place--;
  rows.splice(place, 0, row);
}

/** Creates a sink without any log. */
export function createMemorySink(options: MemorySinkOptions = {}): ObservationSink {
  const { maxRowsPerLog = 100_000, maxRows = 1_000_000 } = options;
  const logs = new Map<string, Log>();
  let total = 0;

  function dropOldest(log: Log): void {
    const oldest = log.rows.shift();
    if (oldest === undefined) return;
    log.known.delete(identityOf(oldest));
    total--;
  }

  function append(key: LogKey, given: readonly ObservationRow[]): void {
    const text = textOf(key);
    const log = logs.get(text) ?? { rows: [], known: new Set<string>() };
    const fresh = given.map(rowOf).filter((row) => !log.known.has(identityOf(row)));
    const keepsAll = key.kind === "trial";
    if (total + fresh.length > maxRows) {
      throw new SinkError("unavailable", `the log in memory is full (${maxRows} rows)`);
    }
    if (keepsAll && log.rows.length + fresh.length > maxRowsPerLog) {
      throw new SinkError("unavailable", `the log of ${text} is full (${maxRowsPerLog} rows)`);
    }
    logs.set(text, log);
    for (const row of fresh) {
      if (log.known.has(identityOf(row))) continue;
      log.known.add(identityOf(row));
      insert(log.rows, row);
      total++;
    }
    while (log.rows.length > maxRowsPerLog) dropOldest(log);
  }

  const answer = <T>(signal: AbortSignal, work: () => T): Promise<T> =>
    new Promise((resolve) => {
      if (signal.aborted) throw new SinkError("unavailable", "out of time");
      resolve(work());
    });

  return {
    name: "memory",
    keepsPlainJobs: true,
    isShared: false,
    append: (key, rows, signal) => answer(signal, () => append(key, rows)),
    read: (key, signal) =>
      answer(signal, () =>
        (logs.get(textOf(key))?.rows ?? []).map(({ at, name, value }) => ({
          time: shortTime(at),
          name,
          value,
        }))),
    delete: (key, signal) =>
      answer(signal, () => {
        total -= logs.get(textOf(key))?.rows.length ?? 0;
        logs.delete(textOf(key));
      }),
    close: () => Promise.resolve(),
  };
}
