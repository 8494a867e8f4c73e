/** Tests of long answers in memory: slow readers hold so many bytes, and one of them no more than a half. */
import assert from "node:assert/strict";
import { OverloadedError } from "../../../platform/http/message.ts";
import { createHeldAnswers } from "../../../page/server/held_answers.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const answerOf = (length: number) => ({ status: 200, headers: {}, body: "x".repeat(length) });

function start() {
  const clock = new FakeClock();
  const hold = createHeldAnswers(clock, { bytes: 1_000_000, smallBytes: 1_000, writeMs: 30_000 });
  return { clock, hold };
}

Deno.test("an answer is written whole, and its bytes are free again", async () => {
  const { clock, hold } = start();
  for (let count = 0; count < 5; count++) {
    const { body, stream } = hold("ada", answerOf(200_000));
    assert.equal(body, "");
    const parts: (string | Uint8Array)[] = [];
    await stream?.({
      signal: new AbortController().signal,
      write: (part) => Promise.resolve(void parts.push(part)),
    });
    assert.equal(parts.join(""), "x".repeat(200_000));
    assert.ok(parts.length > 1, "in parts, as the reader takes them");
  }
  assert.equal(clock.sleeping, 0);
  assert.deepEqual(hold("ada", answerOf(500)), answerOf(500), "a small one is not counted");
});

Deno.test("one who does not read has half of the bytes, others have of the rest, and it is cut off", async () => {
  const { clock, hold } = start();
  const never = { signal: new AbortController().signal, write: () => new Promise<void>(() => {}) };
  const held = hold("eve", answerOf(250_000)).stream?.(never);
  assert.throws(() => hold("eve", answerOf(1_000)), OverloadedError);
  void hold("ada", answerOf(100_000));
  const cut = assert.rejects(held ?? Promise.resolve(), /did not take the answer within 30000 ms/);
  await clock.advance(30_000);
  await cut;
  void hold("eve", answerOf(200_000));
});
