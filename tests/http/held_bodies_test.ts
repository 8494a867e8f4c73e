/** Tests of the bytes that bodies may hold, and of the rate at which they must come. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { createFairShare } from "../../http/limits/fair_share.ts";
import { okResponse } from "../../status/chain/answer.ts";
import { until } from "../support/until.ts";
import { startTestServer, type TestServerOptions } from "./test_server.ts";

const BODY = 8_000;
const HEAD = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY}\r\n\r\n`;
const HOGS = "127.0.0.9";

interface Client {
  readonly socket: Socket;
  heard(): string;
}

/** Connects from an address, and sends the text. */
function dial(port: number, text: string, localAddress = "127.0.0.1"): Client {
  let heard = "";
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.setEncoding("utf8");
  socket.on("error", () => {});
  socket.on("data", (chunk) => heard += String(chunk));
  socket.write(text);
  return { socket, heard: () => heard };
}

function start(options: Omit<TestServerOptions, "handle">) {
  return startTestServer({
    times: { requestMs: 60_000, checkEveryMs: 50 },
    ...options,
    handle: async (request) => okResponse({ length: (await request.readBody(BODY))?.length }),
  });
}

Deno.test("`startServer()` answers 503 to a peer that holds too many bytes, and serves others", async () => {
  const bodyBudget = createFairShare(100_000);
  const server = await start({ bodyBudget });
  const hogs = Array.from(
    { length: 30 },
    () => dial(server.port, HEAD + "x".repeat(BODY - 1), HOGS),
  );
  const refused = () => hogs.filter(({ heard }) => heard().startsWith("HTTP/1.1 503"));
  await until("a half of the budget is held", () => refused().length >= 24);
  assert(bodyBudget.used() <= 50_000);
  for (const { heard } of refused()) assert.match(heard(), /^Retry-After: 1\r$/m);
  const honest = dial(server.port, HEAD + "x".repeat(BODY));
  await until("an honest answer", () => honest.heard().includes(`"length":${BODY}`));
  for (const { socket } of [...hogs, honest]) socket.destroy();
  await until("everything is given back", () => bodyBudget.used() === 0);
  await server.close(1000);
});

Deno.test("`startServer()` counts the bytes of a body until its request is answered", async () => {
  const bodyBudget = createFairShare(100_000);
  const goOn = Promise.withResolvers<void>();
  const server = await startTestServer({
    bodyBudget,
    handle: async (request) => {
      await request.readBody(BODY);
      await goOn.promise;
      return okResponse({});
    },
  });
  const client = dial(server.port, HEAD + "x".repeat(BODY));
  await until("the body is there", () => bodyBudget.used() >= BODY);
  assert.equal(client.heard(), "");
  goOn.resolve();
  await until("an answer", () => client.heard().startsWith("HTTP/1.1 200"));
  assert.equal(bodyBudget.used(), 0);
  client.socket.destroy();
  await server.close(1000);
});

Deno.test("`startServer()` cuts a body that comes more slowly than the least rate", async () => {
  const server = await start({
    times: {
      requestMs: 60_000,
      checkEveryMs: 50,
      body: { graceMs: 200, bytesPerSecond: 4_000 },
    },
  });
  const slow = dial(server.port, HEAD + "x");
  const fast = dial(server.port, HEAD + "x");
  const dripping = setInterval(() => {
    slow.socket.write("x");
    if (!fast.socket.destroyed) fast.socket.write("x".repeat(1_000));
  }, 100);
  await until("the slow one is refused", () => slow.heard().startsWith("HTTP/1.1 408"));
  await until("the other one is answered", () => fast.heard().includes(`"length":${BODY}`));
  clearInterval(dripping);
  for (const { socket } of [slow, fast]) socket.destroy();
  await server.close(1000);
});
