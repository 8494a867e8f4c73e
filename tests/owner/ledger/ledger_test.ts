/** Tests of the ledger: at most one write a job and interval, within a budget, newest value wins. */
import assert from "node:assert/strict";
import type { TrainerStatus } from "../../../crds/trainjob.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import {
  createLedger,
  type LedgerOptions,
  type WriteOutcome,
} from "../../../owner/ledger/ledger.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

const progress = (progressPercentage: number): TrainerStatus => ({
  progressPercentage,
  lastUpdatedTime: "2025-01-23T10:30:45Z",
});
const job = (name: string) => ({ kind: TRAINJOB, uid: `uid-${name}`, namespace: "team", name });

interface Write {
  readonly name: string;
  readonly at: number;
  readonly percent: number | undefined;
}

/** A running ledger over a clock that tests move, and what it wrote. */
function bench(options: Partial<LedgerOptions> & { outcomes?: WriteOutcome[] } = {}) {
  const clock = new FakeClock();
  const writes: Write[] = [];
  const dropped: string[] = [];
  const results: string[] = [];
  const ledger = createLedger({
    clock,
    random: () => 1,
    write: ({ name }, status) => {
      writes.push({ name, at: clock.monotonic(), percent: status.progressPercentage });
      return Promise.resolve(options.outcomes?.shift() ?? { result: "written" });
    },
    onDrop: (cause, count) => dropped.push(`${cause} ${count}`),
    onWrite: (result) => results.push(result),
    ...options,
  });
  const stop = new AbortController();
  const running = ledger.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { clock, writes, dropped, results, ledger, end };
}

Deno.test("`createLedger()` writes a first push at once", async () => {
  const { clock, writes, ledger, end } = bench();
  ledger.submit(job("a"), progress(1));
  await clock.advance(0);
  assert.deepEqual(writes, [{ name: "a", at: 0, percent: 1 }]);
  assert.equal(ledger.pending(), 0);
  await end();
});

Deno.test("`createLedger()` writes 400 pushes of 10 s about once a second, and the last one last", async () => {
  const { clock, writes, ledger, end } = bench();
  for (let push = 0; push < 400; push++) {
    ledger.submit(job("a"), progress(Math.floor(push / 4)));
    if (push % 4 === 3) await clock.advance(100);
  }
  await clock.advance(1000);
  assert(writes.length <= 12, `${writes.length} writes`);
  assert.equal(writes.at(-1)?.percent, 99);
  for (const [index, { at }] of writes.entries()) {
    if (index > 0) assert(at - (writes[index - 1]?.at ?? 0) >= 1000);
  }
  await end();
});

Deno.test("`createLedger()` serves many jobs in turn within the budget", async () => {
  const { clock, writes, ledger, end } = bench({ writesPerSecond: 10 });
  for (let second = 0; second < 20; second++) {
    for (let index = 0; index < 40; index++) ledger.submit(job(`j${index}`), progress(second));
    await clock.advance(1000);
  }
  assert(writes.length <= 10 * 20 + 2, `${writes.length} writes`);
  assert(writes.length >= 10 * 20 - 10, `${writes.length} writes`);
  const perJob = Object.values(Object.groupBy(writes, ({ name }) => name)).map((list) =>
    list?.length ?? 0
  );
  assert.equal(perJob.length, 40);
  assert(Math.max(...perJob) - Math.min(...perJob) <= 1, perJob.join(" "));
  assert.equal(ledger.pending(), 30);
  assert(ledger.oldestSeconds() <= 4.5 && ledger.oldestSeconds() > 0);
  await end();
});

Deno.test("`createLedger()` puts a job's first push and its first 100% to the head, once", async () => {
  const { clock, writes, ledger, end } = bench({ writesPerSecond: 1 });
  for (const name of ["a", "b", "c"]) ledger.submit(job(name), progress(1));
  await clock.advance(5000);
  for (const name of ["a", "b", "c"]) ledger.submit(job(name), progress(2));
  ledger.submit(job("c"), progress(100));
  ledger.submit(job("new"), progress(0));
  writes.length = 0;
  await clock.advance(10_000);
  assert.deepEqual(writes.map(({ name }) => name).sort(), ["a", "b", "c", "new"]);
  // One was under way when the urgent ones came.
  const order = writes.map(({ name }) => name);
  assert(order.indexOf("c") < order.indexOf("b"), order.join(" "));
  assert(order.indexOf("new") < order.indexOf("b"), order.join(" "));
  for (const name of ["a", "b"]) ledger.submit(job(name), progress(3));
  ledger.submit(job("c"), progress(100));
  writes.length = 0;
  await clock.advance(10_000);
  assert.equal(writes.at(-1)?.name, "c");
  await end();
});

Deno.test("`createLedger()` retries a conflict or an outage with the newest value", async () => {
  const { clock, writes, results, ledger, end } = bench({
    outcomes: [
      { result: "error", problem: "no route" },
      { result: "conflict", problem: "changed" },
      { result: "written" },
    ],
  });
  ledger.submit(job("a"), progress(1));
  await clock.advance(100);
  ledger.submit(job("a"), progress(2));
  await clock.advance(10_000);
  assert.deepEqual(writes.map(({ percent }) => percent), [1, 2, 2]);
  assert.deepEqual(results, ["error", "conflict", "written"]);
  assert.equal(ledger.pending(), 0);
  await end();
});

