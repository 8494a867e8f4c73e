/** Tests of the memory that bodies take, and of those that wait for it. */
import assert from "node:assert/strict";
import { IncomingMessage, request } from "node:http";
import { Socket } from "node:net";
import { createHeldBodies } from "../../../platform/http/held_bodies.ts";
import { OverloadedError } from "../../../platform/http/message.ts";
import { okResponse } from "../../../platform/http/json_responses.ts";
import { until } from "../../support/until.ts";
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

function messageOf(length: number): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  message.headers = { "content-length": String(length) };
  return message;
}

Deno.test("`createHeldBodies()` asks again for those that wait once something was given back", async () => {
  let left = 600_000;
  let asked = 0;
  const bodies = createHeldBodies({
    budget: {
      used: () => 0,
      take: (_key, amount) => {
        asked += 1;
        if (amount > left) return false;
        left -= amount;
        return true;
      },
      give: (_key, amount) => void (left += amount),
    },
    rate: { graceMs: 1000, bytesPerSecond: 1000 },
    read: () => {},
    onReceive: () => {},
  });
  const hold = (length: number) => {
    const body = bodies.hold(messageOf(length), "127.0.0.1", 0);
    const read = body.read(1_000_000);
    read.catch(() => {});
    return { body, read };
  };
  const first = hold(400_000);
  const waits = hold(300_000);
  const empty = hold(0);
  assert.equal(asked, 2);
  bodies.release(empty.body, 0);
  assert.equal(asked, 2, "nothing was given back");
  bodies.release(first.body, 0);
  assert.equal(asked, 3);
  const late = hold(300_000);
  bodies.check(5_000);
  await assert.rejects(late.read, OverloadedError);
  bodies.release(waits.body, 0);
  assert.equal(left, 600_000);
});
