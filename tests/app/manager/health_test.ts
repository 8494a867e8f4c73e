/** Tests of `/healthz`, `/readyz` and `/metrics`. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { startHealthServer, startMetricsServer } from "../../../app/manager/health.ts";
import { createMetrics } from "../../../app/manager/metrics.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { ConfigurationError } from "../../../platform/kube/errors.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { until } from "../../support/until.ts";

async function read(port: number, path: string): Promise<[number, string]> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return [answer.status, await answer.text()];
}

Deno.test("startHealthServer() names what is not ready", async () => {
  let synced = false;
  const server = await startHealthServer({
    port: 0,
    hostname: "127.0.0.1",
    clock: systemClock,
    checks: [{ name: "caches", ready: () => synced }, { name: "keys", ready: () => true }],
  });
  assert.deepEqual(await read(server.port, "/healthz"), [200, "ok\n"]);
  assert.deepEqual(await read(server.port, "/readyz"), [503, "not ready: caches\n"]);
  synced = true;
  assert.deepEqual(await read(server.port, "/readyz"), [200, "ok\n"]);
  assert.equal((await read(server.port, "/"))[0], 404);
  await server.close(1000);
});

Deno.test("startMetricsServer() refreshes gauges before it is read", async () => {
  const metrics = createMetrics();
  const server = await startMetricsServer({
    port: 0,
    hostname: "127.0.0.1",
    clock: systemClock,
    registry: metrics.registry,
    refresh: () => metrics.ledgerPending.set(7),
  });
  metrics.pushes.inc({ result: "accepted" });
  const [status, body] = await read(server.port, "/metrics");
  assert.equal(status, 200);
  assert.match(body, /^milepost_ledger_pending 7$/m);
  assert.match(body, /^milepost_pushes_total\{result="accepted"\} 1$/m);
  await server.close(1000);
});

Deno.test("startHealthServer() names the flag to change if the port is taken", async () => {
  const common = { hostname: "127.0.0.1", clock: systemClock, checks: [] };
  const first = await startHealthServer({ ...common, port: 0 });
  await assert.rejects(
    startHealthServer({ ...common, port: first.port }),
    (error) => error instanceof ConfigurationError && /--health-port/.test(error.message),
  );
  await first.close(1000);
});

Deno.test("startHealthServer() closes a connection whose header never ends", async () => {
  const clock = new FakeClock();
  const server = await startHealthServer({ port: 0, hostname: "127.0.0.1", clock, checks: [] });
  const socket = connect({ port: server.port, host: "127.0.0.1" });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("error", () => {});
  socket.write("GET /healthz HT");
  socket.resume();
  await until("the connection", () => server.connections() === 1);
  await clock.advance(10_000);
  await closed;
  assert.equal(server.connections(), 0);
  const closing = server.close(1000);
  await clock.advance(1000);
  await closing;
});

/** Connects from an address of its own and sends half a header; resolves when it is sent, or refused. */
function halfHeader(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.9" });
  socket.on("error", () => {});
  socket.resume();
  return new Promise((resolve) => {
    socket.once("close", () => resolve(socket));
    socket.once("connect", () => socket.write("GET /healthz HT", () => resolve(socket)));
  });
}

const SERVERS = {
  startHealthServer: () => startHealthServer({ ...listening(), checks: [] }),
  startMetricsServer: () => {
    const { registry } = createMetrics();
    return startMetricsServer({ ...listening(), registry, refresh: () => {} });
  },
};
const listening = () => ({ port: 0, hostname: "127.0.0.1", clock: systemClock });

for (const [name, start] of Object.entries(SERVERS)) {
  Deno.test(`${name}() has room for others if one peer sends 600 half headers`, async () => {
    const server = await start();
    const halves = await Promise.all(Array.from({ length: 600 }, () => halfHeader(server.port)));
    const path = name === "startHealthServer" ? "/healthz" : "/metrics";
    assert.equal((await read(server.port, path))[0], 200);
    await until("no more than it may", () => server.connections() <= 51);
    for (const socket of halves) socket.destroy();
    await server.close(1000);
  });
}
