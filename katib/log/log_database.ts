/** Database of the log store: its file or memory, its size, and transactions. */
import { DatabaseSync } from "node:sqlite";
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../platform/kube/errors.ts";
import {
  FILE_PRAGMAS,
  PAGE_BYTES,
  prepareStatements,
  sizePragmas,
  TABLES,
} from "./log_store_sql.ts";

/** Place and size of the database. */
export interface LogDatabaseOptions {
  /** The file, which is created if it does not exist; in memory if undefined. */
  readonly path?: string | undefined;
  /** Size of the database; a file that is larger is made smaller. Default 4 GiB in a file, 128 MiB in memory. */
  readonly maxBytes?: number | undefined;
}

const DEFAULT_BYTES = { file: 4 * 1024 ** 3, memory: 128 * 1024 ** 2 } as const;
/** SQLite's result code SQLITE_FULL: of a database that has reached its size, and of a full disk. */
const FULL = 13;
/** Pages that a transaction takes besides what is written to each log. */
const PAGES_PER_LOG = 8;

const pagesRow = z.object({ pages: z.number() });

function openFile(path: string | undefined): DatabaseSync {
  if (path === undefined) return new DatabaseSync(":memory:");
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
  return new DatabaseSync(path);
}

/** An open database with its tables and statements. */
export type LogDatabase = ReturnType<typeof openLogDatabase>;

/** Opens the database. Throws an error of SQLite, or of the file. */
export function openLogDatabase({ path, maxBytes }: LogDatabaseOptions) {
  const database = openFile(path);
  const bytes = maxBytes ?? (path === undefined ? DEFAULT_BYTES.memory : DEFAULT_BYTES.file);
  const maxPages = Math.ceil(bytes / PAGE_BYTES);

  function prepared() {
    const filePragmas = path === undefined ? "" : FILE_PRAGMAS;
    try {
      database.exec(`${sizePragmas(maxPages)}${filePragmas}${TABLES}`);
      return prepareStatements(database);
    } catch (error) {
      database.close();
      throw error;
    }
  }
  const sql = prepared();
  const pages = () => pagesRow.parse(sql.pages.get()).pages;

  return {
    sql,
    /** Does all of the work or nothing of it. */
    inTransaction(work: () => void): void {
      database.exec("BEGIN IMMEDIATE");
      try {
        work();
        database.exec("COMMIT");
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
    },
    /**
     * Whether a write of so many bytes to so many logs has failed because the database has reached its size. What fails
     * on a full disk fails in the same way, and nothing is gained there by giving up logs.
     */
    hasReachedSize(error: unknown, writtenBytes: number, logs: number): boolean {
      const isFull = error instanceof Error && "errcode" in error && error.errcode === FULL;
      return isFull && pages() + writtenBytes / PAGE_BYTES + logs * PAGES_PER_LOG >= maxPages;
    },
    /** Gives a file back to the disk what a former start had allowed it more. `drop` gives up a log, and says whether there was one. */
    shrink(drop: () => boolean): void {
      if (pages() <= maxPages) return;
      const used = () => pages() - pagesRow.parse(sql.freePages.get()).pages;
      try {
        while (used() > maxPages && drop());
        database.exec(`VACUUM; ${sizePragmas(maxPages)}`);
      } catch (error) {
        const problem = messageOf(error);
        getLogger(["milepost", "katib"])
          .warn("a database cannot be made smaller now; it works as it is", { path, problem });
      }
    },
    close() {
      if (database.isOpen) database.close();
    },
  };
}
