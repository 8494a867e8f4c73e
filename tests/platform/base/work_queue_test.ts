/** Tests of the work queue. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { DelayedKeys } from "../../../platform/base/delayed_keys.ts";
import { createWorkQueue } from "../../../platform/base/work_queue.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

function queueAt(random = () => 1) {
  const clock = new FakeClock();
  return { clock, queue: createWorkQueue({ clock, random }) };
}

Deno.test("`add()` queues a key once, in order of arrival", async () => {
  const { queue } = queueAt();
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  assert.equal(queue.depth, 3);
  assert.deepEqual([await queue.take(), await queue.take(), await queue.take()], ["a", "b", "c"]);
  assert.equal(queue.depth, 0);
});

Deno.test("`add()` of a key that is being worked on queues it once more afterwards", async () => {
  const { queue } = queueAt();
  queue.add("a");
  assert.equal(await queue.take(), "a");
  queue.add("a");
  queue.add("a");
  assert.equal(queue.depth, 0);
  queue.done("a");
  assert.equal(queue.depth, 1);
  assert.equal(await queue.take(), "a");
  queue.done("a");
  assert.equal(queue.depth, 0);
});

Deno.test("`take()` waits for a key", async () => {
  const { queue } = queueAt();
  const taken = queue.take();
  queue.add("a");
  assert.equal(await taken, "a");
});

Deno.test("`addAfter()` keeps the earliest time", async () => {
  const { clock, queue } = queueAt();
  queue.addAfter("a", 5000);
  queue.addAfter("a", 1000);
  queue.addAfter("a", 3000);
  queue.addAfter("b", 2000);
  const taken: (string | undefined)[] = [];
  queue.take().then((key) => taken.push(key));
  await clock.advance(999);
  assert.deepEqual(taken, []);
  await clock.advance(1);
  assert.deepEqual(taken, ["a"]);
  await clock.advance(10_000);
  assert.equal(await queue.take(), "b");
  const last = queue.take();
  await settle();
  assert.equal(clock.sleeping, 0);
  queue.shutDown();
  assert.equal(await last, undefined);
});

Deno.test("`addAfter()` refuses what is no time", () => {
  const { queue } = queueAt();
  assert.throws(() => queue.addAfter("a", NaN), /a: the time to wait is no number/);
  assert.equal(queue.depth, 0);
});

Deno.test("`addAfter()` sets no timer before a worker waits", async () => {
  const { clock, queue } = queueAt();
  queue.addAfter("a", 1000);
  assert.equal(clock.sleeping, 0);
  const taken = queue.take();
  assert.equal(clock.sleeping, 1);
  queue.addAfter("b", 10);
  assert.equal(clock.nextWakeMs, 10);
  await clock.advance(10);
  assert.equal(await taken, "b");
  assert.equal(clock.sleeping, 0);
});

Deno.test("`addRateLimited()` doubles the delay of one key, up to the longest", () => {
  const { queue } = queueAt();
  const delays = Array.from({ length: 20 }, () => queue.addRateLimited("a"));
  assert.deepEqual(delays.slice(0, 5), [5, 10, 20, 40, 80]);
  assert.equal(delays.at(-1), 300_000);
  assert.equal(queue.failures("a"), 20);
  assert.equal(queue.addRateLimited("b"), 5);
  queue.forget("a");
  assert.equal(queue.addRateLimited("a"), 5);
  assert.equal(queue.addRateLimited("a", 7000), 7000);
});

Deno.test("`shutDown()` ends every wait and drops the rest", async () => {
  const { clock, queue } = queueAt();
  queue.addAfter("later", 1000);
  const waits = [queue.take(), queue.take()];
  assert.equal(clock.sleeping, 1);
  queue.shutDown();
  assert.deepEqual(await Promise.all(waits), [undefined, undefined]);
  assert.equal(clock.sleeping, 0);
  queue.add("a");
  queue.addAfter("b", 1);
  assert.equal(queue.depth, 0);
  assert.equal(await queue.take(), undefined);
});

Deno.test("`DelayedKeys` returns keys in the order of their earliest times", () => {
  const settings = fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.nat(100)));
  fc.assert(fc.property(settings, (calls) => {
    const delayed = new DelayedKeys();
    const earliest = new Map<string, number>();
    for (const [key, at] of calls) {
      delayed.set(`${key}`, at);
      earliest.set(`${key}`, Math.min(at, earliest.get(`${key}`) ?? Infinity));
    }
    assert.equal(delayed.size, earliest.size);
    const times: number[] = [];
    for (let now = 0; now <= 100; now += 7) {
      for (const key of delayed.takeDue(now)) {
        const at = earliest.get(key) ?? NaN;
        assert.ok(at <= now && at > now - 7);
        times.push(at);
        earliest.delete(key);
      }
    }
    for (const key of delayed.takeDue(100)) earliest.delete(key);
    assert.deepEqual(times, times.toSorted((a, b) => a - b));
    assert.equal(earliest.size, 0);
    assert.equal(delayed.nextAt(), undefined);
  }));
});

type Command = {
  type: "add" | "after" | "take" | "done" | "fail" | "pass";
  key: string;
  ms: number;
};

Deno.test("`createWorkQueue()` never gives a key to two workers and loses none", async () => {
  const command: fc.Arbitrary<Command> = fc.record({
    type: fc.constantFrom("add", "after", "take", "done", "fail", "pass"),
    key: fc.constantFrom("a", "b", "c", "d"),
    ms: fc.nat(50),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const { clock, queue } = queueAt();
      const inHand = new Set<string>();
      /** Keys that must be taken again. */
      const owed = new Set<string>();
      const takes: Promise<void>[] = [];
      const take = () =>
        takes.push(
          queue.take().then((key) => {
            if (key === undefined) return;
            assert.ok(!inHand.has(key), `${key} is in two hands`);
            inHand.add(key);
            owed.delete(key);
          }),
        );
      const finish = (key: string) => {
        if (inHand.delete(key)) queue.done(key);
      };
      for (const { type, key, ms } of commands) {
        if (type === "add") owed.add(key), queue.add(key);
        else if (type === "after") owed.add(key), queue.addAfter(key, ms);
        else if (type === "take") take();
        else if (type === "done") finish(key);
        else if (type === "pass") await clock.advance(ms);
        else if (inHand.has(key)) owed.add(key), queue.addRateLimited(key), finish(key);
        await Promise.resolve();
        await Promise.resolve();
      }
      for (let round = 0; round < 12 && (owed.size > 0 || inHand.size > 0); round++) {
        for (const key of [...inHand]) finish(key);
        take();
        await clock.advance(1000);
      }
      assert.deepEqual([...owed], []);
      queue.shutDown();
      await Promise.all(takes);
    }),
    { numRuns: 40 },
  );
});
