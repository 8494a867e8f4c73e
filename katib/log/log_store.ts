/** Store of observation logs in SQLite, in a file or in memory. A log has each row once. */
import { z } from "zod";
import { messageOf } from "../../platform/kube/errors.ts";
import { microsOf } from "../../trials/recording/micros.ts";
import type { KnownRow } from "./known_row.ts";
import { sortableTime } from "../../trials/recording/row_time.ts";
import { afterSeen } from "../../owner/observations/log_parts.ts";
import type { HistoryNews, LogRange } from "../../owner/observations/sink.ts";
import { type LogDatabase, type LogDatabaseOptions, openLogDatabase } from "./log_database.ts";

/** Rows to append to one log. */
export interface StoreAppend {
  readonly log: string;
  /** Whether the log loses its oldest rows when it has too many. */
  readonly isPlain: boolean;
  readonly rows: readonly KnownRow[];
}

/** What is new beside one log. */
export interface StoreNews extends Pick<HistoryNews, "text" | "endedMs"> {
  readonly log: string;
  readonly isPlain: boolean;
}

/** A row in the store. */
export interface StoredRow {
  /** Of the form of `sortableTime`. */
  readonly at: string;
  readonly name: string;
  readonly value: string;
  readonly run?: string;
  readonly step?: number;
}

/** The database has reached its size, and has no log left that may give way. */
export class StoreFull extends Error {}

const logRow = z.object({ id: z.number(), row_count: z.number() }).optional();
const name = z.object({ name: z.string() });
const nameRow = name.optional();
const textRow = z.object({ text: z.string() }).optional();
const nameRows = z.array(name);

/** Splits a time into seconds and microseconds: their sum would not be a safe integer. */
function splitTime(at: string): [seconds: number, micros: number] {
  return [Date.parse(`${at.slice(0, 19)}Z`) / 1000, Number(at.slice(20, 26))];
}

/** The first and the last time of a range without bounds. */
const [FIRST, LAST] = [-(2n ** 63n), 2n ** 63n - 1n];

function joinTime(seconds: number, micros: number): string {
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  return `${text}.${String(micros).padStart(6, "0")}Z`;
}

/** Parses a row of the query `entries`; without a schema, since logs have a hundred thousand rows. */
function storedRow(
  { seconds, micros, metric, value, run, step }: Record<string, unknown>,
): StoredRow {
  if (
    typeof seconds !== "number" || typeof micros !== "number" || typeof metric !== "string" ||
    typeof value !== "string"
  ) throw new Error("the database contains an invalid row");
  return {
    at: joinTime(seconds, micros),
    name: metric,
    value,
    ...(typeof run === "string" && { run }),
    ...(typeof step === "number" && { step }),
  };
}

/** Bytes that a row, and what is kept beside a log, take in the database at most, about. */
const rowBytes = ({ wire: { metric: { name, value } } }: KnownRow) =>
  200 + 3 * (name.length + value.length);
const newsBytes = ({ text = "" }: StoreNews) => 400 + 3 * text.length;

/** Logs. All calls are synchronous; each is a transaction. */
export type LogStore = ReturnType<typeof storeOf>;

