/** Tests of the batches of forwarded pushes: sent at once while few are under way, then many in a call. */
import assert from "node:assert/strict";
import { createForwardBatches } from "../../../owner/replicas/forward_batches.ts";
import {
  type ForwardResult,
  joinPushes,
  MAX_BATCH,
  MAX_BATCH_BYTES,
  splitPushes,
} from "../../../owner/replicas/forwarding.ts";
import type { CallBounds } from "../../../platform/http/replicas/calls.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (push: Uint8Array) => new TextDecoder().decode(push);
const never = new AbortController().signal;
const within = (deadlineMs: number, signal = never): CallBounds => ({ deadlineMs, signal });

interface Call {
  readonly address: string;
  readonly pushes: readonly string[];
  readonly bounds: CallBounds;
  readonly answer: (results: readonly ForwardResult[]) => void;
}

/** Batches whose calls stay under way until a test answers them. */
function setUp(maxPushes = 1000) {
  const clock = new FakeClock();
  const calls: Call[] = [];
  const forward = createForwardBatches({
    clock,
    maxPushes,
    send(address, pushes, bounds) {
      const { promise, resolve: answer } = Promise.withResolvers<readonly ForwardResult[]>();
      calls.push({ address, pushes: pushes.map(textOf), bounds, answer });
      return promise;
    },
  });
  const outcomes: string[] = [];
  const push = (name: string, bounds = within(2500), address = "owner") => {
    forward(address, bytes(name), bounds).then(({ outcome }) =>
      outcomes.push(`${name} ${outcome}`)
    );
  };
  return { clock, calls, forward, push, outcomes };
}

const accepted = (count: number) => Array<ForwardResult>(count).fill({ outcome: "accepted" });

Deno.test("`createForwardBatches()` sends at once while few calls are under way, then together", async () => {
  const { calls, push, outcomes } = setUp();
  for (const name of ["a", "b", "c", "d", "e", "f", "g"]) push(name);
  assert.deepEqual(calls.map(({ pushes }) => pushes), [["a"], ["b"], ["c"], ["d"]]);
  calls[1]?.answer([{ outcome: "refused" }]);
  await settlePromises();
  assert.deepEqual(calls[4]?.pushes, ["e", "f", "g"]);
  calls[4]?.answer([{ outcome: "accepted" }, { outcome: "not_owner" }]);
  await settlePromises();
  assert.deepEqual(outcomes, ["b refused", "e accepted", "f not_owner", "g unreachable"]);
});

Deno.test("`createForwardBatches()` keeps addresses apart", () => {
  const { calls, push } = setUp();
  for (let i = 0; i < 5; i++) push(`old ${i}`, within(2500), "old");
  push("new", within(2500), "new");
  assert.deepEqual(calls.at(-1)?.pushes, ["new"]);
  assert.equal(calls.length, 5);
});

Deno.test("`createForwardBatches()` limits the pushes and the bytes of a call", async () => {
  const { calls, push } = setUp();
  for (let i = 0; i < 4 + MAX_BATCH + 1; i++) push(`${i}`);
  calls[0]?.answer(accepted(1));
  await settlePromises();
  assert.equal(calls[4]?.pushes.length, MAX_BATCH);
  const large = setUp();
  const big = "x".repeat(MAX_BATCH_BYTES / 2 - 1);
  for (const name of ["a", "b", "c", "d", big, big, "small", big.repeat(3), "last"]) {
    large.push(name);
  }
  for (let i = 0; i < 4; i++) large.calls[i]?.answer(accepted(1));
  await settlePromises();
  const sizes = large.calls.slice(4).map(({ pushes }) => pushes.map((it) => it.length));
  assert.deepEqual(sizes, [[big.length, big.length], [5], [big.length * 3], [4]]);
});

Deno.test("`createForwardBatches()` gives a call the shortest time of its pushes, waiting included", async () => {
  const { calls, push, clock } = setUp();
  for (const name of ["a", "b", "c", "d"]) push(name);
  push("e", within(2000));
  await clock.advance(100);
  push("f", within(1500));
  calls[0]?.answer(accepted(1));
  await settlePromises();
  assert.deepEqual([calls[4]?.pushes, calls[4]?.bounds.deadlineMs], [["e", "f"], 1500]);
});

Deno.test("`createForwardBatches()` leaves out pushes whose clients are gone, and aborts no other's call", async () => {
  const { calls, push, outcomes } = setUp();
  const gone = new AbortController();
  push("a", within(2500, gone.signal));
  for (const name of ["b", "c", "d"]) push(name);
  push("e", within(2500, gone.signal));
  const later = new AbortController();
  push("f", within(2500, later.signal));
  push("g");
  gone.abort();
  calls[1]?.answer(accepted(1));
  await settlePromises();
  assert.deepEqual(calls[4]?.pushes, ["f", "g"]);
  later.abort();
  assert.deepEqual([calls[0]?.bounds.signal.aborted, calls[4]?.bounds.signal.aborted], [
    true,
    false,
  ]);
  assert.deepEqual(outcomes, ["b accepted", "e timeout"]);
});

Deno.test("`createForwardBatches()` limits the pushes that it holds, and accepts more when those are answered", async () => {
  const { calls, push, outcomes } = setUp(3);
  for (const name of ["a", "b", "c", "d"]) push(name);
  await settlePromises();
  assert.deepEqual(outcomes, ["d saturated"]);
  calls[0]?.answer(accepted(1));
  await settlePromises();
  push("e");
  assert.deepEqual(calls.at(-1)?.pushes, ["e"]);
});

const LISTS: Record<string, string[]> = {
  "one": ["{}"],
  "several": ['{"a":1}', "{}", '{"b":"\\n"}'],
  "as many as there may be": Array<string>(MAX_BATCH).fill("{}"),
};
for (const [sentence, list] of Object.entries(LISTS)) {
  Deno.test(`\`splitPushes()\` takes apart what \`joinPushes()\` put together: ${sentence}`, () => {
    assert.deepEqual(splitPushes(joinPushes(list.map(bytes)))?.map(textOf), list);
  });
}

Deno.test("`splitPushes()` refuses more pushes than the limit", () => {
  assert.equal(splitPushes(bytes("{}\n".repeat(MAX_BATCH + 1))), undefined);
  assert.deepEqual(splitPushes(bytes("")), []);
});
