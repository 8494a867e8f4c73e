/** Tables of what the log store keeps beside its logs: moments, marks, and when a job ended. */
import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import {
  HISTORY_LIMITS,
  type HistoryNews,
  type JobHistory,
  marksSchema,
  type Moment,
} from "../../owner/observations/job_history.ts";

/** Earlier versions open the file too, and leave the histories of logs behind that they delete. */
export const HISTORY_TABLES = `
  CREATE TABLE IF NOT EXISTS moments (
    log INTEGER NOT NULL, at INTEGER NOT NULL, progress INTEGER, step INTEGER,
    PRIMARY KEY (log, at)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS histories (
    log INTEGER PRIMARY KEY, marks TEXT NOT NULL DEFAULT '[]', ended INTEGER,
    moment_count INTEGER NOT NULL DEFAULT 0
  );
  DELETE FROM moments WHERE log NOT IN (SELECT id FROM logs);
  DELETE FROM histories WHERE log NOT IN (SELECT id FROM logs);
`;

/** Least width of the parts of the time of which a history keeps one moment: as that of the buckets of curves. */
const LEAST_WIDTH_MS = 125;

const historyRow = z.object({
  marks: z.string().transform((text): unknown => JSON.parse(text)).pipe(marksSchema),
}).optional();
const countRow = z.object({ moment_count: z.number() });
const spanRow = z.object({ first: z.number(), last: z.number(), count: z.number() });
const optional = z.number().nullable().transform((it) => it ?? undefined);
const momentRow = z.object({ timeMs: z.number(), progress: optional, step: optional });

/** The histories of logs, by the number of the log. */
export interface HistoryTable {
  keep(log: number, news: HistoryNews): void;
  read(log: number): JobHistory;
  delete(log: number): void;
}

/** Returns the width of equal parts of the time, a power of two of the least, of which there are at most so many. */
function widthFor(first: number, last: number, parts: number): number {
  let width = LEAST_WIDTH_MS;
  while (Math.floor(last / width) - Math.floor(first / width) >= parts) width *= 2;
  return width;
}

/** Prepares the statements of a database that has the tables. */
export function createHistoryTable(database: DatabaseSync): HistoryTable {
  const sql = {
    add: database.prepare("INSERT OR IGNORE INTO histories (log) VALUES (?)"),
    history: database.prepare("SELECT marks FROM histories WHERE log = ?"),
    addMoment: database.prepare(`
      INSERT INTO moments VALUES (:log, :at, :progress, :step) ON CONFLICT DO UPDATE SET
        progress = COALESCE(excluded.progress, progress), step = COALESCE(excluded.step, step)`),
    count: database.prepare(`
      UPDATE histories SET moment_count = moment_count + :count WHERE log = :log
      RETURNING moment_count`),
    setCount: database.prepare("UPDATE histories SET moment_count = :count WHERE log = :log"),
    setMarks: database.prepare("UPDATE histories SET marks = :marks WHERE log = :log"),
    setEnded: database.prepare(
      "UPDATE histories SET ended = :ended WHERE log = :log AND ended IS NULL",
    ),
    moments: database.prepare(
      "SELECT at AS timeMs, progress, step FROM moments WHERE log = ? ORDER BY at",
    ),
    span: database.prepare(
      "SELECT MIN(at) AS first, MAX(at) AS last, COUNT(*) AS count FROM moments WHERE log = ?",
    ),
    thin: database.prepare(`
      DELETE FROM moments WHERE log = :log AND at NOT IN
        (SELECT MAX(at) FROM moments WHERE log = :log GROUP BY at / CAST(:width AS INTEGER))`),
    deletions: ["moments", "histories"].map((it) =>
      database.prepare(`DELETE FROM ${it} WHERE log = ?`)
    ),
  };

  function addMoments(log: number, moments: readonly Moment[]): void {
    for (const { timeMs, progress = null, step = null } of moments) {
      sql.addMoment.run({ log, at: timeMs, progress, step });
    }
    // Those that were there already are counted twice, until the next time that they are counted.
    const most = countRow.parse(sql.count.get({ log, count: moments.length })).moment_count;
    if (most <= HISTORY_LIMITS.moments) return;
    const { first, last, count } = spanRow.parse(sql.span.get(log));
    const width = widthFor(first, last, HISTORY_LIMITS.moments / 2);
    const isLong = count > HISTORY_LIMITS.moments;
    const thinned = isLong ? Number(sql.thin.run({ log, width }).changes) : 0;
    sql.setCount.run({ log, count: count - thinned });
  }

  return {
    keep(log, { moments = [], marks, endedMs }) {
      sql.add.run(log);
      if (moments.length > 0) addMoments(log, moments);
      if (marks !== undefined) sql.setMarks.run({ log, marks: JSON.stringify(marks) });
      if (endedMs !== undefined) sql.setEnded.run({ log, ended: endedMs });
    },
    read(log) {
      const { marks = [] } = historyRow.parse(sql.history.get(log)) ?? {};
      return { moments: z.array(momentRow).parse(sql.moments.all(log)), marks };
    },
    delete(log) {
      for (const statement of sql.deletions) statement.run(log);
    },
  };
}
