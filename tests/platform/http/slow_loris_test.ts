/** Tests of the endpoint against thousands of slow clients. */
import assert from "node:assert/strict";
import type { TLSSocket } from "node:tls";
import type { Server } from "../../../platform/http/server.ts";
import { startTestServer } from "./test_server.ts";
import { until } from "../../support/until.ts";
import { certificate } from "./certificates.ts";
import { hostileBench } from "../../status/hostile/case.ts";
import { answersIn, dial, exchange } from "../../status/hostile/connection.ts";
import { HONEST } from "../../status/hostile/raw_cases.ts";
import { pushHonestly } from "./honest_clients.ts";
import { openSlowClients, slowClient } from "./slow_clients.ts";

const TLS = await certificate("slow");
/** Of each kind: 2,000 in all; the benchmark has 2,000 of each. */
const COUNT = 667;
const SOURCES = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
const KEPT = HONEST.replace("Connection: close\r\n", "");
const DEADLINE = { timeoutMs: 60_000 };

function serve(
  bench: ReturnType<typeof hostileBench>,
  times: { idleMs: number; headerMs?: number; requestMs?: number },
) {
  return startTestServer({
    tls: TLS,
    handle: bench.handle,
    times: { headerMs: 1000, requestMs: 1500, checkEveryMs: 50, ...times },
    connections: { newPerPeer: { ratePerSecond: 1e6, burst: 1e6 } },
  });
}

Deno.test("`startServer()` cuts 2,000 clients that take their time, while honest ones push", async () => {
  const bench = hostileBench();
  // The others wait until all are there: they are cut by then, or soon.
  // Honest ones need some of this time, too, for their handshakes among thousands.
  const server = await serve(bench, { idleMs: 1000, headerMs: 8000, requestMs: 9000 });
  const stop = new AbortController();
  const target = { port: server.port };
  const honest = pushHonestly(target, HONEST, stop.signal);
  const options = { target, sources: SOURCES, honest: KEPT, count: COUNT, atOnce: 64 };
  const clients = await openSlowClients(options);
  assert.equal(clients.length, 3 * COUNT);
  stop.abort();
  assert(await honest > 0);
  await until("all connections are closed", () => server.connections() === 0, DEADLINE);
  // The client's side of the runtime does not always hear of it.
  const late = setTimeout(() => clients.forEach((client) => client.destroy()), 5000);
  for (const { kind, closed } of clients) {
    const codes = answersIn(await closed).map(({ code }) => code);
    // The time of a header is also that of the handshake, whose end gets no answer.
    const allowed = kind === "an honest push" ? [[200]] : [[408], []];
    assert(allowed.some((some) => some.join() === codes.join()), `${kind}: ${codes.join()}`);
  }
  clearTimeout(late);
  await server.close(5000);
  await bench.reviews.close();
});

/** Or cut before it was, on a machine that is busy. */
function connected(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("secureConnect", () => resolve());
    socket.once("close", () => resolve());
  });
}

/** An honest push is taken; a busy machine may need more than one try within these short times. */
function pushesStill(server: Server): Promise<boolean> {
  return until("an honest push", async () => {
    return answersIn(await exchange({ port: server.port }, HONEST))[0]?.code === 200;
  }, DEADLINE);
}

/** Bytes that are sent repeatedly, for longer than a connection may last. */
const DRIPS: Record<string, { first: string; drip: string }> = {
  "empty lines before any request": { first: "", drip: "\r\n" },
  "empty lines after a push": { first: KEPT, drip: "\r\n" },
  "a header byte by byte": { first: KEPT.slice(0, 8), drip: "a" },
  "a header byte by byte after a push": { first: KEPT + KEPT.slice(0, 8), drip: "a" },
  "header after header": { first: KEPT.slice(0, KEPT.indexOf("\r\n") + 2), drip: "A: b\r\n" },
  "a body byte by byte": { first: KEPT.slice(0, -150), drip: " " },
  "a body that is not read, byte by byte": {
    first: KEPT.slice(0, -150).replace("Bearer", "Basic"),
    drip: " ",
  },
  "a chunk's extension": {
    first: KEPT.replace(/Content-Length: \d+\r\n\r\n.*/, "Transfer-Encoding: chunked\r\n\r\n5;a="),
    drip: "x",
  },
};

