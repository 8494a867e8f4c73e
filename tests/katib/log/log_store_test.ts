/** Tests of the SQLite store and its writer: limits and group commits. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { knownRow } from "../../../katib/log/known_row.ts";
import {
  type LogStore,
  openLogStore,
  type StoreAppend,
  StoreFull,
} from "../../../katib/log/log_store.ts";
import { SinkError } from "../../../owner/observations/sink.ts";
import { createStoreWriter } from "../../../katib/log/store_writer.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";

const row = (n: number, value = String(n)) =>
  knownRow({
    time: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
    name: "loss",
    value,
  });
const rows = (count: number, from = 0) => Array.from({ length: count }, (_, n) => row(from + n));
const append = (log: string, count: number, isPlain = false, from = 0): StoreAppend => ({
  log,
  isPlain,
  rows: rows(count, from),
});
const valuesOf = (store: LogStore, log: string) =>
  store.read(log).map(({ value }) => Number(value));

Deno.test("a plain log loses its oldest rows beyond its bound, a trial's loses none", () => {
  const store = openLogStore({ maxPlainRows: 100 });
  for (let from = 0; from < 300; from += 10) {
    store.append([append("plain", 10, true, from), append("trial", 10, false, from)]);
  }
  const plain = valuesOf(store, "plain");
  assert.ok(plain.length >= 100 && plain.length <= 110, String(plain.length));
  assert.deepEqual(plain, Array.from({ length: plain.length }, (_, n) => 300 - plain.length + n));
  assert.equal(valuesOf(store, "trial").length, 300);
  store.close();
});

Deno.test("a full store gives up the plain log that was written longest ago, then says that it is full", () => {
  const store = openLogStore({ maxBytes: 400 * 1024 });
  const wide = (log: string, isPlain: boolean): StoreAppend => ({
    log,
    isPlain,
    rows: Array.from({ length: 50 }, (_, n) => row(n, `${n}`.padEnd(400))),
  });
  for (const log of ["old", "young", "mine"]) store.append([wide(log, true)]);
  store.append([append("old", 1, true, 60)]);
  let trials = 0;
  const fill = () => {
    for (; trials < 100; trials++) store.append([wide(`trial-${trials}`, false)]);
  };
  assert.throws(fill, StoreFull);
  assert.ok(trials >= 4, String(trials));
  assert.deepEqual(["old", "young", "mine"].map((log) => store.read(log).length), [0, 0, 0]);
  for (let n = 0; n < trials; n++) assert.equal(store.read(`trial-${n}`).length, 50, `${n}`);
  assert.equal(store.read(`trial-${trials}`).length, 0);
  store.delete("trial-0");
  store.append([wide("again", false)]);
  assert.equal(store.read("again").length, 50);
  store.close();
});

Deno.test("the plain log that was written last is evicted last", () => {
  const store = openLogStore({ maxBytes: 90 * 1024 });
  const wide = (log: string, isPlain: boolean): StoreAppend => ({
    log,
    isPlain,
    rows: Array.from({ length: 50 }, (_, n) => row(n, `${n}`.padEnd(400))),
  });
  store.append([wide("a", true)]);
  store.append([wide("b", true)]);
  store.append([append("a", 1, true, 60)]);
  const has = (log: string) => store.read(log).length > 0;
  // In small steps, so that one log is enough.
  for (let n = 0; has("b"); n++) store.append([append(`trial-${n}`, 10)]);
  assert.ok(has("a"));
  store.close();
});

/** A store that counts its commits and can fail. */
function countingStore(takes = 0, clock?: FakeClock) {
  const commits: number[] = [];
  let problem: Error | undefined;
  return {
    commits,
    failWith: (error: Error | undefined) => void (problem = error),
    append(appends: readonly StoreAppend[]) {
      if (problem) throw problem;
      commits.push(appends.length);
      if (clock) void clock.advance(takes);
    },
  };
}

const never = new AbortController().signal;

Deno.test("`createStoreWriter()` commits at once when it is idle, and groups writes that come meanwhile", async () => {
  const clock = new FakeClock(undefined, settlePromises);
  let elapsed = 0;
  const slow = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + elapsed,
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
  };
  const commits: number[] = [];
  const store = {
    append(appends: readonly StoreAppend[]) {
      commits.push(appends.length);
      elapsed += 10;
    },
  };
  const writer = createStoreWriter({ store, clock: slow, pausePerCommit: 3 });
  await writer.append(append("a", 1), never);
  const later = Promise.all([1, 2, 3].map((n) => writer.append(append("a", 1, false, n), never)));
  await settlePromises();
  assert.deepEqual(commits, [1]);
  await clock.advance(30);
  await later;
  assert.deepEqual(commits, [1, 3]);
});

Deno.test("`createStoreWriter()` reports an error of the database, and continues", async () => {
  const store = countingStore();
  const writer = createStoreWriter({ store, clock: new FakeClock(), pausePerCommit: 0 });
  store.failWith(new Error("disk I/O error"));
  await assert.rejects(writer.append(append("a", 1), never), (error: unknown) => {
    assert.ok(error instanceof SinkError);
    assert.equal(error.kind, "unavailable");
    assert.match(error.message, /disk I\/O error/);
    return true;
  });
  store.failWith(undefined);
  await writer.append(append("a", 1), never);
  assert.deepEqual(store.commits, [1]);
});

