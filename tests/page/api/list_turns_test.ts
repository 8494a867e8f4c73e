/** Tests of the turns at reading lists: a part of the time in all, and users one after the other. */
import assert from "node:assert/strict";
import { OverloadedError } from "../../../platform/http/message.ts";
import { createListTurns } from "../../../page/api/list_turns.ts";

/** A clock that goes on while somebody reads, and while all wait. */
function start(part: number) {
  const state = { nowMs: 0 };
  const sleeping: { readonly untilMs: number; readonly wake: () => void }[] = [];
  const clock = {
    monotonic: () => state.nowMs,
    sleep: (ms: number) =>
      new Promise<void>((wake) => void sleeping.push({ untilMs: state.nowMs + ms, wake })),
  };
  const listInTurn = createListTurns(clock, part);
  const readers: string[] = [];
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
    readers,
    pass,
    read: (user: string, tookMs: number, signal = new AbortController().signal) =>
      listInTurn(user, () => {
        state.nowMs += tookMs;
        readers.push(user);
      }, signal),
  };
}

Deno.test("reads take a part of the time in the long run", async () => {
  const { read, readers, pass } = start(0.1);
  for (let count = 0; count < 1_000; count++) void read(`user-${count % 7}`, 10);
  await pass(10_000);
  // A tenth of 10 s and of the second that is given to who comes first, and one read of each user.
  assert.ok(readers.length >= 100 && readers.length <= 117, `${readers.length} reads of 10 ms`);
});

Deno.test("users read one after the other, whatever one of them asks for", async () => {
  const { read, readers, pass, state } = start(0.1);
  for (let count = 0; count < 500; count++) void read("eve", 20);
  await pass(1_000);
  const before = readers.length;
  const askedMs = state.nowMs;
  let waitedMs = Infinity;
  void read("ada", 1).then(() => waitedMs = state.nowMs - askedMs);
  await pass(10_000);
  assert.ok(readers.indexOf("ada") <= before + 2, "after the reads that were due");
  assert.ok(waitedMs < 500, `${waitedMs} ms`);
});

Deno.test("who leaves reads no more, and too many reads that wait are refused", async () => {
  const { read, readers, pass } = start(0.1);
  const gone = new AbortController();
  await read("eve", 1_000);
  const left = assert.rejects(read("eve", 1, gone.signal), /gone/);
  gone.abort(new Error("gone"));
  await pass(100_000);
  await left;
  assert.deepEqual(readers, ["eve"]);
  const never = new AbortController().signal;
  await read("eve", 1_000);
  for (let count = 0; count < 2_000; count++) void read("eve", 1, never);
  await assert.rejects(read("eve", 1, never), OverloadedError);
});
