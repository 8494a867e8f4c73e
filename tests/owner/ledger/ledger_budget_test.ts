/** Tests of the write budget, as properties: of any span of time, of any job, of any pair of jobs. */
import assert from "node:assert/strict";
import v8 from "node:v8";
import vm from "node:vm";
import fc from "fast-check";
import type { WriteOutcome } from "../../../owner/ledger/ledger.ts";
import { jobOf, ledgerWorld, progressOf, type Write } from "./ledger_world.ts";

/** What a tenth of a second left over may add. */
const burstOf = (perSecond: number) => Math.max(1, Math.floor(perSecond / 10));

/** No span between two writes has more of them than the budget and its burst. */
function assertWithinBudget(writes: readonly Write[], perSecond: number): void {
  const burst = burstOf(perSecond);
  for (const [from, { beganMs }] of writes.entries()) {
    for (let to = from; to < writes.length; to++) {
      const ms = (writes[to]?.beganMs ?? 0) - beganMs;
      const most = burst + ms * perSecond / 1000 + 1e-6;
      assert.ok(to - from + 1 <= most, `${to - from + 1} writes in ${ms} ms at ${perSecond}/s`);
    }
  }
}

function writesByJob(writes: readonly Write[]): Map<string, Write[]> {
  return Map.groupBy(writes, ({ name }) => name);
}

/** A job's writes never overlap, and begin an interval after the one before has ended. */
function assertIntervals(writes: readonly Write[], intervalMs: number): void {
  for (const [name, own] of writesByJob(writes)) {
    for (const [index, { beganMs }] of own.slice(1).entries()) {
      const before = own[index]?.endedMs ?? Infinity;
      assert.ok(beganMs >= before + intervalMs, `${name}: ${before} ms, then ${beganMs} ms`);
    }
  }
}

const outcomes = fc.oneof(
  { weight: 12, arbitrary: fc.constant<WriteOutcome>({ result: "written" }) },
  { weight: 1, arbitrary: fc.constant<WriteOutcome>({ result: "conflict", problem: "changed" }) },
  { weight: 1, arbitrary: fc.constant<WriteOutcome>({ result: "error", problem: "no route" }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 3000 }).map((retryAfterMs): WriteOutcome => ({
      result: "error",
      problem: "too many requests",
      retryAfterMs,
    })),
  },
);

const pushes = fc.array(
  fc.record({
    job: fc.integer({ min: 0, max: 11 }),
    percent: fc.integer({ min: 0, max: 100 }),
    gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 })),
  }),
  { minLength: 40, maxLength: 200 },
);

Deno.test("`createLedger()` keeps interval and budget in any span, and ends with every newest value", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        pushes,
        perSecond: fc.integer({ min: 1, max: 60 }),
        intervalMs: fc.integer({ min: 100, max: 3000 }),
        ends: fc.array(outcomes, { minLength: 1, maxLength: 40 }),
        latencies: fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 20 }),
      }),
      async ({ pushes, perSecond, intervalMs, ends, latencies }) => {
        let began = 0;
        const world = ledgerWorld({
          writesPerSecond: perSecond,
          intervalMs,
          // What fails does so for a while only.
          outcome: () => ends[began++] ?? { result: "written" },
          latencyMs: () => latencies[began % latencies.length] ?? 0,
        });
        const newest = new Map<string, number>();
        for (const { job, percent, gapMs } of pushes) {
          world.push(`j${job}`, percent);
          newest.set(`j${job}`, percent);
          await world.clock.advance(gapMs);
        }
        for (let turn = 0; turn < 200 && world.ledger.pending() > 0; turn++) {
          await world.clock.advance(5000);
        }
        await world.end();
        assert.equal(world.ledger.pending(), 0);
        assertWithinBudget(world.writes, perSecond);
        assertIntervals(world.writes, intervalMs);
        const last = Object.fromEntries(world.writes.map(({ name, percent }) => [name, percent]));
        assert.deepEqual(last, Object.fromEntries(newest));
      },
    ),
    { numRuns: 60 },
  );
});

/** A push, and how many writes of its job had begun before. */
interface Pushed {
  readonly name: string;
  readonly atMs: number;
  readonly after: number;
}

/** From the push, or the end of the interval where that is later, to the write. */
function waitsOf(pushed: readonly Pushed[], writes: readonly Write[], intervalMs: number) {
  return [...writesByJob(writes)].flatMap(([name, own]) =>
    own.map(({ beganMs }, index) => {
      const first = pushed.find((it) => it.name === name && it.after === index);
      const freeMs = (own[index - 1]?.endedMs ?? -Infinity) + intervalMs;
      return { name, sinceMs: Math.max(first?.atMs ?? beganMs, freeMs), untilMs: beganMs };
    })
  );
}