Deno.test("`createStoreWriter()` bounds waiting rows, drops those of callers that are gone, and writes the rest at its end", async () => {
  const clock = new FakeClock(undefined, settlePromises);
  const commits: number[] = [];
  let elapsed = 0;
  const writer = createStoreWriter({
    store: { append: (appends) => void (commits.push(appends.length), elapsed += 1000) },
    clock: {
      now: () => clock.now(),
      monotonic: () => clock.monotonic() + elapsed,
      sleep: (ms, signal) => clock.sleep(ms, signal),
    },
    pausePerCommit: 3,
    maxWaitingRows: 10,
  });
  await writer.append(append("a", 1), never);
  const gone = new AbortController();
  const left = writer.append(append("a", 4, false, 10), gone.signal);
  const kept = writer.append(append("a", 5, false, 20), never);
  await assert.rejects(writer.append(append("a", 2, false, 30), never), /9 rows are waiting/);
  gone.abort();
  await assert.rejects(left, /not written in time/);
  const more = writer.append(append("a", 2, false, 30), never);
  writer.close();
  await Promise.all([kept, more]);
  assert.deepEqual(commits, [1, 2]);
  await assert.rejects(writer.append(append("a", 1), never), /closed/);
});

Deno.test("a plain log loses the runs of the rows that it loses, and a deleted one all of them", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/observations.db`;
  const store = openLogStore({ path, maxPlainRows: 100 });
  for (let from = 0; from < 300; from += 10) {
    const batch = rows(10, from).map((it) => ({ ...it, run: "pod", step: from }));
    store.append([{ log: "plain", isPlain: true, rows: batch }]);
  }
  const kept = store.read("plain");
  assert.ok(kept.every(({ run }) => run === "pod"));
  assert.equal(kept.at(-1)?.step, 290);
  store.append([append("deleted", 1)]);
  store.delete("deleted");
  store.close();
  const database = new DatabaseSync(path);
  assert.deepEqual(
    { ...database.prepare("SELECT COUNT(*) AS samples FROM samples").get() },
    { samples: kept.length },
  );
  database.close();
  await Deno.remove(folder, { recursive: true });
});

/** The tables of version 0.1, and how it appends. */
const OLD_TABLES = `
  CREATE TABLE IF NOT EXISTS logs (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, is_plain INTEGER NOT NULL,
    row_count INTEGER NOT NULL DEFAULT 0, touched INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS entries (
    log INTEGER NOT NULL, at INTEGER NOT NULL, metric TEXT NOT NULL, value TEXT NOT NULL,
    place INTEGER NOT NULL, PRIMARY KEY (log, at, metric, value)
  ) WITHOUT ROWID;
`;
const OLD_APPEND = `
  INSERT OR IGNORE INTO entries
  SELECT :log, a.at, :metric, :value,
    (SELECT COUNT(*) FROM entries e WHERE e.log = :log AND e.at = a.at)
  FROM (SELECT :at AS at) a`;

Deno.test("of a log that an earlier version deletes, another with its id has nothing", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/observations.db`;
  const store = openLogStore({ path });
  store.append([{ log: "a", isPlain: true, rows: [{ ...row(1), run: "pod", step: 7 }] }]);
  store.keep([{ log: "a", isPlain: true, text: "of a", endedMs: 1 }]);
  store.close();
  const old = new DatabaseSync(path);
  old.exec(`DELETE FROM entries WHERE log = 1; DELETE FROM logs WHERE id = 1;
    INSERT INTO logs (name, is_plain) VALUES ('b', 1)`);
  old.prepare(OLD_APPEND).run({
    log: 1,
    at: Date.parse(row(1).at) * 1000,
    metric: "m",
    value: "1",
  });
  old.close();
  const again = openLogStore({ path });
  assert.deepEqual(again.read("b").map(({ value, run }) => [value, run]), [["1", undefined]]);
  assert.deepEqual([again.history("b"), again.expire(2)], ["", undefined]);
  again.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a file of an earlier version opens with its rows, and an earlier version opens the file again", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/observations.db`;
  const micros = Date.UTC(2026, 0, 1) * 1000;
  const asOld = (at: number, value: string) => {
    const old = new DatabaseSync(path);
    old.exec(OLD_TABLES);
    old.exec("INSERT OR IGNORE INTO logs (id, name, is_plain) VALUES (1, 'a', 0)");
    old.prepare(OLD_APPEND).run({ log: 1, at, metric: "loss", value });
    old.close();
  };
  asOld(micros, "0");
  const store = openLogStore({ path });
  store.append([{ log: "a", isPlain: false, rows: [{ ...row(1), run: "pod", step: 7 }] }]);
  store.close();
  asOld(micros + 2_000_000, "2");
  const again = openLogStore({ path });
  assert.deepEqual(again.read("a").map(({ value, run, step }) => [value, run, step]), [
    ["0", undefined, undefined],
    ["1", "pod", 7],
    ["2", undefined, undefined],
  ]);
  again.close();
  await Deno.remove(folder, { recursive: true });
});
