/** Tests of polls: when the next question comes. */
import assert from "node:assert/strict";
import { createPoll } from "../../../platform/base/poll.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** Asks with these outcomes, and the last one for all that follow. */
async function withPoll(
  outcomes: boolean[],
  work: (world: { clock: FakeClock; wake: () => void; count: () => number }) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  const stop = new AbortController();
  let count = 0;
  const poll = createPoll({
    clock,
    random: () => 1,
    everyMs: 72_000,
    ask: () => Promise.resolve(outcomes[Math.min(count++, outcomes.length - 1)] ?? true),
  });
  const running = poll.run(stop.signal);
  try {
    await work({ clock, wake: poll.wake, count: () => count });
  } finally {
    stop.abort();
    await running;
  }
  assert.equal(clock.sleeping, 0);
}

Deno.test("after a question that went well the next comes when its time is over", () =>
  withPoll([true], async ({ clock, count }) => {
    await clock.advance(71_000);
    assert.equal(count(), 1);
    await clock.advance(1_001);
    assert.equal(count(), 2);
  }));

for (const outcome of ["fails", "is answered", "is given up"] as const) {
  Deno.test(`\`polled\` resolves when the first question ${outcome}, after the failure has been told`, async () => {
    const stop = new AbortController();
    const told: string[] = [];
    const poll = createPoll({
      clock: new FakeClock(),
      everyMs: 72_000,
      async ask() {
        await undefined;
        if (outcome === "is given up") stop.abort();
        if (outcome !== "is answered") throw new Error("away");
      },
      onFailure: () => void told.push("failure"),
    });
    const polled = poll.polled.then(() => told.push("polled"));
    const running = poll.run(stop.signal);
    await polled;
    assert.deepEqual(told, outcome === "fails" ? ["failure", "polled"] : ["polled"]);
    stop.abort();
    await running;
  });
}

Deno.test("questions that fail back off up to ten seconds, and go on", () =>
  withPoll([false], async ({ clock, count }) => {
    const waits: (number | undefined)[] = [];
    for (let asked = 0; asked < 8; asked++) {
      await clock.advance(0);
      waits.push(clock.nextWakeMs);
      await clock.advance(clock.nextWakeMs ?? 0);
    }
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, 10_000]);
    assert.equal(count(), 9);
  }));

Deno.test("questions that fail in turn with such that are woken back off as well", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  let count = 0;
  const poll = createPoll({
    clock,
    random: () => 1,
    everyMs: 72_000,
    ask() {
      if (count++ % 2 === 0) throw new Error("away");
      poll.wake();
      return Promise.resolve();
    },
  });
  const running = poll.run(stop.signal);
  const waits: (number | undefined)[] = [];
  for (let asked = 0; asked < 4; asked++) {
    await clock.advance(0);
    waits.push(clock.nextWakeMs);
    await clock.advance(clock.nextWakeMs ?? 0);
  }
  stop.abort();
  await running;
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000]);
});

Deno.test("a poll that is woken asks soon, and one that is woken without end backs off as well", () =>
  withPoll([true], async ({ clock, wake, count }) => {
    const waits: (number | undefined)[] = [];
    for (let asked = 0; asked < 3; asked++) {
      await clock.advance(0);
      wake();
      await clock.advance(0);
      waits.push(clock.nextWakeMs);
      await clock.advance(clock.nextWakeMs ?? 0);
    }
    assert.deepEqual(waits, [1_000, 2_000, 4_000]);
    await clock.advance(72_001);
    assert.equal(count(), 5);
    wake();
    await clock.advance(1_000);
    assert.equal(count(), 6, "a whole time without being woken makes good");
  }));
