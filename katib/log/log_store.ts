/** Store of observation logs in SQLite, in a file or in memory. A log has each row once. */
import { DatabaseSync } from "node:sqlite";
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { messageOf } from "../../platform/kube/errors.ts";
import { microsOf } from "../../trials/recording/micros.ts";
import type { KnownRow } from "./known_row.ts";
import { sortableTime } from "../../trials/recording/row_time.ts";
import { afterSeen } from "../../owner/observations/log_parts.ts";
import type { LogRange } from "../../owner/observations/sink.ts";
import { FILE_PRAGMAS, prepareStatements, sizePragmas, TABLES } from "./log_store_sql.ts";

/** Rows to append to one log. */
export interface StoreAppend {
  readonly log: string;
  /** Whether the log loses its oldest rows when it has too many. */
  readonly isPlain: boolean;
  readonly rows: readonly KnownRow[];
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

/** Options of {@link openLogStore}. */
export interface LogStoreOptions {
  /** The file, which is created if it does not exist; in memory if undefined. */
  readonly path?: string | undefined;
  /** Size of the database. Default 4 GiB in a file, 128 MiB in memory. */
  readonly maxBytes?: number | undefined;
  /** Most rows of a plain log. Default 100000. */
  readonly maxPlainRows?: number | undefined;
}

/** Logs. All calls are synchronous; each is a transaction. */
export interface LogStore {
  /** Appends all or nothing. Throws {@link StoreFull}, or an error of SQLite. */
  append(appends: readonly StoreAppend[]): void;
  /** Returns rows sorted by time, ties in the order of writing. */
  read(log: string, range?: LogRange): StoredRow[];
  delete(log: string): void;
  /** Returns the names of logs that are not plain, in their order, after one of them. */
  names(after: string, limit: number): string[];
  /** Throws if the database does not work. */
  check(): void;
  close(): void;
}

/** The database has reached its size, and has no plain log left to drop. */
export class StoreFull extends Error {}

const DEFAULT_BYTES = { file: 4 * 1024 ** 3, memory: 128 * 1024 ** 2 } as const;
/** SQLite's result code SQLITE_FULL. */
const FULL = 13;

const logRow = z.object({ id: z.number(), row_count: z.number() }).optional();
const name = z.object({ name: z.string() });
const nameRow = name.optional();
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

function openDatabase(path: string | undefined): DatabaseSync {
  if (path === undefined) return new DatabaseSync(":memory:");
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
  return new DatabaseSync(path);
}

const isFull = (error: unknown) =>
  error instanceof Error && "errcode" in error && error.errcode === FULL;

/** Opens the database with its tables and statements. */
function prepared({ path, maxBytes }: LogStoreOptions) {
  const database = openDatabase(path);
  const bytes = maxBytes ?? (path === undefined ? DEFAULT_BYTES.memory : DEFAULT_BYTES.file);
  try {
    const filePragmas = path === undefined ? "" : FILE_PRAGMAS;
    database.exec(`${sizePragmas(bytes)}${filePragmas}${TABLES}`);
    return { database, sql: prepareStatements(database) };
  } catch (error) {
    database.close();
    throw error;
  }
}

function storeOf(
  { database, sql }: ReturnType<typeof prepared>,
  maxPlainRows: number,
): LogStore {
  function remove(log: string): void {
    const known = logOf(log);
    if (known === undefined) return;
    inTransaction(() => {
      sql.deleteEntries.run(known.id);
      sql.deleteSamples.run(known.id);
      sql.deleteLog.run(known.id);
    });
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

  function inTransaction(work: () => void): void {
    database.exec("BEGIN IMMEDIATE");
    try {
      work();
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Drops the plain log that was written to longest ago. */
  function dropPlainLog(appends: readonly StoreAppend[], cause: unknown): void {
    const oldest = nameRow.parse(sql.oldestPlain.get());
    const isNeeded = appends.some(({ log }) => log === oldest?.name);
    if (oldest === undefined || isNeeded) {
      throw new StoreFull("the database has reached its maximum size", { cause });
    }
    remove(oldest.name);
  }

  return {
    append(appends) {
      for (;;) {
        try {
          return inTransaction(() => {
            for (const append of appends) appendOne(append);
          });
        } catch (error) {
          if (!isFull(error)) throw error;
          dropPlainLog(appends, error);
        }
      }
    },
    read(log, range = {}) {
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
    delete: remove,
    names: (after, limit) =>
      nameRows.parse(sql.trialLogs.all({ after, limit })).map(({ name }) => name),
    check: () => void sql.log.get(""),
    close() {
      if (database.isOpen) database.close();
    },
  };
}

/** Opens the database. Throws an Error that names the file if it cannot be used. */
export function openLogStore(options: LogStoreOptions = {}): LogStore {
  try {
    return storeOf(prepared(options), options.maxPlainRows ?? 100_000);
  } catch (cause) {
    const why = messageOf(cause);
    const hint = /locked/.test(why) ? " (another process is using it)" : "";
    throw new Error(`cannot keep observations in ${options.path}: ${why}${hint}`, { cause });
  }
}
