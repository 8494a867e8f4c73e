/** Tests of the delays after failures, and of trying until something succeeds. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { backoffMs, retry } from "../../../platform/base/backoff.ts";
import { FakeClock } from "../../support/fake_clock.ts";

Deno.test("`backoffMs()` stays between half of the delay and the delay", () => {
  fc.assert(fc.property(
    fc.integer({ min: 1, max: 5000 }),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    (failures, chance) => {
      const full = Math.min(300_000, 5 * 2 ** (failures - 1));
      const delay = backoffMs(failures, { firstMs: 5, longestMs: 300_000 }, () => chance);
      assert.ok(delay >= full / 2 && delay <= full);
    },
  ));
});

/** Retries at full delays from 100 ms up to 300 ms; tells when each attempt was made. */
function retrying(attempt: (count: number) => Promise<string>, giveUp = (_: unknown) => false) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const at: number[] = [];
  const result = retry(() => attempt(at.push(clock.monotonic())), {
    backoff: { firstMs: 100, longestMs: 300 },
    clock,
    random: () => 1,
    signal: stop.signal,
    onFailure: (error) => {
      if (giveUp(error)) throw error;
    },
  });
  return { clock, stop, at, result };
}

Deno.test("`retry()` waits longer after each failure, up to the longest delay", async () => {
  const { clock, at, result } = retrying((count) =>
    count < 5 ? Promise.reject(new Error("not yet")) : Promise.resolve("done")
  );
  await clock.advance(2000);
  assert.deepEqual([await result, at], ["done", [0, 100, 300, 600, 900]]);
});

Deno.test("`retry()` throws what `onFailure` throws", async () => {
  const { at, result } = retrying(() => Promise.reject(new Error("for good")), () => true);
  await assert.rejects(result, /for good/);
  assert.deepEqual(at, [0]);
});

Deno.test("`retry()` ends its wait when its signal aborts", async () => {
  const { clock, stop, result } = retrying(() => Promise.reject(new Error("not yet")));
  const ended = assert.rejects(result, /stop/);
  await clock.advance(50);
  stop.abort(new Error("stop"));
  await ended;
  assert.equal(clock.sleeping, 0);
});
