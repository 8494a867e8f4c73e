/** Tests of writes whose callers have gone: a later read sees them, or is refused. */
import assert from "node:assert/strict";
import { status } from "@grpc/grpc-js";
import { createDbManagerClient } from "../../../katib/log/db_manager_client.ts";
import { createGrpcSink } from "../../../katib/log/grpc_sink.ts";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { until } from "../../support/until.ts";
import { trial } from "./sink_conformance.ts";
import { type FakeDbManager, startFakeDbManager } from "./fake_db_manager.ts";

const long = () => AbortSignal.timeout(60_000);
const row = (n: number) => ({
  time: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
  name: "loss",
  value: String(n),
});

async function withManager(
  settleMs: number,
  work: (sink: ObservationSink, manager: FakeDbManager) => Promise<void>,
): Promise<void> {
  const manager = await startFakeDbManager();
  const { address } = manager;
  const sink = createGrpcSink({
    name: "katib",
    keepsPlainJobs: false,
    client: createDbManagerClient({ address, clock: systemClock, deadlineMs: 20_000 }),
    address,
    clock: systemClock,
    settleMs,
  });
  try {
    await work(sink, manager);
  } finally {
    await sink.close();
    await manager.stop();
  }
}

Deno.test("a log is not read during a write whose caller has gone", () =>
  withManager(10, async (sink, manager) => {
    const held = Promise.withResolvers<void>();
    manager.fate = async () => {
      await held.promise;
      return { kind: "written" };
    };
    const caller = new AbortController();
    const append = sink.append(trial("a"), [row(0)], caller.signal).catch(() => "gone");
    await until("the report", () => manager.reports.length === 1);
    caller.abort();
    assert.equal(await append, "gone");
    const read = sink.read(trial("a"), long());
    // Calls for another log have been answered meanwhile, so this one would have been, too.
    await sink.read(trial("b"), long());
    await sink.read(trial("b"), long());
    held.resolve();
    assert.deepEqual((await read).map(({ value }) => value), ["0"]);
  }));

Deno.test("a log is not read before a write of unknown outcome, whose caller has gone, must be visible", () =>
  withManager(300, async (sink, manager) => {
    const written = Promise.withResolvers<void>();
    manager.fate = () => ({
      kind: "lost",
      code: status.DEADLINE_EXCEEDED,
      written: written.promise,
    });
    const caller = new AbortController();
    const append = sink.append(trial("a"), [row(0)], caller.signal).catch(() => "gone");
    await until("the report", () => manager.reports.length === 1);
    await until("the look", () => manager.reads() > 0);
    caller.abort();
    assert.equal(await append, "gone");
    const read = sink.read(trial("a"), long());
    await sink.read(trial("b"), long());
    written.resolve();
    assert.deepEqual((await read).map(({ value }) => value), ["0"]);
  }));

Deno.test("a read that waits for a write ends with its own signal", () =>
  withManager(10, async (sink, manager) => {
    const held = Promise.withResolvers<void>();
    manager.fate = async () => {
      await held.promise;
      return { kind: "written" };
    };
    const caller = new AbortController();
    const append = sink.append(trial("a"), [row(0)], caller.signal).catch(() => "gone");
    await until("the report", () => manager.reports.length === 1);
    caller.abort();
    await append;
    const reader = new AbortController();
    const read = sink.read(trial("a"), reader.signal).then(() => "read", () => "gone");
    reader.abort();
    assert.equal(await read, "gone");
    held.resolve();
  }));
