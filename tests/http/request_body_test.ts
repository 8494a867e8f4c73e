/** Tests of the memory that bodies take. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { okResponse } from "../../status/chain/answer.ts";
import { until } from "../support/until.ts";
import { startTestServer } from "./test_server.ts";

Deno.test("`startServer()` takes no more for a body without a length than it may have", async () => {
  const maxBytes = 70_000;
  let held: Uint8Array | undefined;
  const server = await startTestServer({
    handle: async (request) => {
      held = await request.readBody(maxBytes);
      return okResponse({});
    },
  });
  const client = request({ port: server.port, host: "127.0.0.1", method: "POST", agent: false });
  client.on("error", () => {});
  const sent = Uint8Array.from({ length: maxBytes }, (_, index) => index % 251);
  for (let from = 0; from < maxBytes; from += 9_000) client.write(sent.slice(from, from + 9_000));
  client.end();
  await until("the body is there", () => held !== undefined);
  assert.deepEqual(held, sent);
  assert.equal(held?.buffer.byteLength, maxBytes);
  client.destroy();
  await server.close(1000);
});
