/** Tests of the probe of a server's protocol, also after it changes. */
import assert from "node:assert/strict";
import { createDbManagerClient } from "../../../katib/log/db_manager_client.ts";
import { openLogStore } from "../../../katib/log/log_store.ts";
import { probeProtocol } from "../../../katib/log/peer_protocol.ts";
import { startObservationServer } from "../../../katib/log/db_manager_server.ts";
import { systemClock as clock } from "../../../platform/base/clock.ts";
import { freePort } from "../../support/free_port.ts";
import { until } from "../../support/until.ts";
import { startFakeDbManager } from "./fake_db_manager.ts";
import { makeTls } from "./tls_files.ts";

const HOST = "127.0.0.1";
const row = (value: string) => ({
  time: "2026-01-01T00:00:00Z",
  metric: { name: "loss", value },
});

Deno.test("`probeProtocol()` distinguishes TLS, plaintext and no server", async () => {
  const { server: tls, client } = await makeTls();
  const store = openLogStore();
  const [secure, plain] = await Promise.all([
    startObservationServer({ hostname: HOST, port: 0, tls, store, clock }),
    startFakeDbManager(),
  ]);
  const probe = (port: number) =>
    probeProtocol({ host: HOST, port, tls: client, clock, deadlineMs: 20_000 });
  assert.equal(await probe(secure.port), "tls");
  assert.equal(await probe(plain.port), "plaintext");
  await assert.rejects(probe(freePort()), /127\.0\.0\.1:\d+: .*(refused|ECONNREFUSED)/i);
  await Promise.all([secure.stop(1000), plain.stop()]);
  store.close();
});

Deno.test("`probeProtocol()` does not wait forever", async () => {
  const listener = Deno.listen({ hostname: HOST, port: 0 });
  const held: Deno.TcpConn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) held.push(connection);
  })();
  const { client: tls } = await makeTls();
  const options = { host: HOST, port: listener.addr.port, tls, clock, deadlineMs: 50 };
  await assert.rejects(probeProtocol(options), /no answer to a handshake within 50 ms/);
  listener.close();
  await accepting;
  for (const connection of held) connection.close();
});

Deno.test("a server that replaces another one gets its own protocol", async () => {
  const { server: tls, client: own } = await makeTls();
  const katibs = await startFakeDbManager();
  const { port } = katibs;
  const either = createDbManagerClient({
    address: `${HOST}:${port}`,
    clock,
    deadlineMs: 20_000,
    tls: () => own,
  });
  await either.report("a", [row("1")]);
  await katibs.stop();
  const store = openLogStore();
  const ours = await startObservationServer({ hostname: HOST, port, tls, store, clock });
  await until("it writes to the one with TLS", async () => {
    await either.report("a", [row("2")]);
    return true;
  });
  assert.deepEqual(store.read("a").map(({ value }) => value), ["2"]);
  await ours.stop(1000);
  store.close();
  const back = await startFakeDbManager(port);
  await until("it writes to the one without TLS", async () => {
    await either.report("a", [row("3")]);
    return true;
  });
  assert.equal(back.rows.get("a")?.[0]?.metric?.value, "3");
  either.close();
  await back.stop();
});
