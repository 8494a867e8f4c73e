/** Tests of answers within a deadline: which one is given, and that nothing is left behind. */
import assert from "node:assert/strict";
import { answerInTime } from "../../../platform/base/deadline.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const DEADLINE_MS = 1_000;

/** Begins a piece of work that ends when the test says so. */
function begin() {
  const clock = new FakeClock();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const outer = new AbortController();
  const works: AbortSignal[] = [];
  const answer = answerInTime(clock, DEADLINE_MS, "late", (signal) => {
    works.push(signal);
    return promise;
  }, outer.signal);
  return { clock, resolve, reject, outer, works, answer };
}

type Begun = ReturnType<typeof begin>;

const CASES: Readonly<Record<string, { end: (begun: Begun) => unknown; want: string }>> = {
  "work that ends": { end: ({ resolve }) => resolve("done"), want: "done" },
  "work that fails": { end: ({ reject }) => reject("broken"), want: "broken" },
  "work that takes too long": { end: ({ clock }) => clock.advance(DEADLINE_MS), want: "late" },
  "work for which nobody waits": { end: ({ outer }) => outer.abort(), want: "late" },
};

for (const [sentence, { end, want }] of Object.entries(CASES)) {
  Deno.test(`\`answerInTime()\` answers ${sentence}, and ends it`, async () => {
    const begun = begin();
    const { clock, works, answer } = begun;
    assert.deepEqual(works.map(({ aborted }) => aborted), [false]);
    await end(begun);
    assert.equal(await Promise.resolve(answer).catch(String), want);
    assert.deepEqual(works.map(({ aborted }) => aborted), [true]);
    assert.equal(clock.sleeping, 0);
  });
}

Deno.test("`answerInTime()` gives an answer that is there at once, without a timer", () => {
  const clock = new FakeClock();
  assert.equal(answerInTime(clock, DEADLINE_MS, "late", () => "now"), "now");
  assert.equal(clock.sleeping, 0);
});

Deno.test("`answerInTime()` waits for nothing when nobody waits any more", async () => {
  const clock = new FakeClock();
  const never = () => new Promise<string>(() => {});
  assert.equal(await answerInTime(clock, DEADLINE_MS, "late", never, AbortSignal.abort()), "late");
  assert.equal(clock.sleeping, 0);
});
