/** Tests of the ledger's turns: news goes first, once; what fails comes again later, and waits meanwhile. */
import assert from "node:assert/strict";
import type { WriteOutcome } from "../../../owner/ledger/ledger.ts";
import { createLedgerQueue } from "../../../owner/ledger/ledger_queue.ts";
import { jobOf, ledgerWorld, progressOf } from "./ledger_world.ts";

Deno.test("`createLedger()` writes first values in order and before the rest, even thousands at once", async () => {
  const world = ledgerWorld({
    writesPerSecond: 1000,
    shown: ({ name }) => name.startsWith("old") ? progressOf(1) : undefined,
  });
  const old = Array.from({ length: 500 }, (_, index) => `old-${index}`);
  const fresh = Array.from({ length: 3000 }, (_, index) => `new-${index}`);
  for (const name of old) world.push(name, 2);
  for (const name of fresh) world.push(name, 2);
  world.push("old-499", 100);
  await world.clock.advance(10_000);
  const written = world.written();
  await world.end();
  assert.deepEqual(written.slice(0, 3001), [...fresh, "old-499"]);
  assert.deepEqual(written.slice(3001), old.slice(0, 499));
});

Deno.test("`createLedger()` prefers a job once only, also if the write fails", async () => {
  const world = ledgerWorld({
    writesPerSecond: 2,
    shown: ({ name }) => name.startsWith("old") ? progressOf(1) : undefined,
    outcome: ({ name }) =>
      name.startsWith("new") ? { result: "error", problem: "refused" } : { result: "written" },
  });
  const fresh = Array.from({ length: 40 }, (_, index) => `new-${index}`);
  for (const name of fresh) world.push(name);
  await world.clock.advance(5_000);
  for (let second = 0; second < 60; second++) {
    world.push("old");
    await world.clock.advance(1_000);
  }
  const turns = world.writes.filter(({ name }) => name === "old").length;
  await world.end();
  // 40 others that want a turn all the time leave it one in 41, and do not starve it.
  assert.ok(turns >= 2, `${turns} writes of the job that goes well`);
});

Deno.test("`createLedger()` uses the object's value if an earlier owner has written it", async () => {
  const shown = new Map([["shown", progressOf(30)], ["done", progressOf(100)]]);
  const asked: string[] = [];
  const world = ledgerWorld({
    writesPerSecond: 1,
    shown: ({ name }) => {
      asked.push(name);
      return shown.get(name);
    },
  });
  await world.clock.advance(0);
  for (const name of ["busy", "shown", "done", "new"]) world.push(name, 40);
  world.push("done", 100);
  world.push("finishes", 100);
  world.push("shown", 100);
  await world.clock.advance(20_000);
  const written = world.written();
  for (let turn = 0; turn < 3; turn++) world.push("shown", 100);
  await world.clock.advance(20_000);
  await world.end();
  assert.deepEqual(written, ["busy", "new", "finishes", "shown", "done"]);
  assert.deepEqual(asked, ["busy", "shown", "done", "new", "finishes"]);
});

Deno.test("`createLedger()` pauses for the longest Retry-After, and for no conflict", async () => {
  const ends: WriteOutcome[] = [
    { result: "error", problem: "too many requests", retryAfterMs: 8000 },
    { result: "error", problem: "unavailable", retryAfterMs: 1000 },
  ];
  let began = 0;
  const world = ledgerWorld({
    latencyMs: () => 10,
    outcome: () => ends[began++] ?? { result: "conflict", problem: "changed" },
    random: () => 0,
  });
  world.push("a");
  world.push("b");
  await world.clock.advance(100);
  world.push("c");
  await world.clock.advance(7_900);
  assert.deepEqual(world.written(), ["a", "b"]);
  await world.clock.advance(1_000);
  // The first conflict holds nobody else back.
  assert.deepEqual(world.written().sort(), ["a", "b", "c"]);
  await world.end();
});

Deno.test("`createLedger()` backs off with jitter from half a second to 10 s", async () => {
  const times = async (random: number) => {
    const world = ledgerWorld({
      outcome: () => ({ result: "error", problem: "no route" }),
      intervalMs: 1,
      random: () => random,
    });
    world.push("a");
    await world.clock.advance(60_000);
    await world.end();
    const began = world.writes.map(({ beganMs }) => beganMs);
    return began.slice(1).map((ms, index) => ms - (began[index] ?? 0));
  };
  assert.deepEqual((await times(1)).slice(0, 8), [
    500,
    1000,
    2000,
    4000,
    8000,
    10000,
    10000,
    10000,
  ]);
  assert.deepEqual((await times(0)).slice(0, 8), [250, 500, 1000, 2000, 4000, 5000, 5000, 5000]);
});

Deno.test("`oldestSeconds()` counts from the first unwritten value, through failures and newer values", async () => {
  let fails = true;
  const world = ledgerWorld({
    latencyMs: () => 100,
    outcome: () => fails ? { result: "error", problem: "no route" } : { result: "written" },
  });
  await world.clock.advance(300);
  world.push("a");
  for (const seconds of [1, 2, 3, 4]) {
    await world.clock.advance(1000);
    world.push("a", seconds);
    assert.equal(world.ledger.oldestSeconds(), seconds);
  }
  fails = false;
  await world.clock.advance(20_000);
  assert.equal(world.ledger.oldestSeconds(), 0);
  // A value that comes while one is written waits from then on, not from the end of the write.
  world.push("a", 5);
  await world.clock.advance(50);
  world.push("a", 6);
  await world.clock.advance(550);
  assert.equal(world.ledger.oldestSeconds(), 0.55);
  await world.end();
});

Deno.test("`createLedger()` writes what came meanwhile in place of what failed", async () => {
  let fails = true;
  const world = ledgerWorld({
    latencyMs: () => 100,
    outcome: () => fails ? { result: "error", problem: "no route" } : { result: "written" },
  });
  world.push("a", 1);
  await world.clock.advance(50);
  world.push("a", 2);
  await world.clock.advance(100);
  fails = false;
  await world.clock.advance(20_000);
  assert.deepEqual(world.writes.map(({ percent }) => percent), [1, 2]);
  await world.end();
});

Deno.test("`put()` keeps the order of jobs by the end of their interval", () => {
  const queue = createLedgerQueue();
  const shown = () => progressOf(1);
  queue.put(jobOf("a"), progressOf(2), 0, shown);
  const taken = queue.take(0);
  assert.ok(taken);
  queue.settle(taken.entry, { retry: false, dueAtMs: 1000 });
  queue.put(jobOf("a"), progressOf(3), 100, shown);
  queue.put(jobOf("b"), progressOf(2), 1500, shown);
  const order = [queue.take(1500), queue.take(1500)].map((it) => it?.entry.job.name);
  assert.deepEqual(order, ["a", "b"]);
});
