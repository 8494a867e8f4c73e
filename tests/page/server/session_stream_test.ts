/** Tests of streams of a session: an open one counts as use, and ends with it. */
import assert from "node:assert/strict";
import { createBrowserSessions, SESSION_LIMITS } from "../../../page/server/browser_sessions.ts";
import { proxy } from "../../../page/server/proxied_response.ts";
import { whileOpen } from "../../../page/server/session_stream.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";
import { answeringClient } from "../../support/answering_client.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

Deno.test("a session with an open stream is not unused, and is over so long after its end", async () => {
  const clock = new FakeClock(START, settlePromises);
  const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count));
  const sessions = createBrowserSessions({ clock, randomBytes });
  const opened = sessions.open(sessions.newCode());
  assert.ok("session" in opened);
  const isOpen = () => sessions.has(opened.session);
  const gone = new AbortController();
  const stream = ({ signal }: { signal: AbortSignal }) => aborted(signal);
  const response = whileOpen({ status: 200, headers: {}, body: "", stream }, isOpen, clock);
  const streamed = response.stream?.({ write: () => Promise.resolve(), signal: gone.signal });
  await clock.advance(1.5 * SESSION_LIMITS.idleMs);
  assert.ok(isOpen());
  gone.abort();
  await streamed;
  assert.equal(clock.sleeping, 0);
  await clock.advance(SESSION_LIMITS.idleMs + 1);
  assert.ok(!isOpen());
});

Deno.test("a stream ends with its session, and writes nothing after that", async () => {
  const clock = new FakeClock(START, settlePromises);
  const written: string[] = [];
  let isOpen = true;
  const response = whileOpen(
    {
      status: 200,
      headers: {},
      body: "",
      async stream({ write, signal }) {
        await write("before");
        await aborted(signal);
        await write("after");
      },
    },
    () => isOpen,
    clock,
  );
  const streamed = response.stream?.({
    write: (part) => Promise.resolve(void written.push(String(part))),
    signal: new AbortController().signal,
  });
  await clock.advance(60_000);
  assert.equal(clock.sleeping, 1);
  isOpen = false;
  await clock.advance(15_000);
  await streamed;
  assert.deepEqual(written, ["before"]);
  assert.equal(clock.sleeping, 0);
});

Deno.test("a log that is silent for long ends, and its reader reads on with another", async () => {
  const clock = new FakeClock(START, settlePromises);
  const body = new ReadableStream<Uint8Array>({
    start: (it) => it.enqueue(new TextEncoder().encode("line\n")),
  });
  const headers = { "content-type": "text/plain" };
  const passed = await proxy(
    answeringClient(() => new Response(body, { headers }), clock),
    {},
    { path: "/log?follow=true", streamed: { type: "text/plain", idleMs: 600_000 } },
  );
  const written: string[] = [];
  const write = (part: string | Uint8Array) =>
    Promise.resolve(void written.push(String(part.length)));
  let isOver = false;
  const sink = { write, signal: new AbortController().signal };
  const streamed = passed.stream?.(sink).then(() => isOver = true);
  await clock.advance(599_999);
  assert.deepEqual({ isOver, written }, { isOver: false, written: ["5"] });
  await clock.advance(1);
  await streamed;
  assert.deepEqual({ isOver, sleeping: clock.sleeping }, { isOver: true, sleeping: 0 });
});

for (const isManager of [true, false]) {
  Deno.test(`a token that is refused ${isManager ? "says nothing of" : "ends"} the session`, async () => {
    const refused = () => Response.json({ kind: "Status", code: 401 }, { status: 401 });
    const passed = proxy(answeringClient(refused), {}, { path: "/x", isManager });
    if (!isManager) return await assert.rejects(passed, { code: 401 });
    assert.equal((await passed).status, 503);
  });
}

Deno.test("a stream that ends does not wait for the look that runs", async () => {
  const clock = new FakeClock(START, settlePromises);
  const gone = new AbortController();
  const stream = ({ signal }: { signal: AbortSignal }) => aborted(signal);
  let looks = 0;
  const isOpen = async (signal?: AbortSignal) => {
    looks++;
    await (signal === undefined ? new Promise(() => {}) : aborted(signal));
    return true;
  };
  const response = whileOpen({ status: 200, headers: {}, body: "", stream }, isOpen, clock);
  let isOver = false;
  void response.stream?.({ write: () => Promise.resolve(), signal: gone.signal })
    .then(() => isOver = true);
  await clock.advance(15_000);
  gone.abort();
  await clock.advance(1_000);
  assert.deepEqual({ looks, isOver }, { looks: 1, isOver: true });
});

Deno.test("a log that its reader left before it began is not followed", async () => {
  const clock = new FakeClock(START, settlePromises);
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({ cancel: () => void (isCancelled = true) });
  const headers = { "content-type": "text/plain" };
  const gone = new AbortController();
  const passed = await proxy(
    answeringClient(() => new Response(body, { headers }), clock),
    {},
    {
      path: "/api/v1/namespaces/team-a/pods/silent/log?follow=true",
      streamed: { type: "text/plain", idleMs: 600_000 },
    },
  );
  gone.abort();
  let isOver = false;
  const sink = { write: () => Promise.resolve(), signal: gone.signal };
  void passed.stream?.(sink).catch(() => {}).then(() => isOver = true);
  await clock.advance(1_000);
  assert.deepEqual({ isOver, isCancelled }, { isOver: true, isCancelled: true });
});
