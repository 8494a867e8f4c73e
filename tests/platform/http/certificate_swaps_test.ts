/** Tests of certificates that are swapped during pushes. */
import assert from "node:assert/strict";
import { startTestServer } from "./test_server.ts";
import { certificate } from "./certificates.ts";
import { pushHonestly, pushOnOne } from "./honest_clients.ts";
import { hostileBench } from "../../status/hostile/case.ts";
import { dial } from "../../status/hostile/connection.ts";
import { HONEST } from "../../status/hostile/raw_cases.ts";

const KEPT = HONEST.replace("Connection: close\r\n", "");
const CERTIFICATES = await Promise.all(["a", "b", "c"].map((name) => certificate(name)));
const SWAPS = 30;
const SWAP_EVERY_MS = 100;

function commonName(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = dial({ port });
    socket.on("error", reject);
    socket.once("secureConnect", () => {
      const name = String(socket.getPeerCertificate().subject.CN);
      socket.once("close", () => resolve(name));
      socket.destroy();
    });
  });
}

Deno.test("`updateTls()` fails no push, however often it is called", async () => {
  const bench = hostileBench();
  const [first = await certificate("a")] = CERTIFICATES;
  const server = await startTestServer({
    tls: first,
    handle: bench.handle,
  });
  const stop = new AbortController();
  const target = { port: server.port };
  const pushing = Promise.all([
    ...Array.from({ length: 4 }, () => pushHonestly(target, HONEST, stop.signal)),
    ...Array.from({ length: 4 }, () => pushOnOne(target, KEPT, stop.signal)),
  ]);
  const seen = new Set<string>();
  for (let swap = 0; swap < SWAPS; swap++) {
    const next = CERTIFICATES[swap % CERTIFICATES.length];
    if (next !== undefined) server.updateTls(next);
    const [name] = await Promise.all([
      commonName(server.port),
      new Promise((resolve) => setTimeout(resolve, SWAP_EVERY_MS)),
    ]);
    seen.add(name);
    assert.equal(name, ["a", "b", "c"][swap % 3]);
  }
  stop.abort();
  const pushes = await pushing;
  assert(pushes.every((count) => count > 0), pushes.join());
  assert.equal(seen.size, 3);
  await server.close(5000);
  await bench.reviews.close();
});
