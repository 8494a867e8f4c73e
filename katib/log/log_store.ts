/**
 * Logs in an SQLite database: in a file, or in memory for the life of the process. A row is in a log
 * once, whoever gives it how often.
 */
import { DatabaseSync } from "node:sqlite";
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { messageOf } from "../../kube/errors.ts";
import type { KnownRow } from "./known_row.ts";

/** Rows for one log. */
export interface StoreAppend {
  readonly log: string;
  /** Whether the log loses its oldest rows when there are too many. */
  readonly isPlain: boolean;
  readonly rows: readonly KnownRow[];
}

/** Which rows of a log are read; the times are `sortableTime`s and belong to it. */
export interface StoreRange {
  readonly metric?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** A row as the store answers it. */
export interface StoredRow {
  /** `sortableTime`. */
  readonly at: string;
  readonly name: string;
  readonly value: string;
}

/** Options of {@link openLogStore}. */
export interface LogStoreOptions {
  /** The file, made where it is missing; undefined: in memory. */
  readonly path?: string | undefined;
  /** Of the database in all. Default 4 GiB in a file, 128 MiB in memory. */
  readonly maxBytes?: number | undefined;
  /** Of one plain log. Default 100000. */
  readonly maxPlainRows?: number | undefined;
}

/** All calls are synchronous; each is a transaction of its own. */
export interface LogStore {
  /** Appends all or nothing. Throws {@link StoreFull}, or what SQLite says. */
  append(appends: readonly StoreAppend[]): void;
  /** By time, ties in the order of writing. */
  read(log: string, range?: StoreRange): StoredRow[];
  delete(log: string): void;
  /** Whether the database answers. */
  check(): void;
  close(): void;
}

/** The database has its size, and no plain log is left to be given up. */
export class StoreFull extends Error {}

const PAGE_BYTES = 4096;
const DEFAULT_BYTES = { file: 4 * 1024 ** 3, memory: 128 * 1024 ** 2 } as const;
/** SQLite's result code SQLITE_FULL. */
const FULL = 13;

/** `at` counts microseconds from 1970; `place` tells the order of rows of one time. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS logs (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, is_plain INTEGER NOT NULL,
    row_count INTEGER NOT NULL DEFAULT 0, touched INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS entries (
    log INTEGER NOT NULL, at INTEGER NOT NULL, metric TEXT NOT NULL, value TEXT NOT NULL,
    place INTEGER NOT NULL, PRIMARY KEY (log, at, metric, value)
  ) WITHOUT ROWID;
`;

/** A commit is on the disk when it returns; the lock keeps a second process out. */
const FILE_PRAGMAS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
`;

const logRow = z.object({ id: z.number(), row_count: z.number() }).optional();
const nameRow = z.object({ name: z.string() }).optional();

/** Seconds and microseconds of a `sortableTime`: together they are no safe number. */
function splitTime(at: string): [seconds: number, micros: number] {
  return [Date.parse(`${at.slice(0, 19)}Z`) / 1000, Number(at.slice(20, 26))];
}

function joinTime(seconds: number, micros: number): string {
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  return `${text}.${String(micros).padStart(6, "0")}Z`;
}

/** A row of the query `entries`. Checked by hand: logs have a hundred thousand rows. */
function storedRow({ seconds, micros, metric, value }: Record<string, unknown>): StoredRow {
  if (
    typeof seconds !== "number" || typeof micros !== "number" || typeof metric !== "string" ||
    typeof value !== "string"
  ) throw new Error("the database has a row that is none");
  return { at: joinTime(seconds, micros), name: metric, value };
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

class SqliteLogStore implements LogStore {
  readonly #database: DatabaseSync;
  readonly #maxPlainRows: number;
  readonly #sql;

  constructor({ path, maxBytes, maxPlainRows = 100_000 }: LogStoreOptions) {
    this.#maxPlainRows = maxPlainRows;
    this.#database = openDatabase(path);
    const bytes = maxBytes ?? (path === undefined ? DEFAULT_BYTES.memory : DEFAULT_BYTES.file);
    try {
      const pages = `PRAGMA page_size = ${PAGE_BYTES};
        PRAGMA max_page_count = ${Math.ceil(bytes / PAGE_BYTES)};`;
      this.#database.exec(`${pages}${path === undefined ? "" : FILE_PRAGMAS}${TABLES}`);
      this.#sql = this.#prepare();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  append(appends: readonly StoreAppend[]): void {
    for (;;) {
      try {
        return this.#inTransaction(() => {
          for (const append of appends) this.#appendOne(append);
        });
      } catch (error) {
        if (!isFull(error)) throw error;
        this.#dropPlainLog(appends, error);
      }
    }
  }

  read(log: string, { metric, from, to }: StoreRange = {}): StoredRow[] {
    const known = this.#logOf(log);
    if (known === undefined) return [];
    const [fromSeconds, fromMicros] = from === undefined ? [null, null] : splitTime(from);
    const [toSeconds, toMicros] = to === undefined ? [null, null] : splitTime(to);
    const found = this.#sql.entries.all({
      log: known.id,
      metric: metric ?? null,
      fromSeconds,
      fromMicros,
      toSeconds,
      toMicros,
    });
    return found.map(storedRow);
  }

  delete(log: string): void {
    const known = this.#logOf(log);
    if (known === undefined) return;
    this.#inTransaction(() => {
      this.#sql.deleteEntries.run(known.id);
      this.#sql.deleteLog.run(known.id);
    });
  }

  check(): void {
    this.#sql.log.get("");
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #prepare() {
    const prepare = (text: string) => this.#database.prepare(text);
    return {
      log: prepare("SELECT id, row_count FROM logs WHERE name = ?"),
      addLog: prepare("INSERT OR IGNORE INTO logs (name, is_plain) VALUES (?, ?)"),
      addEntry: prepare(`
        INSERT OR IGNORE INTO entries
        SELECT :log, a.at, :metric, :value,
          (SELECT COUNT(*) FROM entries e WHERE e.log = :log AND e.at = a.at)
        FROM (SELECT :seconds * 1000000 + :micros AS at) a`),
      count: prepare(`
        UPDATE logs SET row_count = row_count + ?,
          touched = (SELECT MAX(touched) + 1 FROM logs) WHERE id = ?`),
      trim: prepare(`
        DELETE FROM entries WHERE log = :log AND at <
          (SELECT at FROM entries WHERE log = :log ORDER BY at DESC LIMIT 1 OFFSET :keep)`),
      entries: prepare(`
        SELECT (at - micros) / 1000000 AS seconds, micros, metric, value FROM (
          SELECT at, (at % 1000000 + 1000000) % 1000000 AS micros, metric, value, place
          FROM entries WHERE log = :log AND (:metric IS NULL OR metric = :metric)
            AND (:fromSeconds IS NULL OR at >= :fromSeconds * 1000000 + :fromMicros)
            AND (:toSeconds IS NULL OR at <= :toSeconds * 1000000 + :toMicros))
        ORDER BY at, place`),
      deleteEntries: prepare("DELETE FROM entries WHERE log = ?"),
      deleteLog: prepare("DELETE FROM logs WHERE id = ?"),
      oldestPlain: prepare("SELECT name FROM logs WHERE is_plain = 1 ORDER BY touched LIMIT 1"),
    };
  }

  #logOf(name: string) {
    return logRow.parse(this.#sql.log.get(name));
  }

  #appendOne({ log, isPlain, rows }: StoreAppend): void {
    this.#sql.addLog.run(log, isPlain ? 1 : 0);
    const known = this.#logOf(log);
    if (known === undefined) throw new Error(`the log ${log} could not be made`);
    let added = 0;
    for (const { at, wire: { metric } } of rows) {
      const [seconds, micros] = splitTime(at);
      const { name, value } = metric;
      const entry = { log: known.id, seconds, micros, metric: name, value };
      added += Number(this.#sql.addEntry.run(entry).changes);
    }
    const keep = this.#maxPlainRows;
    // Not at each row: a tenth more is tolerated.
    if (isPlain && known.row_count + added > keep * 1.1) {
      added -= Number(this.#sql.trim.run({ log: known.id, keep: keep - 1 }).changes);
    }
    this.#sql.count.run(added, known.id);
  }

  #inTransaction(work: () => void): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Gives up the plain log that was written to longest ago. */
  #dropPlainLog(appends: readonly StoreAppend[], cause: unknown): void {
    const oldest = nameRow.parse(this.#sql.oldestPlain.get());
    const isNeeded = appends.some(({ log }) => log === oldest?.name);
    if (oldest === undefined || isNeeded) {
      throw new StoreFull("the database has the size that it may have", { cause });
    }
    this.delete(oldest.name);
  }
}

/** Opens the database. Throws an Error that names the file where it cannot be used. */
export function openLogStore(options: LogStoreOptions = {}): LogStore {
  try {
    return new SqliteLogStore(options);
  } catch (cause) {
    const why = messageOf(cause);
    const hint = /locked/.test(why) ? " (another process is using it)" : "";
    throw new Error(`cannot keep observations in ${options.path}: ${why}${hint}`, { cause });
  }
}
