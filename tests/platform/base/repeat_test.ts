/** Tests of the loop of passes. */
import assert from "node:assert/strict";
import { repeat } from "../../../platform/base/repeat.ts";
import { createSleeper } from "../../../platform/base/sleeper.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** Runs passes that take no time; tells when each began, and after which failures. */
function repeating(pass: (count: number) => number, settleMs?: number) {
  const clock = new FakeClock();
  const sleeper = createSleeper(clock);
  const over = new AbortController();
  const [at, failed]: [number[], number[]] = [[], []];
  const running = repeat({
    pass: () => Promise.resolve().then(() => pass(at.push(clock.monotonic()))),
    sleeper,
    ...(settleMs !== undefined && { settleMs }),
    backoff: { firstMs: 100, longestMs: 300 },
    clock,
    random: () => 1,
    onFailure: (_, failures) => failed.push(failures),
  }, over.signal);
  return { clock, sleeper, over, at, failed, running };
}

Deno.test("`repeat()` makes each pass when the one before says, and none once it is over", async () => {
  const { clock, over, at, running } = repeating((count) => 1000 * count);
  await clock.advance(3500);
  over.abort();
  await running;
  assert.deepEqual([at, clock.sleeping], [[0, 1000, 3000], 0]);
});

Deno.test("`repeat()` follows the back-off after failures, and counts those in a row", async () => {
  const { clock, over, at, failed, running } = repeating((count) => {
    if (count !== 3) throw new Error("not now");
    return 1000;
  });
  await clock.advance(1350);
  over.abort();
  await running;
  assert.deepEqual([at, failed], [[0, 100, 300, 1300], [1, 2, 1]]);
});

Deno.test("`repeat()` makes another pass when it was woken during one, and none when it was woken before", async () => {
  const { clock, sleeper, over, at, running } = repeating((count) => {
    if (count === 1) throw new Error("not now");
    if (count === 2) sleeper.wake();
    return 1000;
  });
  await clock.advance(50);
  sleeper.wake();
  await clock.advance(1000);
  assert.deepEqual(at, [0, 100, 100]);
  over.abort();
  await running;
});

Deno.test("`repeat()` makes a pass when it is woken, and one for a burst", async () => {
  const { clock, sleeper, over, at, running } = repeating(() => 1000, 50);
  await clock.advance(200);
  sleeper.wake();
  await clock.advance(20);
  sleeper.wake();
  await clock.advance(900);
  assert.deepEqual(at, [0, 250]);
  over.abort();
  await running;
});
