/** Tests of TLS handshakes that end after the server's time-out for them. */
import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { connect as connectTls } from "node:tls";
import { certificate } from "./certificates.ts";
import { startTestServer } from "./test_server.ts";

/** A relay to a port that holds back what a client sends after its first packet. */
async function startSlowRelay(port: number, delayMs: number) {
  const relay = createServer((client) => {
    const server = connect({ port, host: "127.0.0.1" });
    server.on("data", (part) => client.write(part));
    server.on("error", () => {}).on("close", () => client.destroy());
    client.on("error", () => {}).on("close", () => server.destroy());
    client.once("data", (hello) => {
      server.write(hello);
      client.on("data", (part) => {
        setTimeout(() => server.destroyed || server.write(part), delayMs);
      });
    });
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const address = relay.address();
  assert.ok(address !== null && typeof address === "object");
  return { port: address.port, stop: () => new Promise((done) => relay.close(done)) };
}

/** Sends text over TLS; resolves with all that came when the connection is closed. */
function send(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = "";
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
    socket.on("secureConnect", () => socket.write(text));
    socket.on("data", (part) => heard += String(part));
    socket.on("error", () => {}).on("close", () => resolve(heard));
  });
}

Deno.test("`startServer()` sends no response after a handshake that was too slow", async () => {
  const headerMs = 300;
  const server = await startTestServer({
    tls: await certificate("late"),
    handle: () => Promise.reject(new Error("no request is expected")),
    // Only the time-out of the handshake is to act.
    times: { headerMs, checkEveryMs: 10_000 },
  });
  const relay = await startSlowRelay(server.port, 2 * headerMs);
  const heard = await send(relay.port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  assert.equal(heard, "", "a valid request was refused as not valid");
  await relay.stop();
  await server.close(1000);
});
