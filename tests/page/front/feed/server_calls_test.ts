/** Tests of calls of the server: bodies that stall. */
import assert from "node:assert/strict";
import { ask, CallError, send } from "../../../../page/front/feed/server_calls.ts";

/** A server whose bodies never end. Its answers are refusals where the path says so. */
function startStalling() {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const body = new ReadableStream({
      start: (it) => it.enqueue(new TextEncoder().encode('{"rows":[')),
    });
    return new Response(body, { status: url.endsWith("/refused") ? 503 : 200 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

for (const path of ["/rows", "/refused"]) {
  Deno.test(`\`send()\` gives up a body of ${path} that stalls`, async () => {
    await using server = startStalling();
    const late = { name: "CallError", status: 0, message: "no answer came in time" };
    await assert.rejects(send({ path: server.url + path }, 50), late);
  });
}

Deno.test("`send()` waits for the beginning of a stream alone", async () => {
  await using server = startStalling();
  const { body } = await send({ path: `${server.url}/rows`, streamed: true }, 5_000);
  const reader = body?.getReader();
  const { value = new Uint8Array() } = await reader?.read() ?? {};
  assert.equal(new TextDecoder().decode(value), '{"rows":[');
  await reader?.cancel();
});

Deno.test("`ask()` returns JSON, and says that the server does not answer", async () => {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => Response.json({ rows: [1] }),
  );
  const path = `http://127.0.0.1:${server.addr.port}/rows`;
  assert.deepEqual(await ask({ path }), { rows: [1] });
  await server.shutdown();
  await assert.rejects(ask({ path }), CallError);
});