for (const [sentence, { first, drip }] of Object.entries(DRIPS)) {
  Deno.test(`\`startServer()\` cuts a client that drips ${sentence}`, async () => {
    const bench = hostileBench();
    const server = await serve(bench, { idleMs: 500 });
    const socket = dial({ port: server.port });
    socket.on("error", () => {});
    socket.resume();
    await connected(socket);
    if (first !== "") socket.write(first);
    const dripping = setInterval(() => socket.writable && socket.write(drip), 100);
    // The client's side of the runtime does not always hear of it.
    await until("it is closed", () => server.connections() === 0, DEADLINE);
    clearInterval(dripping);
    socket.destroy();
    await pushesStill(server);
    await server.close(5000);
    await bench.reviews.close();
  });
}

/** Writes again and again until the connection is closed. */
async function flood(server: Server, text: string): Promise<void> {
  const socket = dial({ port: server.port });
  socket.on("error", () => {});
  socket.resume();
  await connected(socket);
  const writing = setInterval(() => {
    if (socket.writable && socket.writableLength < 1_000_000) socket.write(text);
  }, 5);
  await until("it is closed", () => server.connections() === 0, DEADLINE);
  clearInterval(writing);
  socket.destroy();
}

Deno.test("`startServer()` cuts a client that pushes a thousand times at once and waits for no answer", async () => {
  const bench = hostileBench();
  const server = await serve(bench, { idleMs: 60_000 });
  await flood(server, KEPT.repeat(1000));
  assert(bench.accepted.length <= 64, String(bench.accepted.length));
  await pushesStill(server);
  await server.close(5000);
  await bench.reviews.close();
});

Deno.test("`startServer()` cuts a client that sends on and on while its answer is due", async () => {
  const answer = Promise.withResolvers<{ ok: true }>();
  const bench = hostileBench({ accept: () => answer.promise });
  const server = await startTestServer({
    tls: TLS,
    handle: bench.handle,
    times: { checkEveryMs: 50 },
  });
  // The header of the next request is cut off: it is not one more that waits.
  await flood(server, KEPT + "\r\n".repeat(100_000));
  answer.resolve({ ok: true });
  await server.close(5000);
  await bench.reviews.close();
});

Deno.test("`startServer()` has room for other peers if one holds all the connections of its limit", async () => {
  const bench = hostileBench();
  const server = await startTestServer({
    tls: TLS,
    handle: bench.handle,
    connections: { perPeer: 20 },
  });
  const target = { port: server.port, localAddress: "127.0.0.9" };
  const slow = await Promise.all(
    Array.from({ length: 60 }, () => slowClient(target, "half a header", KEPT)),
  );
  await until("no more than it may", () => server.connections() === 20, DEADLINE);
  assert.equal(answersIn(await exchange({ port: server.port }, HONEST))[0]?.code, 200);
  for (const client of slow) client.destroy();
  await Promise.all(slow.map(({ closed }) => closed));
  await server.close(5000);
  await bench.reviews.close();
});

Deno.test("`startServer()` has room for other peers if one keeps all the silent connections of its share", async () => {
  const bench = hostileBench();
  const server = await startTestServer({
    tls: TLS,
    handle: bench.handle,
    connections: { silent: 20 },
  });
  const target = { port: server.port, localAddress: "127.0.0.9" };
  const slow = await Promise.all(
    Array.from({ length: 60 }, () => slowClient(target, "half a header", KEPT)),
  );
  await until("no more than its share", () => server.connections() === 10, DEADLINE);
  const kept: TLSSocket[] = [];
  for (let client = 0; client < 15; client++) {
    const socket = dial({ port: server.port });
    const answered = new Promise((resolve) => socket.once("data", resolve));
    socket.once("secureConnect", () => socket.write(KEPT));
    await answered;
    kept.push(socket);
  }
  assert.equal(server.connections(), 25, "connections that have been heard do not count");
  for (const socket of kept) socket.destroy();
  for (const client of slow) client.destroy();
  await Promise.all(slow.map(({ closed }) => closed));
  await server.close(5000);
  await bench.reviews.close();
});