Deno.test("`createLedger()` survives a write that throws", async () => {
  let calls = 0;
  const { clock, ledger, results, end } = bench({
    write: () => {
      calls += 1;
      return calls === 1
        ? Promise.reject(new Error("bug"))
        : Promise.resolve({ result: "written" });
    },
  });
  ledger.submit(job("a"), progress(1));
  await clock.advance(5000);
  assert.deepEqual(results, ["error", "written"]);
  await end();
});

Deno.test("`createLedger()` applies Retry-After to all jobs", async () => {
  const { clock, writes, ledger, end } = bench({
    outcomes: [{ result: "error", problem: "too many requests", retryAfterMs: 7000 }],
  });
  ledger.submit(job("a"), progress(1));
  await clock.advance(10);
  ledger.submit(job("b"), progress(1));
  await clock.advance(6900);
  assert.equal(writes.length, 1);
  await clock.advance(5000);
  assert.deepEqual(writes.map(({ name }) => name).sort(), ["a", "a", "b"]);
  await end();
});

Deno.test("`createLedger()` drops values of deleted jobs, and refused values", async () => {
  const { clock, writes, dropped, ledger, end } = bench({
    outcomes: [{ result: "gone" }, { result: "invalid", problem: "too long" }],
  });
  ledger.submit(job("a"), progress(1));
  ledger.submit(job("b"), progress(1));
  await clock.advance(60_000);
  assert.deepEqual(dropped, ["gone 1", "invalid 1"]);
  assert.equal(writes.length, 2);
  ledger.submit(job("b"), progress(2));
  await clock.advance(10);
  assert.equal(writes.length, 3);
  await end();
});

Deno.test("`forget()` drops what is pending for a deleted job", async () => {
  const { clock, writes, dropped, ledger, end } = bench();
  ledger.submit(job("a"), progress(1));
  await clock.advance(10);
  ledger.submit(job("a"), progress(2));
  ledger.forget("uid-a");
  ledger.forget("uid-unknown");
  await clock.advance(60_000);
  assert.equal(writes.length, 1);
  assert.deepEqual(dropped, ["gone 1"]);
  assert.equal(ledger.pending(), 0);
  await end();
});

Deno.test("`submit()` is bounded by the number of jobs, and forgets those with nothing to write", async () => {
  const { clock, ledger, end } = bench({ maxJobs: 2, writesPerSecond: 1 });
  assert.equal(ledger.submit(job("a"), progress(1)).ok, true);
  await clock.advance(2000);
  assert.equal(ledger.submit(job("b"), progress(1)).ok, true);
  assert.equal(ledger.submit(job("c"), progress(1)).ok, true);
  const refused = ledger.submit(job("d"), progress(1));
  assert(refused.ok !== true);
  assert(refused.retryAfterMs > 0);
  await end();
});

Deno.test("`flush()` writes pending values faster, and accepts no more", async () => {
  const { clock, writes, dropped, ledger, end } = bench({ writesPerSecond: 1 });
  for (let index = 0; index < 300; index++) ledger.submit(job(`j${index}`), progress(1));
  await clock.advance(0);
  await end();
  const flushed = ledger.flush(5000);
  await clock.advance(0);
  assert.equal(ledger.submit(job("late"), progress(1)).ok, undefined);
  await clock.advance(1000);
  assert.equal(await flushed, 0);
  assert.equal(new Set(writes.map(({ name }) => name)).size, 300);
  assert.deepEqual(dropped, []);
});

Deno.test("`flush()` ends in time if writes hang, and counts what is left", async () => {
  const clock = new FakeClock();
  const dropped: string[] = [];
  const ledger = createLedger({
    clock,
    write: (_job, _status, signal) =>
      new Promise((resolve) => {
        const end = () => resolve({ result: "error", problem: "ended" });
        signal?.addEventListener("abort", end, { once: true });
      }),
    onDrop: (cause, count) => dropped.push(`${cause} ${count}`),
  });
  for (let index = 0; index < 30; index++) ledger.submit(job(`j${index}`), progress(1));
  const flushed = ledger.flush(5000);
  await clock.advance(4999);
  assert.deepEqual(dropped, []);
  await clock.advance(1);
  assert.equal(await flushed, 30);
  assert.deepEqual(dropped, ["shutdown 30"]);
  assert.equal(clock.sleeping, 0);
});

Deno.test("`run()` waits for the write in hand", async () => {
  const written = Promise.withResolvers<WriteOutcome>();
  const { clock, ledger, end, results } = bench({ write: () => written.promise });
  ledger.submit(job("a"), progress(1));
  await clock.advance(0);
  const ended = end();
  await settle();
  assert.deepEqual(results, []);
  written.resolve({ result: "written" });
  await ended;
  assert.deepEqual(results, ["written"]);
  assert.equal(clock.sleeping, 0);
});