Deno.test("`createLedger()` writes no job twice while another waits that was due earlier", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        pushes,
        perSecond: fc.integer({ min: 1, max: 12 }),
        latencies: fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 10 }),
      }),
      async ({ pushes, perSecond, latencies }) => {
        let began = 0;
        const world = ledgerWorld({
          writesPerSecond: perSecond,
          latencyMs: () => latencies[began++ % latencies.length] ?? 0,
          // All have been written by an owner before, 100% included: nothing is news.
          shown: () => progressOf(100),
        });
        const pushed: Pushed[] = [];
        for (const { job, gapMs } of pushes) {
          const name = `j${job}`;
          const after = world.writes.filter((write) => write.name === name).length;
          pushed.push({ name, atMs: world.clock.monotonic(), after });
          world.push(name);
          await world.clock.advance(gapMs);
        }
        for (let turn = 0; turn < 50 && world.ledger.pending() > 0; turn++) {
          await world.clock.advance(5000);
        }
        await world.end();
        const waits = waitsOf(pushed, world.writes, 1000);
        for (const [name, own] of writesByJob(world.writes)) {
          for (const [index, { beganMs: againMs }] of own.slice(1).entries()) {
            const onceMs = own[index]?.beganMs ?? 0;
            const passedOver = waits.find((it) =>
              it.name !== name && it.sinceMs < onceMs && it.untilMs > againMs
            );
            assert.equal(passedOver, undefined, `${name} at ${onceMs} and ${againMs} ms`);
          }
        }
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("`createLedger()` lets ages grow evenly if the budget is the limit", async () => {
  const JOBS = 200;
  const PER_SECOND = 20;
  const roundMs = JOBS / PER_SECOND * 1000;
  const world = ledgerWorld({ writesPerSecond: PER_SECOND, shown: () => progressOf(1) });
  const oldest: number[] = [];
  for (let atMs = 0; atMs < 4 * roundMs; atMs += 500) {
    for (let job = 0; job < JOBS; job++) world.push(`j${job}`);
    await world.clock.advance(500);
    oldest.push(world.ledger.oldestSeconds() * 1000);
  }
  await world.end();
  const extra = world.writes.length - 4 * JOBS;
  assert.ok(extra >= 0 && extra <= burstOf(PER_SECOND), `${world.writes.length} writes`);
  for (const own of writesByJob(world.writes).values()) {
    assert.ok(own.length === 4 || own.length === 5, `${own.length} writes`);
    for (const [index, { beganMs }] of own.slice(1).entries()) {
      const gapMs = beganMs - (own[index]?.beganMs ?? 0);
      assert.ok(Math.abs(gapMs - roundMs) <= 100, `${gapMs} ms between two writes`);
    }
  }
  // The metric is what docs/guides/operate.md says: jobs ÷ budget, and never more.
  assert.ok(Math.max(...oldest) <= roundMs, `${Math.max(...oldest)} ms`);
  assert.ok((oldest.at(-1) ?? 0) >= roundMs - 1000, `${oldest.at(-1)} ms`);
});

Deno.test("`createLedger()` uses a large budget even if each write takes long", async () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `j${index}`);
  const world = ledgerWorld({ writesPerSecond: 1000, latencyMs: () => 90 });
  for (const name of names) world.push(name);
  await world.clock.advance(2_000);
  assert.ok(world.writes.length >= 1_950, `${world.writes.length} writes in 2 s`);
  const ended = world.end();
  const flushed = world.ledger.flush(5_000);
  await world.clock.advance(5_000);
  assert.equal(await flushed, 0);
  await ended;
});

/** Bytes of the heap in use after a collection. */
function heapBytes(): number {
  v8.setFlagsFromString("--expose-gc");
  vm.runInNewContext("gc")();
  return Deno.memoryUsage().heapUsed;
}

Deno.test("`submit()` keeps one value a job, however many come", async () => {
  const JOBS = 10_000;
  const world = ledgerWorld();
  const before = heapBytes();
  for (let round = 0; round < 20; round++) {
    for (let job = 0; job < JOBS; job++) {
      world.ledger.submit(jobOf(`j${job}`), {
        ...progressOf(round),
        metrics: [{ name: "loss", value: `${round}.${job}` }],
      });
    }
    await world.clock.advance(20);
  }
  const bytes = (heapBytes() - before) / JOBS;
  // About 600; 20 values of each job would be 4000.
  assert.ok(bytes < 1500, `${bytes} bytes a job`);
  const pending = world.ledger.pending();
  assert.ok(pending > JOBS - 10 && pending <= JOBS, `${pending} pending`);
  await world.end();
  const left = world.ledger.flush(5_000);
  await world.clock.advance(5_000);
  const flushed = pending - await left;
  assert.ok(flushed >= 2_490 && flushed <= 2_500 + 50, `${flushed} at 500 a second in 5 s`);
  assert.deepEqual(world.dropped, [`shutdown ${await left}`]);
});

Deno.test("`submit()` makes room for one job at a time, the longest without news", async () => {
  const world = ledgerWorld({ maxJobs: 3, writesPerSecond: 100 });
  const take = (name: string) => world.ledger.submit(jobOf(name), progressOf(1)).ok === true;
  for (const name of ["a", "b", "c"]) assert.ok(take(name));
  await world.clock.advance(500);
  assert.equal(take("d"), false, "all are within their interval");
  await world.clock.advance(600);
  assert.ok(take("a"));
  assert.ok(take("d"), "in the place of b");
  await world.clock.advance(2_000);
  world.ledger.forget("uid-d");
  assert.ok(take("b"));
  assert.equal(world.ledger.pending(), 1);
  await world.end();
});
