/** SQL of the log store: tables, settings of a file, and prepared statements. */
import type { DatabaseSync } from "node:sqlite";

/** Bytes of a page of the database. */
export const PAGE_BYTES = 4096;

/**
 * What is kept beside a log, and when its job ended, is in `kept`. `at` is in microseconds since 1970; `place` is the order of rows with the same time. The entries of one time
 * are of one sample, whose pod and step are in a table of their own: earlier versions, which know nothing of
 * it, open the file too. What they delete of a log is its rows and its name: the trigger, which is in the file,
 * takes the rest, before another log gets the same id.
 */
export const TABLES = `
  CREATE TABLE IF NOT EXISTS logs (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, is_plain INTEGER NOT NULL,
    row_count INTEGER NOT NULL DEFAULT 0, touched INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS entries (
    log INTEGER NOT NULL, at INTEGER NOT NULL, metric TEXT NOT NULL, value TEXT NOT NULL,
    place INTEGER NOT NULL, PRIMARY KEY (log, at, metric, value)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS samples (
    log INTEGER NOT NULL, at INTEGER NOT NULL, run TEXT NOT NULL, step INTEGER,
    PRIMARY KEY (log, at)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS kept (
    log INTEGER PRIMARY KEY, text TEXT NOT NULL DEFAULT '', ended INTEGER
  );
  CREATE TRIGGER IF NOT EXISTS delete_log AFTER DELETE ON logs BEGIN
    DELETE FROM entries WHERE log = OLD.id;
    DELETE FROM samples WHERE log = OLD.id;
    DELETE FROM kept WHERE log = OLD.id;
  END;
  DELETE FROM samples WHERE log NOT IN (SELECT id FROM logs);
  DELETE FROM kept WHERE log NOT IN (SELECT id FROM logs);
`;

/** A commit returns when it is on the disk; the lock keeps other processes out. */
export const FILE_PRAGMAS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
`;

/** Returns the settings for a database of at most so many pages. */
export function sizePragmas(maxPages: number): string {
  return `
    PRAGMA page_size = ${PAGE_BYTES};
    PRAGMA max_page_count = ${maxPages};
  `;
}

/** Prepares the statements of a database that has its tables. */
export function prepareStatements(database: DatabaseSync) {
  const prepare = (text: string) => database.prepare(text);
  return {
    log: prepare("SELECT id, row_count FROM logs WHERE name = ?"),
    trialLogs: prepare(`
      SELECT name FROM logs WHERE is_plain = 0 AND name > :after ORDER BY name LIMIT :limit`),
    addLog: prepare("INSERT OR IGNORE INTO logs (name, is_plain) VALUES (?, ?)"),
    addEntry: prepare(`
      INSERT OR IGNORE INTO entries
      SELECT :log, a.at, :metric, :value,
        (SELECT COUNT(*) FROM entries e WHERE e.log = :log AND e.at = a.at)
      FROM (SELECT :seconds * 1000000 + :micros AS at) a`),
    addSample: prepare(`
      INSERT OR IGNORE INTO samples
      SELECT :log, :seconds * 1000000 + :micros, :run, :step`),
    count: prepare(`
      UPDATE logs SET row_count = row_count + ?,
        touched = (SELECT MAX(touched) + 1 FROM logs) WHERE id = ?`),
    trim: prepare(`
      DELETE FROM entries WHERE log = :log AND at <
        (SELECT at FROM entries WHERE log = :log ORDER BY at DESC LIMIT 1 OFFSET :keep)`),
    trimSamples: prepare(`
      DELETE FROM samples WHERE log = :log AND at <
        (SELECT MIN(at) FROM entries WHERE log = :log)`),
    entries: prepare(`
      SELECT (at - (at % 1000000 + 1000000) % 1000000) / 1000000 AS seconds,
        (at % 1000000 + 1000000) % 1000000 AS micros, metric, value, run, step
      FROM entries LEFT JOIN samples USING (log, at)
      WHERE log = :log AND at BETWEEN :from AND :to AND (at > :from OR place >= :place)
        AND (:metric IS NULL OR metric = :metric)
      ORDER BY at, place LIMIT :limit`),
    keep: prepare(`
      INSERT INTO kept VALUES (:log, COALESCE(:text, ''), :ended) ON CONFLICT DO UPDATE SET
        text = COALESCE(:text, text), ended = IIF(:ended IS NULL, NULL, COALESCE(ended, :ended))`),
    kept: prepare("SELECT text FROM kept JOIN logs ON kept.log = logs.id WHERE name = ?"),
    deleteLog: prepare("DELETE FROM logs WHERE name = ?"),
    givesWay: prepare(`
      SELECT name FROM logs LEFT JOIN kept ON kept.log = logs.id
      WHERE ended IS NOT NULL OR is_plain = 1
      ORDER BY ended IS NULL, is_plain DESC, ended, touched LIMIT ?`),
    ended: prepare(`
      SELECT name FROM logs JOIN kept ON kept.log = logs.id
      WHERE ended < ? ORDER BY ended LIMIT 1`),
    pages: prepare("SELECT page_count AS pages FROM pragma_page_count"),
    freePages: prepare("SELECT freelist_count AS pages FROM pragma_freelist_count"),
  };
}
