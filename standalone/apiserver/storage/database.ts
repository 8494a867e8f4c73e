/** SQLite database of the store: one row for each object, and settings such as the revision. */
import { DatabaseSync } from "node:sqlite";
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { ApiObject } from "../objects/api_object.ts";
import type { ResourceKey } from "./store.ts";

/** An object as it is loaded at start. */
export interface SavedObject {
  readonly key: ResourceKey;
  readonly object: ApiObject;
}

/** WAL survives `kill -9`; the exclusive lock prevents a second server on the same folder. */
const SCHEMA = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS objects (
    grp TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY (grp, resource, namespace, name)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

const savedRow = z.object({ grp: z.string(), resource: z.string(), body: z.string() });
const settingRow = z.object({ value: z.string() }).optional();
const savedBody = z.custom<ApiObject>((value) =>
  z.looseObject({
    metadata: z.looseObject({ name: z.string(), uid: z.string(), resourceVersion: z.string() }),
  }).safeParse(value).success, { error: "the database holds a row that is not an object" });

/** Creates folder and file with permissions for their owner only, before anything is written. */
function prepareFile(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, 0o700);
  const file = join(dataDir, "apiserver.db");
  closeSync(openSync(file, "a", 0o600));
  chmodSync(file, 0o600);
  return file;
}

function openFile(dataDir: string): DatabaseSync {
  const database = new DatabaseSync(prepareFile(dataDir));
  try {
    database.exec(SCHEMA);
    return database;
  } catch (cause) {
    database.close();
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `Cannot open the data folder ${dataDir}: ${why}. Is another API server running on it?`,
      { cause },
    );
  }
}

/** Values that outlive the process, such as a signing key. */
export type Settings = Pick<ReturnType<typeof openDatabase>, "setting" | "setSetting">;

/** Opens `apiserver.db` in the folder, or a database in memory. */
export function openDatabase(dataDir?: string) {
  const database = dataDir === undefined ? new DatabaseSync(":memory:") : openFile(dataDir);
  if (dataDir === undefined) database.exec(SCHEMA);
  const put = database.prepare("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)");
  const drop = database.prepare(
    "DELETE FROM objects WHERE grp = ? AND resource = ? AND namespace = ? AND name = ?",
  );
  const read = database.prepare("SELECT value FROM settings WHERE name = ?");
  const save = database.prepare("INSERT OR REPLACE INTO settings VALUES (?, ?)");

  const setting = (name: string) => settingRow.parse(read.get(name))?.value;
  const atOnce = (revision: number, change: () => void) => {
    database.exec("BEGIN IMMEDIATE");
    try {
      change();
      save.run("revision", `${revision}`);
      database.exec("COMMIT");
    } catch (error) {
      // SQLite itself has ended it, for one on a full disk.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };

  return {
    revision: Number(setting("revision") ?? "1"),
    load: (): SavedObject[] =>
      z.array(savedRow).parse(database.prepare("SELECT grp, resource, body FROM objects").all())
        .map(({ grp, resource, body }) => ({
          key: { group: grp, resource },
          object: savedBody.parse(JSON.parse(body)),
        })),
    write: ({ group, resource }: ResourceKey, object: ApiObject, revision: number) =>
      atOnce(revision, () => {
        const { namespace, name } = object.metadata;
        put.run(group, resource, namespace ?? "", name, JSON.stringify(object));
      }),
    erase: (
      { group, resource }: ResourceKey,
      namespace: string | undefined,
      name: string,
      revision: number,
    ) => atOnce(revision, () => drop.run(group, resource, namespace ?? "", name)),
    setting,
    setSetting: (name: string, value: string) => void save.run(name, value),
    close: () => database.close(),
  };
}
