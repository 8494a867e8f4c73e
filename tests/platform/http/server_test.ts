/** Tests of the endpoint's socket, over real TLS. */
import assert from "node:assert/strict";
import { connect, type TLSSocket } from "node:tls";
import { connect as connectPlain } from "node:net";
import { type Clock, systemClock } from "../../../platform/base/clock.ts";
import type { HttpHandler } from "../../../platform/http/message.ts";
import { startTestServer, type TestServerOptions } from "./test_server.ts";
import { okResponse } from "../../../platform/http/json_responses.ts";
import { bodyTooLarge, refusalResponse } from "../../../platform/http/refusals.ts";
import { withLogs } from "../../support/logged.ts";
import { until } from "../../support/until.ts";
import { certificate } from "./certificates.ts";

const TLS = await certificate("first");
const NEXT_TLS = await certificate("second");

/** Answers with the length of the body, 413 beyond 100 bytes. */
const measure: HttpHandler = async (request) => {
  const body = await request.readBody(100);
  return body === undefined
    ? refusalResponse(bodyTooLarge(65_536))
    : okResponse({ length: body.length, peer: request.peer });
};

function start(options: Partial<TestServerOptions> = {}) {
  return startTestServer({
    tls: TLS,
    handle: measure,
    times: { headerMs: 400, requestMs: 800, idleMs: 5000, checkEveryMs: 50 },
    ...options,
  });
}

interface Client {
  readonly socket: TLSSocket;
  /** Everything that came, once the server has closed the connection. */
  readonly closed: Promise<string>;
  readonly commonName: string;
  /** Waits until what came matches. */
  heard(pattern: RegExp): Promise<string>;
}

function dial(port: number, text = ""): Promise<Client> {
  return new Promise((resolve, reject) => {
    let heard = "";
    const listeners = new Set<() => void>();
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      if (text !== "") socket.write(text);
      const subject = socket.getPeerCertificate().subject;
      resolve({
        socket,
        closed,
        commonName: String(subject.CN),
        heard: (pattern) =>
          new Promise((done) => {
            const check = () => {
              if (pattern.test(heard)) done(heard);
            };
            listeners.add(check);
            check();
          }),
      });
    });
    const closed = new Promise<string>((done) => socket.on("close", () => done(heard)));
    socket.on("data", (chunk) => {
      heard += String(chunk);
      for (const listener of listeners) listener();
    });
    socket.on("error", (error) => reject(error));
  });
}

const post = (body: string, headers = "") =>
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`;
const chunked = (body: string) =>
  `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n` +
  `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

Deno.test("`startServer()` answers pushes over one connection, chunked ones too", async () => {
  const server = await start();
  const client = await dial(server.port, post("12345") + chunked("123"));
  const heard = await client.heard(/"length":5.*"length":3/s);
  assert.match(heard, /"peer":"127\.0\.0\.1"/);
  assert.equal(server.connections(), 1);
  client.socket.destroy();
  await server.close(1000);
});

Deno.test("`startServer()` answers 413 to a long body and keeps the connection", async () => {
  const server = await start();
  const client = await dial(server.port, chunked("x".repeat(70_000)));
  await client.heard(/^HTTP\/1\.1 413/);
  client.socket.write(post("1234567"));
  await client.heard(/"length":7/);
  client.socket.destroy();
  await server.close(1000);
});

Deno.test("`startServer()` closes a connection whose body never ends", async () => {
  const server = await start();
  const client = await dial(
    server.port,
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n" + "x".repeat(2_000_000),
  ).then((client) => client.closed, () => "");
  // A reset may overtake the response.
  assert.match(client, /^(HTTP\/1\.1 413|$)/);
  await server.close(1000);
});

const SLOW: Record<string, string> = {
  "no byte after the handshake": "",
  "half a header": "POST / HTTP/1.1\r\nHost: x\r\n",
  "half a body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc",
};
for (const [sentence, text] of Object.entries(SLOW)) {
  Deno.test(`\`startServer()\` closes a connection that sends ${sentence}`, async () => {
    const server = await start();
    const client = await dial(server.port, text);
    assert.doesNotMatch(await client.closed, /^HTTP\/1\.1 200/);
    await server.close(1000);
  });
}

Deno.test("`startServer()` refuses what is not HTTP with a Status", async () => {
  const server = await start();
  const both = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" +
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (const text of ["\x00\x01\x02\r\n\r\n", both]) {
    const client = await dial(server.port, text);
    const heard = await client.closed;
    assert.match(heard, /^HTTP\/1\.1 400/);
    assert.equal(JSON.parse(heard.slice(heard.indexOf("{"))).kind, "Status");
  }
  const huge = await dial(server.port, post("", `Authorization: Bearer ${"a".repeat(40_000)}\r\n`))
    .then((client) => client.closed, () => "reset");
  assert.match(huge, /^(HTTP\/1\.1 431|reset)/);
  await server.close(1000);
});

