/** Tests of the bytes that bodies may hold, and of the rate at which they must come. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { createFairShare } from "../../../platform/http/limits/fair_share.ts";
import { okResponse } from "../../../platform/http/json_responses.ts";
import { until } from "../../support/until.ts";
import { certificate } from "./certificates.ts";
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

Deno.test("`startServer()` ends who sends more than 4 MiB while a response is due, beside the body that was declared", async () => {
  const length = 8 << 20;
  const [isHere, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const server = await startTestServer({
    times: { checkEveryMs: 50 },
    handle: async (request) => {
      const body = await request.readBody(length);
      if (body?.length === length) isHere.resolve();
      await goOn.promise;
      return okResponse({ length: body?.length });
    },
  });
  const body = "x".repeat(length);
  const long = dial(
    server.port,
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`,
  );
  await isHere.promise;
  const more = dial(
    server.port,
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n${"\r\n".repeat(length)}`,
  );
  await until("a check ends the one that sends more", () => more.socket.closed);
  goOn.resolve();
  await until("the long body's answer", () => long.heard().includes(`"length":${length}`));
  long.socket.destroy();
  await server.close(1000);
});

/** A whole request, after which another one may come at once. */
const EMPTY = "POST /empty HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";

for (const [before, first] of [["", ""], [" after a request that came with it", EMPTY]] as const) {
  Deno.test(`\`startServer()\` leaves a long body${before} to its client until somebody reads it`, async () => {
    const length = 48 << 20;
    const longOneCame = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const server = await startTestServer({
      tls: await certificate("localhost"),
      bodyBudget: createFairShare(1 << 30),
      // On a busy machine the bodies take longer than a client may: that is not what is tried here.
      times: { requestMs: 600_000 },
      handle: async (request) => {
        if (request.url === "/empty") await longOneCame.promise;
        else longOneCame.resolve();
        if (request.url === "/later") await goOn.promise;
        return okResponse({ length: (await request.readBody(length))?.length });
      },
    });
    function send(path: string) {
      const socket = connectTls({
        port: server.port,
        host: "127.0.0.1",
        rejectUnauthorized: false,
      });
      const client = { socket, heard: "", isSent: false };
      socket.setEncoding("utf8").on("data", (chunk) => client.heard += String(chunk));
      socket.on("error", () => {});
      socket.write(
        `${first}POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`,
      );
      socket.write(new Uint8Array(length), () => client.isSent = true);
      return client;
    }
    const answered = ({ heard }: { heard: string }) => heard.includes(`"length":${length}`);
    const later = send("/later");
    await until(
      "the first answer",
      () => first === "" || later.heard.includes(`"length":0`),
    );
    const now = send("/now");
    await until("an answer", () => answered(now));
    assert.ok(!later.isSent, "all of it was read, though nobody wanted it");
    goOn.resolve();
    await until("the other answer", () => answered(later));
    for (const { socket } of [later, now]) socket.destroy();
    await server.close(1000);
  });
}

/** A body that waits for room where there is none. */
const LONG_BODY = 100_000;
const LONG_HEAD = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${LONG_BODY}\r\n\r\n`;

Deno.test("`startServer()` ends bodies that stop a byte short while others wait for their room", async () => {
  const bodyBudget = createFairShare(700_000);
  const server = await startTestServer({
    bodyBudget,
    // Such a body would be as fast as it has to be for 25 s more.
    times: {
      requestMs: 60_000,
      checkEveryMs: 50,
      body: { graceMs: 200, bytesPerSecond: 4_000 },
    },
    handle: async (request) => okResponse({ length: (await request.readBody(LONG_BODY))?.length }),
  });
  const short = ["127.0.0.2", "127.0.0.3"].map((address) =>
    dial(server.port, LONG_HEAD + "x".repeat(LONG_BODY - 1), address)
  );
  await until("both have their places", () => bodyBudget.used() > 400_000);
  const before = bodyBudget.used();
  const honest = dial(server.port, LONG_HEAD + "x".repeat(LONG_BODY), "127.0.0.4");
  await until("an honest answer", () => honest.heard().includes(`"length":${LONG_BODY}`));
  assert.ok(before <= 700_000);
  await until("one was ended", () => short.some(({ heard }) => heard().startsWith("HTTP/1.1 408")));
  for (const { socket } of [...short, honest]) socket.destroy();
  await until("everything is given back", () => bodyBudget.used() === 0);
  await server.close(1000);
});

/** A whole request over TLS whose body is as long as a read of the runtime. */
const LONG = 60_000;
const LONG_REQUEST = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${LONG}\r\n\r\n${
  "x".repeat(LONG)
}`;

Deno.test("`startServer()` keeps connections with grown buffers while there is room for them", async () => {
  const server = await startTestServer({
    times: { bufferBytes: 1_000_000 },
    tls: await certificate("localhost"),
    handle: async (request) => okResponse({ length: (await request.readBody(LONG))?.length }),
  });
  async function push() {
    const socket = connectTls({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
    const client = { socket, heard: "" };
    socket.setEncoding("utf8").on("data", (chunk) => client.heard += String(chunk));
    socket.on("error", () => {});
    socket.write(LONG_REQUEST);
    await until("an answer", () => client.heard.includes(`"length":${LONG}`));
    return { socket, isToClose: /^Connection: close\r$/m.test(client.heard) };
  }
  const clients: Awaited<ReturnType<typeof push>>[] = [];
  for (let number = 0; number < 10; number++) clients.push(await push());
  const closed = clients.filter(({ isToClose }) => isToClose);
  assert(closed.length >= 5, `${closed.length} of 10 were closed`);
  assert(closed.length < 10, "all were closed");
  await until("the server closes them", () => closed.every(({ socket }) => socket.closed));
  for (const { socket } of clients) socket.destroy();
  await until("the room is given back", async () => {
    const { socket, isToClose } = await push();
    socket.destroy();
    return !isToClose;
  });
  await server.close(1000);
});

Deno.test("`startServer()` gives up the connection that has rested longest when all places are taken", async () => {
  const server = await startTestServer({
    connections: { total: 3, perPeer: 2 },
    handle: () => Promise.resolve(okResponse({})),
  });
  const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const open = async (address: string) => {
    const client = dial(server.port, GET, address);
    await until("an answer", () => client.heard().includes("200"));
    return client;
  };
  const resting = [await open("127.0.0.2"), await open("127.0.0.3"), await open("127.0.0.4")];
  const silent = dial(server.port, "", "127.0.0.5");
  await until("nobody has rested for long, so a new one is closed", () => silent.socket.closed);
  await until("a new one is let in", async () => {
    const client = dial(server.port, GET, "127.0.0.5");
    await until("an answer or the end", () => client.heard() !== "" || client.socket.closed);
    const isIn = client.heard().includes("200");
    if (isIn) resting.push(client);
    return isIn;
  });
  await until("the first is closed", () => resting[0]?.socket.closed === true);
  assert.deepEqual(resting.map(({ socket }) => socket.closed), [true, false, false, false]);
  for (const { socket } of resting) socket.destroy();
  await server.close(1000);
});
