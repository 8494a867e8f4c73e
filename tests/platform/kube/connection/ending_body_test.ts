/** Tests of response bodies that end with a signal. */
import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { endingWith } from "../../../../platform/kube/connection/ending_body.ts";

/** Collects garbage again and again, as a busy process does in time. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  for (let round = 0; round < 10; round++) {
    if (typeof collect === "function") collect();
    const junk = Array.from({ length: 100_000 }, (_, index) => ({ index }));
    await new Promise((resolve) => setTimeout(resolve, 20, junk));
  }
}

/** Runs `work` with the address of a server that answers with a line, and then nothing more. */
async function withSilentServer(work: (url: string) => Promise<void>): Promise<void> {
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    const text = new TextEncoder().encode("a line\n");
    return new Response(new ReadableStream({ start: (stream) => stream.enqueue(text) }));
  });
  await work(`http://127.0.0.1:${server.addr.port}/`);
}

const open = async (url: string, signal: AbortSignal) =>
  endingWith(await fetch(url, { signal }), signal);

Deno.test("`endingWith()` ends a body by its signal also after a garbage collection", async () => {
  await withSilentServer(async (url) => {
    const ending = new AbortController();
    const reader = (await open(url, ending.signal)).body?.getReader();
    assert.equal(new TextDecoder().decode((await reader?.read())?.value), "a line\n");
    const next = reader?.read().then(() => "more", (error) => String(error));
    await collectGarbage();
    ending.abort(new Error("enough"));
    let timer;
    const late = new Promise((resolve) => timer = setTimeout(resolve, 5_000, "nothing"));
    assert.equal(await Promise.race([next, late]), "Error: enough");
    clearTimeout(timer);
  });
});

Deno.test("`endingWith()` keeps a response as it is: status, headers, whole body, no body", async () => {
  const { signal } = new AbortController();
  const whole = new Response("text", { status: 418, headers: { "x-a": "b" } });
  const answer = endingWith(whole, signal);
  assert.equal(answer.status, 418);
  assert.equal(answer.headers.get("x-a"), "b");
  assert.equal(await answer.text(), "text");
  const none = new Response(null, { status: 204 });
  assert.equal(endingWith(none, signal), none);
});

Deno.test("`endingWith()` passes a reader's cancellation on to the connection", async () => {
  let left: unknown;
  const endless = new ReadableStream({ cancel: (reason) => void (left = reason) });
  const answer = endingWith(new Response(endless), new AbortController().signal);
  await answer.body?.cancel("gone");
  assert.equal(left, "gone");
});
