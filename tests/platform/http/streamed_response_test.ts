/** Tests of streamed responses over real TLS: time-outs, slow readers, and the end of either side. */
import assert from "node:assert/strict";
import { connect, type TLSSocket } from "node:tls";
import { systemClock } from "../../../platform/base/clock.ts";
import type { ResponseSink } from "../../../platform/http/message.ts";
import type { Server } from "../../../platform/http/server.ts";
import { startTestServer } from "./test_server.ts";
import { until } from "../../support/until.ts";
import { within } from "../../support/within.ts";
import { certificate } from "./certificates.ts";

const TLS = await certificate("stream");
const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/** A server whose answers a test writes, beginning when `gate` opens. */
async function start(gate: Promise<void> = Promise.resolve()) {
  const sinks: ResponseSink[] = [];
  const ended: string[] = [];
  const ends: (() => void)[] = [];
  const asked = { count: 0 };
  const server = await startTestServer({
    tls: TLS,
    times: { headerMs: 300, requestMs: 400, idleMs: 300, checkEveryMs: 50 },
    handle: async () => {
      asked.count += 1;
      await gate;
      return {
        status: 200,
        headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-store" },
        body: "",
        lastWords: "the last words\n\n",
        stream: async (sink) => {
          sinks.push(sink);
          const end = Promise.withResolvers<void>();
          ends.push(end.resolve);
          sink.signal.addEventListener("abort", () => end.resolve());
          if (sink.signal.aborted) end.resolve();
          await end.promise;
          ended.push(sink.signal.aborted ? "aborted" : "by itself");
        },
      };
    },
  });
  const sink = () => until("a stream", () => sinks[0]);
  return { server, sink, asked, ended, end: () => ends.forEach((it) => it()) };
}

interface Reader {
  readonly socket: TLSSocket;
  /** What came so far. */
  readonly heard: () => string;
  readonly closed: Promise<void>;
}

function dial({ port }: Server, text = GET): Promise<Reader> {
  return new Promise((resolve, reject) => {
    let heard = "";
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      socket.write(text);
      resolve({ socket, heard: () => heard, closed });
    });
    const closed = new Promise<void>((done) => socket.on("close", () => done()));
    socket.on("data", (chunk) => heard += String(chunk));
    socket.on("error", reject);
  });
}

Deno.test("a stream outlives the time-outs of requests, and ends its connection", async () => {
  const { server, sink, ended, end } = await start();
  const reader = await dial(server);
  const { write } = await sink();
  await until("headers", () => /\r\n\r\n/.test(reader.heard()));
  assert.match(reader.heard(), /^HTTP\/1\.1 200 .*content-type: text\/event-stream/is);
  assert.match(reader.heard(), /cache-control: no-store/i);
  assert.doesNotMatch(reader.heard(), /content-length/i);
  // Nothing is written for so long that others are cut, by the time of a header and by that of idling.
  const slow = await Promise.all([dial(server, GET.slice(0, 5)), dial(server, "")]);
  await until("the end of those that wait", () => server.connections() === 1);
  for (const { socket } of slow) socket.destroy();
  await write("one\n\n");
  await until("the first event", () => reader.heard().includes("one"));
  await write("two\n\n");
  end();
  await within("the end of the connection", () => reader.closed);
  assert.match(reader.heard(), /two\n\n\r\n0\r\n\r\n$/, "the server goes on: no last words");
  assert.deepEqual(ended, ["by itself"]);
  await server.close(1000);
});

Deno.test("a stream ends when its client goes away", async () => {
  const { server, sink, ended } = await start();
  const reader = await dial(server);
  const { signal, write } = await sink();
  reader.socket.destroy();
  await until("the sink aborts", () => signal.aborted);
  await within("a write to nobody", () => write("x".repeat(1_000_000)));
  await until("the stream has ended", () => ended.length === 1);
  await until("the connection is gone", () => server.connections() === 0);
  await server.close(1000);
});

Deno.test("streams end when the server does, and their clients see the end", async () => {
  const { server, sink, ended } = await start();
  const reader = await dial(server);
  await sink();
  await within("the server's end", () => server.close(60_000));
  await within("the end of the connection", () => reader.closed);
  assert.match(reader.heard(), /the last words\n\n\r\n0\r\n\r\n$/);
  assert.deepEqual(ended, ["aborted"]);
});

Deno.test("a write waits for a reader that does not read, and ends when it is cut", async () => {
  const { server, sink, end } = await start();
  // Reads only on request.
  using reader = await Deno.connectTls({
    hostname: "127.0.0.1",
    port: server.port,
    caCerts: [TLS.cert],
    unsafelyDisableHostnameVerification: true,
  });
  await reader.write(new TextEncoder().encode(GET));
  const { write } = await sink();
  const state = { written: 0, waits: true };
  const filling = (async () => {
    while (state.waits) {
      await write("x".repeat(65_536));
      state.written += 1;
    }
  })();
  const stuck = async () => {
    const before = state.written;
    await systemClock.sleep(300);
    return state.written === before;
  };
  await until("the buffers are full", stuck);
  assert.ok(state.written < 2000, `${state.written} pieces of 64 KiB were taken`);
  state.waits = false;
  end();
  // What it has not taken within a second it does not get.
  await until("the connection is cut", () => server.connections() === 0);
  await within("the write", () => filling);
  await server.close(1000);
});

Deno.test("a stream whose client went away before it began ends at once", async () => {
  const gate = Promise.withResolvers<void>();
  const { server, asked, ended } = await start(gate.promise);
  const reader = await dial(server);
  await until("the request", () => asked.count === 1);
  reader.socket.destroy();
  await until("the connection is gone", () => server.connections() === 0);
  gate.resolve();
  await until("the stream has ended", () => ended.length === 1);
  assert.deepEqual(ended, ["aborted"]);
  await server.close(1000);
});
