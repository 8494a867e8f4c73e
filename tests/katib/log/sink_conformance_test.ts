/** Conformance of every sink. */
import assert from "node:assert/strict";
import { createDbManagerClient } from "../../../katib/log/db_manager_client.ts";
import { createGrpcSink } from "../../../katib/log/grpc_sink.ts";
import { openLogStore } from "../../../katib/log/log_store.ts";
import { createMemorySink, createSqliteSink } from "../../../katib/log/sqlite_sink.ts";
import type { ClientTls } from "../../../katib/log/peer_protocol.ts";
import { startObservationServer } from "../../../katib/log/db_manager_server.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { SINK_CASES, type SinkUnderTest } from "./sink_conformance.ts";
import { startFakeDbManager } from "./fake_db_manager.ts";
import { makeTls } from "./tls_files.ts";

const DEADLINE_MS = 20_000;

function grpcSink(address: string, tls?: ClientTls) {
  const client = createDbManagerClient({
    address,
    clock: systemClock,
    deadlineMs: DEADLINE_MS,
    ...(tls === undefined ? {} : { tls: () => tls }),
  });
  return createGrpcSink({
    name: tls === undefined ? "katib" : "grpc",
    keepsPlainJobs: tls !== undefined,
    client,
    address,
    clock: systemClock,
    settleMs: 10,
  });
}

const SINKS: Readonly<Record<string, () => Promise<SinkUnderTest>>> = {
  memory: () => Promise.resolve({ sink: createMemorySink(), end: () => Promise.resolve() }),
  sqlite: async () => {
    const folder = await Deno.makeTempDir();
    return {
      sink: createSqliteSink(`${folder}/new/observations.db`, systemClock),
      end: () => Deno.remove(folder, { recursive: true }),
    };
  },
  "Katib's DB manager": async () => {
    const manager = await startFakeDbManager();
    return { sink: grpcSink(manager.address), end: () => manager.stop() };
  },
  "milepost observation-log": async () => {
    const { server: tls, client } = await makeTls();
    const store = openLogStore();
    const server = await startObservationServer({
      hostname: "127.0.0.1",
      port: 0,
      tls,
      store,
      clock: systemClock,
    });
    return {
      sink: grpcSink(`127.0.0.1:${server.port}`, client),
      async end() {
        await server.stop(1000);
        store.close();
      },
    };
  },
};

for (const [name, open] of Object.entries(SINKS)) {
  Deno.test(`the sink ${name} conforms`, async (test) => {
    for (const [says, work] of Object.entries(SINK_CASES)) {
      await test.step(says, async () => {
        const { sink, end } = await open();
        try {
          await work(sink);
        } finally {
          await sink.close();
          await end();
        }
      });
    }
  });
}

Deno.test("`createSqliteSink()` finds earlier rows, and names the owner of a file in use", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/observations.db`;
  const key = { kind: "trial", namespace: "ml", name: "a", uid: "1" } as const;
  const rows = [{ time: "2026-01-01T00:00:00Z", name: "loss", value: "1" }];
  const signal = new AbortController().signal;
  const first = createSqliteSink(path, systemClock);
  await first.append(key, rows, signal);
  assert.throws(() => createSqliteSink(path, systemClock), /cannot keep observations in .*locked/);
  await first.close();
  assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  const second = createSqliteSink(path, systemClock);
  await second.append(key, rows, signal);
  assert.deepEqual(await second.read(key, signal), rows);
  await second.close();
  assert.throws(() => createSqliteSink(folder, systemClock), /cannot keep observations in/);
  await Deno.remove(folder, { recursive: true });
});
