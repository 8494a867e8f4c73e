/** Tests of streams of events whose readers are slow. */
import assert from "node:assert/strict";
import { type Reauthorization, runEventLoop } from "../../../platform/http/event_stream.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** A stream that has much to send, to a reader that takes each text after so long. */
function stream(takesMs: number, reauthorize: () => Promise<Reauthorization>) {
  const clock = new FakeClock();
  const seen = { texts: [] as string[], checks: 0, hasEnded: false };
  const gone = new AbortController();
  runEventLoop({
    clock,
    sink: {
      signal: gone.signal,
      async write(text) {
        await clock.sleep(takesMs, gone.signal);
        if (!gone.signal.aborted) seen.texts.push(String(text));
      },
    },
    expiresMs: clock.now() + 3_600_000,
    random: () => 0,
    follow(listener) {
      listener();
      return () => {};
    },
    onJobEnd: () => () => {},
    async sendNews(write) {
      for (let index = 0; index < 1_000; index++) await write(`event: jobs\ndata: ${index}\n\n`);
    },
    sendLast: () => Promise.resolve(),
    reauthorize() {
      seen.checks += 1;
      return reauthorize();
    },
  }).finally(() => {
    seen.hasEnded = true;
    gone.abort();
  });
  return { clock, seen, leave: () => gone.abort() };
}

for (const takesMs of [1_000, 14_000, 29_000]) {
  Deno.test(`a reader that takes a text in ${takesMs} ms is checked in time while it is sent much`, async () => {
    const { clock, seen } = stream(
      takesMs,
      () => Promise.resolve({ kind: "reader", why: "it may not" }),
    );
    await clock.advance(80_000);
    assert.ok(seen.hasEnded);
    assert.ok(seen.texts.length <= 80_000 / takesMs);
    assert.equal(clock.sleeping, 0);
  });
}

Deno.test("a reader that is slow but steady is sent all that it may see", async () => {
  const { clock, seen, leave } = stream(4_000, () => Promise.resolve(undefined));
  await clock.advance(300_000);
  assert.equal(seen.hasEnded, false);
  assert.ok(seen.texts.length > 70);
  assert.ok(seen.checks >= 4);
  leave();
  await clock.advance(0);
  assert.ok(seen.hasEnded);
});

Deno.test("a reader that asks too much for its rights to be known is cut within 80 s", async () => {
  const { clock, seen } = stream(1_000, () => Promise.resolve("later"));
  await clock.advance(80_000);
  assert.ok(seen.hasEnded);
  assert.match(seen.texts.at(-1) ?? "", /^: ended: too much is asked at once/);
});
