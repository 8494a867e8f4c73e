/** Tests of the turns at looking at lists: a part of the time in all, and users one after the other. */
import assert from "node:assert/strict";
import { OverloadedError } from "../../../platform/http/message.ts";
import { createLookTurns } from "../../../page/api/list_turns.ts";

/** A clock that goes on while somebody looks, and while all wait. */
function start(part: number) {
  const state = { nowMs: 0, looks: 0 };
  const sleeping: { readonly untilMs: number; readonly wake: () => void }[] = [];
  const clock = {
    monotonic: () => state.nowMs,
    sleep: (ms: number) =>
      new Promise<void>((wake) => void sleeping.push({ untilMs: state.nowMs + ms, wake })),
  };
  const lookInTurn = createLookTurns(clock, part);
  const looked: string[] = [];
  /** Lets time pass until nobody waits, or `untilMs`. */
  async function pass(untilMs: number): Promise<void> {
    for (;;) {
      for (let step = 0; step < 20; step++) await Promise.resolve();
      const next = sleeping.sort((one, other) => one.untilMs - other.untilMs)[0];
      if (next === undefined || next.untilMs > untilMs) return;
      sleeping.shift();
      state.nowMs = Math.max(state.nowMs, next.untilMs);
      next.wake();
    }
  }
  return {
    state,
    looked,
    pass,
    look: (user: string, tookMs: number, signal = new AbortController().signal) =>
      lookInTurn(user, () => {
        state.nowMs += tookMs;
        looked.push(user);
      }, signal),
  };
}

Deno.test("looks take a part of the time in the long run", async () => {
  const { look, looked, pass } = start(0.1);
  for (let count = 0; count < 1_000; count++) void look(`user-${count % 7}`, 10);
  await pass(10_000);
  // A tenth of 10 s and of the second that is given to who comes first, and one look of each user.
  assert.ok(looked.length >= 100 && looked.length <= 117, `${looked.length} looks of 10 ms`);
});

Deno.test("users look one after the other, whatever one of them asks for", async () => {
  const { look, looked, pass, state } = start(0.1);
  for (let count = 0; count < 500; count++) void look("eve", 20);
  await pass(1_000);
  const before = looked.length;
  const askedMs = state.nowMs;
  let waitedMs = Infinity;
  void look("ada", 1).then(() => waitedMs = state.nowMs - askedMs);
  await pass(10_000);
  assert.ok(looked.indexOf("ada") <= before + 2, "after the looks that were due");
  assert.ok(waitedMs < 500, `${waitedMs} ms`);
});

Deno.test("who leaves looks no more, and too many looks that wait are refused", async () => {
  const { look, looked, pass } = start(0.1);
  const gone = new AbortController();
  await look("eve", 1_000);
  const left = assert.rejects(look("eve", 1, gone.signal), /gone/);
  gone.abort(new Error("gone"));
  await pass(100_000);
  await left;
  assert.deepEqual(looked, ["eve"]);
  const never = new AbortController().signal;
  await look("eve", 1_000);
  for (let count = 0; count < 2_000; count++) void look("eve", 1, never);
  await assert.rejects(look("eve", 1, never), OverloadedError);
});
