/** Tests of looks that are taken again and again. */
import assert from "node:assert/strict";
import { createLooks } from "../../../platform/base/poll.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** Runs looks with these outcomes, and the last one for all that follow. */
async function withLooks(
  outcomes: boolean[],
  work: (world: { clock: FakeClock; again: () => void; count: () => number }) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  const stop = new AbortController();
  let count = 0;
  const looks = createLooks({
    clock,
    random: () => 1,
    look: () => Promise.resolve(outcomes[Math.min(count++, outcomes.length - 1)] ?? true),
  });
  const running = looks.run(stop.signal);
  try {
    await work({ clock, again: looks.again, count: () => count });
  } finally {
    stop.abort();
    await running;
  }
  assert.equal(clock.sleeping, 0);
}

Deno.test("after a look that went well the next comes in about a minute", () =>
  withLooks([true], async ({ clock, count }) => {
    await clock.advance(71_000);
    assert.equal(count(), 1);
    await clock.advance(1_001);
    assert.equal(count(), 2);
  }));

Deno.test("looks that fail back off up to ten seconds, and go on", () =>
  withLooks([false], async ({ clock, count }) => {
    const waits: (number | undefined)[] = [];
    for (let look = 0; look < 8; look++) {
      await clock.advance(0);
      waits.push(clock.nextWakeMs);
      await clock.advance(clock.nextWakeMs ?? 0);
    }
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, 10_000]);
    assert.equal(count(), 9);
  }));

Deno.test("a look that is called for comes soon, and calls without end back off as well", () =>
  withLooks([true], async ({ clock, again, count }) => {
    const waits: (number | undefined)[] = [];
    for (let look = 0; look < 3; look++) {
      await clock.advance(0);
      again();
      await clock.advance(0);
      waits.push(clock.nextWakeMs);
      await clock.advance(clock.nextWakeMs ?? 0);
    }
    assert.deepEqual(waits, [1_000, 2_000, 4_000]);
    await clock.advance(72_001);
    assert.equal(count(), 5);
    again();
    await clock.advance(1_000);
    assert.equal(count(), 6, "a minute without a call makes good");
  }));
