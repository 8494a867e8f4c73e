/** Tests of sleeps that others can end. */
import assert from "node:assert/strict";
import { createSleeper } from "../../../platform/base/sleeper.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

function asleep() {
  const clock = new FakeClock();
  const sleeper = createSleeper(clock);
  const over = new AbortController();
  const outcomes: boolean[] = [];
  const sleep = (ms: number) =>
    sleeper.sleep(ms, over.signal).then((wasWoken) => outcomes.push(wasWoken));
  return { clock, sleeper, over, outcomes, sleep };
}

Deno.test("`sleep()` ends after its time", async () => {
  const { clock, outcomes, sleep } = asleep();
  sleep(100);
  await clock.advance(99);
  assert.deepEqual(outcomes, []);
  await clock.advance(1);
  assert.deepEqual(outcomes, [false]);
});

Deno.test("`wake()` ends the sleep, and no later one", async () => {
  const { clock, sleeper, outcomes, sleep } = asleep();
  sleep(100);
  sleeper.wake();
  sleeper.wake();
  await settle();
  assert.deepEqual([outcomes, clock.sleeping], [[true], 0]);
  sleep(100);
  await clock.advance(99);
  assert.deepEqual(outcomes, [true]);
});

Deno.test("`wake()` while nobody sleeps ends the next sleep at once", async () => {
  const { clock, sleeper, outcomes, sleep } = asleep();
  sleeper.wake();
  sleep(100);
  await settle();
  assert.deepEqual([outcomes, clock.sleeping], [[true], 0]);
});

Deno.test("`sleep()` ends when its signal aborts, before or while it sleeps", async () => {
  const { clock, over, outcomes, sleep } = asleep();
  sleep(100);
  over.abort();
  sleep(100);
  await settle();
  assert.deepEqual([outcomes, clock.sleeping], [[false, false], 0]);
});

Deno.test("a sleep that was woken leaves no listener at its signal, which lives longer", async () => {
  const clock = new FakeClock();
  const { wake, sleep } = createSleeper(clock);
  const { signal } = new AbortController();
  let listening = 0;
  const [add, remove] = [signal.addEventListener, signal.removeEventListener];
  signal.addEventListener = (...all: unknown[]) => (listening++, Reflect.apply(add, signal, all));
  signal.removeEventListener = (
    ...all: unknown[]
  ) => (listening--, Reflect.apply(remove, signal, all));
  const sleeping = sleep(1_000, signal);
  assert.equal(listening, 1);
  wake();
  await sleeping;
  assert.equal(listening, 0);
});