Deno.test("`startServer()` limits the connections of a peer", async () => {
  const server = await start({ connections: { perPeer: 2 } });
  const clients = [await dial(server.port), await dial(server.port)];
  await assert.rejects(dial(server.port));
  assert.equal(server.connections(), 2);
  for (const { socket } of clients) socket.destroy();
  await server.close(1000);
});

Deno.test("`startServer()` limits the new connections of a peer, also if none is kept", async () => {
  const server = await start({ connections: { newPerPeer: { ratePerSecond: 0.001, burst: 2 } } });
  for (let time = 0; time < 2; time++) {
    const client = await dial(server.port, post("1"));
    await client.heard(/"length":1/);
    client.socket.destroy();
    await client.closed;
  }
  await assert.rejects(dial(server.port));
  await server.close(1000);
});

Deno.test("`startServer()` closes new connections that are refused, and keeps those that are there", async () => {
  let shunned = false;
  const asked: string[] = [];
  const server = await start({
    refuses: (peer) => {
      asked.push(peer);
      return shunned;
    },
  });
  const before = await dial(server.port, post("1"));
  await before.heard(/"length":1/);
  shunned = true;
  await assert.rejects(dial(server.port));
  assert.equal(server.connections(), 1);
  before.socket.write(post("22"));
  await before.heard(/"length":2/);
  shunned = false;
  const after = await dial(server.port, post("333"));
  await after.heard(/"length":3/);
  assert.deepEqual(asked, ["127.0.0.1", "127.0.0.1", "127.0.0.1"]);
  for (const { socket } of [before, after]) socket.destroy();
  await server.close(1000);
});

Deno.test("`updateTls()` is for new connections and drops none", async () => {
  const server = await start();
  const before = await dial(server.port, post("1"));
  await before.heard(/"length":1/);
  server.updateTls(NEXT_TLS);
  const after = await dial(server.port, post("22"));
  await after.heard(/"length":2/);
  before.socket.write(post("333"));
  await before.heard(/"length":3/);
  assert.deepEqual([before.commonName, after.commonName], ["first", "second"]);
  before.socket.destroy();
  after.socket.destroy();
  await server.close(1000);
});

Deno.test("`close()` lets a push in hand finish and refuses the next with 503", async () => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const server = await start({
    handle: async () => {
      begun.resolve();
      await goOn.promise;
      return okResponse({ slow: true });
    },
  });
  const client = await dial(server.port, post("1") + post("2"));
  await begun.promise;
  const closed = server.close(5000);
  goOn.resolve();
  const heard = await client.closed;
  assert.match(heard, /"slow":true/);
  assert.match(heard, /Connection: close/i);
  await closed;
  await assert.rejects(dial(server.port));
});

Deno.test("`close()` closes idle connections at once", async () => {
  // A clock that no time passes on: only what is closed for being idle ends.
  const clock: Clock = {
    ...systemClock,
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        signal?.addEventListener("abort", () => resolve(), { once: true });
      }),
  };
  const server = await start({ clock });
  const used = await dial(server.port, post("1"));
  await used.heard(/"length":1/);
  await server.close(60_000);
  await used.closed;
});

Deno.test("`startServer()` survives clients that speak no TLS, and those that go away", async () => {
  const server = await start();
  for (const text of ["GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff", ""]) {
    const socket = connectPlain({ port: server.port, host: "127.0.0.1" });
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    if (text === "") socket.destroy();
    else socket.write(text);
    socket.resume();
    await closed;
  }
  const half = await dial(server.port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab");
  half.socket.destroy();
  const good = await dial(server.port, post("1"));
  await good.heard(/"length":1/);
  good.socket.destroy();
  await server.close(1000);
});

Deno.test("`startServer()` reports a client that goes away at debug level only", async () => {
  await withLogs(async (records) => {
    const server = await start();
    const client = await dial(server.port, post("x".repeat(50)).slice(0, -1));
    await until("the request", () => server.connections() === 1);
    client.socket.destroy();
    const reports = () =>
      records.filter(({ rawMessage }) => /not be answered/.test(`${rawMessage}`));
    await until("the report", () => reports().length === 1);
    assert.deepEqual(reports().map(({ level }) => level), ["debug"]);
    await server.close(1000);
  });
});

Deno.test("`close()` cuts off what does not finish in time", async () => {
  const never = Promise.withResolvers<never>();
  const begun = Promise.withResolvers<void>();
  const server = await start({
    handle: () => {
      begun.resolve();
      return never.promise;
    },
  });
  const client = await dial(server.port, post("1"));
  await begun.promise;
  await server.close(50);
  await client.closed;
});

Deno.test("`startServer()` throws if the port is taken", async () => {
  const server = await start();
  await assert.rejects(
    start({ port: server.port }),
    /^ConfigurationError: --port: port \d+ is taken/,
  );
  await server.close(1000);
});
