/** Tests of what is done when a signal aborts. */
import assert from "node:assert/strict";
import { onAbort, settledOrAborted, unlessAborted } from "../../../platform/base/aborted.ts";

Deno.test("`onAbort()` calls once when the signal aborts, and at once if it has", () => {
  const over = new AbortController();
  const calls: unknown[][] = [];
  const act = (...given: unknown[]) => void calls.push(given);
  onAbort(over.signal, act);
  onAbort(undefined, act);
  assert.deepEqual(calls, []);
  over.abort();
  assert.deepEqual(calls, [[]]);
  onAbort(over.signal, act);
  assert.deepEqual(calls, [[], []]);
});

Deno.test("`onAbort()` does not call once its listener was taken away", () => {
  const over = new AbortController();
  onAbort(over.signal, () => assert.fail())();
  over.abort();
});

Deno.test("`settledOrAborted()` resolves with what fails, and with a signal that aborts", async () => {
  const never = new Promise<void>(() => {});
  await settledOrAborted(Promise.reject(new Error("failed")), new AbortController().signal);
  await settledOrAborted(never, AbortSignal.abort());
});

Deno.test("`unlessAborted()` settles as its work, or throws the reason of the signal", async () => {
  const over = new AbortController();
  assert.equal(await unlessAborted(Promise.resolve(7), over.signal), 7);
  await assert.rejects(unlessAborted(Promise.reject(new Error("failed")), over.signal), /failed/);
  const late = unlessAborted(new Promise(() => {}), over.signal);
  over.abort(new Error("over"));
  await assert.rejects(late, /over/);
});