function storeOf(database: LogDatabase, maxPlainRows: number) {
  const { sql, inTransaction } = database;

  function remove(log: string): void {
    sql.deleteLog.run(log);
  }

  function logOf(name: string) {
    return logRow.parse(sql.log.get(name));
  }

  function appendOne({ log, isPlain, rows }: StoreAppend): void {
    sql.addLog.run(log, isPlain ? 1 : 0);
    const known = logOf(log);
    if (known === undefined) throw new Error(`cannot create the log ${log}`);
    let added = 0;
    let sampleAt = "";
    for (const { at, run, step = null, wire: { metric } } of rows) {
      const [seconds, micros] = splitTime(at);
      if (run !== undefined && at !== sampleAt) {
        sql.addSample.run({ log: known.id, seconds, micros, run, step });
        sampleAt = at;
      }
      const { name, value } = metric;
      const entry = { log: known.id, seconds, micros, metric: name, value };
      added += Number(sql.addEntry.run(entry).changes);
    }
    // Not after each row: a tenth more is tolerated.
    if (isPlain && known.row_count + added > maxPlainRows * 1.1) {
      added -= Number(sql.trim.run({ log: known.id, keep: maxPlainRows - 1 }).changes);
      sql.trimSamples.run({ log: known.id });
    }
    sql.count.run(added, known.id);
  }

  /**
   * Gives up the log of a job that ended, the oldest end first, else the plain log that was written to longest ago.
   * Returns whether there was one besides those that are needed.
   */
  function dropOldest(needed: readonly { readonly log: string }[]): boolean {
    const oldest = nameRows.parse(sql.givesWay.all(needed.length + 1))
      .find(({ name }) => !needed.some(({ log }) => log === name));
    if (oldest !== undefined) remove(oldest.name);
    return oldest !== undefined;
  }

  /** Writes in one transaction; where the database has reached its size others give way, but not where the disk is full. */
  function write<News extends { readonly log: string }>(
    all: readonly News[],
    writeOne: (news: News) => void,
    bytesOf: (news: News) => number,
  ): void {
    for (;;) {
      try {
        return inTransaction(() => all.forEach(writeOne));
      } catch (error) {
        const bytes = all.reduce((sum, it) => sum + bytesOf(it), 0);
        if (!database.hasReachedSize(error, bytes, all.length)) throw error;
        if (dropOldest(all)) continue;
        throw new StoreFull("the database has reached its maximum size", { cause: error });
      }
    }
  }

  function keepOne({ log, isPlain, text, endedMs }: StoreNews): void {
    if (text !== undefined) sql.addLog.run(log, isPlain ? 1 : 0);
    const known = logOf(log);
    if (known !== undefined) {
      sql.keep.run({ log: known.id, text: text ?? null, ended: endedMs ?? null });
    }
  }

  database.shrink(() => dropOldest([]));
  return {
    /** Appends all or nothing. Throws {@link StoreFull}, or an error of SQLite. */
    append: (appends: readonly StoreAppend[]) =>
      write(appends, appendOne, ({ rows }) => rows.reduce((sum, row) => sum + rowBytes(row), 0)),
    /** Keeps all or nothing; an end makes no log where there is none. Throws as {@link LogStore.append} does. */
    keep: (news: readonly StoreNews[]) => write(news, keepOne, newsBytes),
    /** Returns the text that is kept beside a log; it is empty if there is none. */
    history: (log: string) => textRow.parse(sql.kept.get(log))?.text ?? "",
    /** Deletes the log whose job ended first, if that was before a time in milliseconds; returns its name. */
    expire(beforeMs: number): string | undefined {
      const oldest = nameRow.parse(sql.ended.get(beforeMs))?.name;
      if (oldest !== undefined) remove(oldest);
      return oldest;
    },
    /** Returns rows sorted by time, ties in the order of writing. */
    read(log: string, range: LogRange = {}): StoredRow[] {
      const { metric, since = "", until = "", seen = 0, limit } = range;
      const known = logOf(log);
      if (known === undefined) return [];
      // Places count the rows of all metrics.
      const left = metric === undefined ? 0 : seen;
      const found = sql.entries.all({
        log: known.id,
        metric: metric ?? null,
        from: microsOf(since) ?? FIRST,
        to: microsOf(until) ?? LAST,
        place: seen - left,
        limit: limit === undefined ? -1 : limit + left,
      });
      const rows = found.map(storedRow);
      if (left === 0) return rows;
      const first = sortableTime(since);
      return afterSeen(rows, ({ at }) => at === first, left).slice(0, limit);
    },
    /** Deletes a log and what is beside it. */
    delete: remove,
    /** Returns the names of logs that are not plain, in their order, after one of them. */
    names: (after: string, limit: number) =>
      nameRows.parse(sql.trialLogs.all({ after, limit })).map(({ name }) => name),
    /** Throws if the database does not work. */
    check: () => void sql.log.get(""),
    close: database.close,
  };
}

/** Opens the database. Throws an Error that names the file if it cannot be used. */
export function openLogStore(options: LogDatabaseOptions & {
  /** Most rows of a plain log. Default 100000. */
  readonly maxPlainRows?: number | undefined;
} = {}): LogStore {
  try {
    return storeOf(openLogDatabase(options), options.maxPlainRows ?? 100_000);
  } catch (cause) {
    const why = messageOf(cause);
    const hint = /locked/.test(why) ? " (another process is using it)" : "";
    throw new Error(`cannot keep observations in ${options.path}: ${why}${hint}`, { cause });
  }
}
