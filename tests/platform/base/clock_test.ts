/** Tests of timers by a clock. */
import assert from "node:assert/strict";
import { after, every } from "../../../platform/base/clock.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

Deno.test("`after()` calls once, unless it is called off", async () => {
  const clock = new FakeClock();
  const calls: string[] = [];
  after(clock, 100, () => calls.push("one"));
  after(clock, 100, () => calls.push("off"))();
  await clock.advance(99);
  assert.deepEqual(calls, []);
  await clock.advance(1000);
  assert.deepEqual([calls, clock.sleeping], [["one"], 0]);
});

Deno.test("`every()` calls after each interval, until it is called off", async () => {
  const clock = new FakeClock();
  const at: number[] = [];
  const stop = every(clock, 100, () => at.push(clock.monotonic()));
  await clock.advance(250);
  stop();
  await settle();
  await clock.advance(1000);
  assert.deepEqual([at, clock.sleeping], [[100, 200], 0]);
});
