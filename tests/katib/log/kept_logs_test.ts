/** Tests of what the log store keeps of jobs that have ended: beside their logs, for how long, within what size, and on a full disk. */
import assert from "node:assert/strict";
import { deleteOldLogs } from "../../../katib/log/kept_ages.ts";
import { knownRow } from "../../../katib/log/known_row.ts";
import { type LogStore, openLogStore, StoreFull } from "../../../katib/log/log_store.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";
import { canHaveSmallDisk, onSmallDisk } from "../../support/small_disk.ts";

const wideRow = (n: number) =>
  knownRow({
    time: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
    name: "loss",
    value: `${n}`.padEnd(400),
  });
const fill = (store: LogStore, log: string, isPlain = true, count = 50) =>
  store.append([{ log, isPlain, rows: Array.from({ length: count }, (_, n) => wideRow(n)) }]);
const keptOf = (store: LogStore, logs: readonly string[]) =>
  logs.filter((log) => store.read(log).length > 0);

Deno.test("a text beside a log is replaced, goes with the log, and makes one; an end makes none", () => {
  const store = openLogStore();
  store.keep([{ log: "a", isPlain: true, endedMs: 1 }]);
  assert.equal(store.expire(2), undefined, "there is no such log");
  store.keep([{ log: "a", isPlain: true, text: "one" }, { log: "b", isPlain: false, text: "b" }]);
  store.keep([{ log: "a", isPlain: true, text: "two" }]);
  store.keep([{ log: "a", isPlain: true, endedMs: 5 }]);
  store.keep([{ log: "a", isPlain: true, endedMs: 9 }]);
  assert.deepEqual([store.history("a"), store.history("b"), store.history("c")], ["two", "b", ""]);
  assert.equal(store.expire(5), undefined, "it ended then, and not before");
  assert.equal(store.expire(6), "a", "the first end counts");
  assert.deepEqual([store.history("a"), store.history("b")], ["", "b"]);
  store.close();
});

Deno.test("a log has no end while a job writes it that runs, and has one again with a text of a job that ended", () => {
  const store = openLogStore();
  store.keep([{ log: "a", isPlain: true, text: "first", endedMs: 5 }]);
  store.keep([{ log: "a", isPlain: true }]);
  assert.equal(store.expire(6), undefined, "another job of its name runs");
  store.keep([{ log: "a", isPlain: true, endedMs: 9 }]);
  assert.deepEqual([store.expire(9), store.expire(10)], [undefined, "a"]);
  store.keep([{ log: "a", isPlain: true, text: "late", endedMs: 9 }]);
  assert.deepEqual([store.history("a"), store.expire(10)], ["late", "a"]);
  store.close();
});

Deno.test("in a full store the job that ended first gives way first, then what was written longest ago", () => {
  const store = openLogStore({ maxBytes: 250 * 1024 });
  const logs = ["running", "ended late", "ended early", "trial that ended", "open trial"];
  for (const log of logs) fill(store, log, !log.includes("trial"));
  const ends = { "ended late": 20, "ended early": 10, "trial that ended": 5 };
  for (const [log, endedMs] of Object.entries(ends)) {
    store.keep([{ log, isPlain: !log.includes("trial"), endedMs }]);
  }
  const order: string[][] = [];
  for (let n = 0; order.length < 4; n++) {
    assert.ok(n < 100);
    fill(store, `new ${n}`, false, 5);
    const kept = keptOf(store, logs);
    if (kept.length < logs.length - order.length) order.push(kept);
  }
  assert.deepEqual(order, [
    ["running", "ended late", "trial that ended", "open trial"],
    ["running", "trial that ended", "open trial"],
    ["running", "open trial"],
    ["open trial"],
  ]);
  assert.throws(() => {
    for (let n = 0; n < 100; n++) fill(store, `more ${n}`, false, 5);
  }, StoreFull);
  store.close();
});

Deno.test("logs of jobs that ended longer ago than their age are deleted one after the other", async () => {
  const clock = new FakeClock(undefined, settlePromises);
  const store = openLogStore();
  const day = 24 * 3_600_000;
  for (const [log, days] of [["old", 8], ["older", 9], ["young", 6.9997]] as const) {
    fill(store, log);
    store.keep([{ log, isPlain: true, endedMs: clock.now() - days * day }]);
  }
  fill(store, "running");
  const forever = deleteOldLogs(store, clock, { historyAge: 0 });
  const stop = deleteOldLogs(store, clock, { historyAge: 7 * day });
  await clock.advance(10_000);
  assert.deepEqual(keptOf(store, ["old", "older", "young", "running"]), [
    "old",
    "young",
    "running",
  ]);
  await clock.advance(10_000);
  assert.deepEqual(keptOf(store, ["old", "young", "running"]), ["young", "running"]);
  await clock.advance(30_000);
  assert.deepEqual(keptOf(store, ["young", "running"]), ["running"]);
  stop();
  forever();
  assert.equal(clock.sleeping, 0);
  store.close();
});

Deno.test("a file that may be smaller than it is gives its disk back, the oldest ends first", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/log.db`;
  const first = openLogStore({ path });
  const logs = Array.from({ length: 20 }, (_, n) => `log-${n}`);
  logs.forEach((log, n) => {
    fill(first, log);
    first.keep([{ log, isPlain: true, endedMs: n }]);
  });
  first.close();
  const { size } = await Deno.stat(path);
  const second = openLogStore({ path, maxBytes: size / 2 });
  const kept = keptOf(second, logs);
  assert.ok(kept.length > 5 && kept.length < 11, String(kept.length));
  assert.deepEqual(kept, logs.slice(-kept.length));
  second.close();
  assert.ok((await Deno.stat(path)).size <= size / 2);
  await Deno.remove(folder, { recursive: true });
});

/** Runs in a file system of half a megabyte: writes more than there is room for, and than SQLite keeps in memory, then less. */
const PROGRAM = `
import { openLogStore } from "${import.meta.resolve("../../../katib/log/log_store.ts")}";
import { knownRow } from "${import.meta.resolve("../../../katib/log/known_row.ts")}";
const rows = Array.from({ length: 20_000 }, (_, n) => knownRow({
  time: new Date(n * 1000).toISOString(), name: "loss", value: String(n).padEnd(300) }));
const store = openLogStore({ path: "log.db" });
store.append([{ log: "ended", isPlain: true, rows: rows.slice(0, 20) }]);
store.keep([{ log: "ended", isPlain: true, text: "what was seen", endedMs: 1 }]);
let why = "";
try {
  store.append([{ log: "running", isPlain: true, rows }]);
} catch (error) {
  why = error.constructor.name + ": " + error.message;
}
const seen = [store.read("ended").length, store.history("ended")];
store.append([{ log: "again", isPlain: true, rows: rows.slice(0, 20) }]);
console.log(JSON.stringify({ why, seen, again: store.read("again").length }));
`;

Deno.test({
  name: "on a full disk nothing is given up, and what there is room for is kept",
  ignore: !canHaveSmallDisk,
  async fn() {
    assert.deepEqual(await onSmallDisk(PROGRAM), {
      why: "Error: database or disk is full",
      seen: [20, "what was seen"],
      again: 20,
    });
  },
});
