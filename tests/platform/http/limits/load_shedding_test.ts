/** Tests of load shedding. */
import assert from "node:assert/strict";
import { createLoadShedding } from "../../../../platform/http/limits/load_shedding.ts";
import type { Clock } from "../../../../platform/base/clock.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

/** A running shedding over a clock whose next sleep ends late by what is added to `lateMs`. */
async function running() {
  const fake = new FakeClock();
  const late = { ms: 0 };
  const clock: Clock = {
    now: () => fake.now(),
    monotonic: () => fake.monotonic() + late.ms,
    sleep: (ms, signal) => fake.sleep(ms, signal),
  };
  let refused = 0;
  const shedding = createLoadShedding({ clock, onRefused: () => refused += 1 });
  const over = new AbortController();
  const run = shedding.run(over.signal);
  await fake.advance(1000);
  return {
    /** Lets time pass, of which the event loop is late for `lateMs` at first. */
    async pass(ms: number, lateMs = 0) {
      late.ms += lateMs;
      await fake.advance(ms);
    },
    /** Returns how many of `count` new connections of a peer are taken. */
    taken(peer: string, count: number): number {
      const all = Array.from({ length: count }, () => shedding.refuses(peer, clock.monotonic()));
      return all.filter((refuses) => !refuses).length;
    },
    refused: () => refused,
    async stop() {
      over.abort();
      await run;
    },
  };
}

Deno.test("`createLoadShedding()` refuses nothing while the event loop is on time", async () => {
  const it = await running();
  assert.equal(it.taken("10.0.0.1", 5000), 5000);
  await it.pass(1000, 50);
  assert.equal(it.taken("10.0.0.1", 5000), 5000, "half of what is late");
  await it.stop();
});

Deno.test("`createLoadShedding()` limits each peer, and all together, for ten seconds after the loop was late", async () => {
  const it = await running();
  await it.pass(100, 150);
  assert.equal(it.taken("10.0.0.1", 500), 100, "the burst of a peer");
  assert.equal(it.refused(), 400);
  assert.equal(it.taken("10.0.0.2", 10), 10, "another peer has its own");
  await it.pass(1000);
  assert.equal(it.taken("10.0.0.1", 500), 20, "the rate of a peer");
  let all = 0;
  for (let peer = 0; peer < 50; peer++) all += it.taken(`10.0.1.${peer}`, 100);
  assert.ok(all <= 600, `${all} of all together`);
  assert.ok(all >= 400, `${all} of all together`);
  await it.pass(9000);
  assert.equal(it.taken("10.0.0.1", 5000), 5000);
  await it.stop();
});

Deno.test("`createLoadShedding()` goes on as long as the loop is late again and again", async () => {
  const it = await running();
  for (let time = 0; time < 5; time++) await it.pass(6000, 200);
  assert.equal(it.taken("10.0.0.1", 500), 100);
  await it.stop();
  assert.equal(it.taken("10.0.0.1", 500), 500, "when it has ended, nothing measures the loop");
});
