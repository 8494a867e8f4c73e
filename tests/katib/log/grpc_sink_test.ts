/** Tests of the gRPC sink with a DB manager that fails in many ways. */
import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { status } from "@grpc/grpc-js";
import { configure, type LogRecord, reset } from "@logtape/logtape";
import { createDbManagerClient } from "../../../katib/log/db_manager_client.ts";
import { createGrpcSink } from "../../../katib/log/grpc_sink.ts";
import { type ObservationSink, SinkError } from "../../../owner/observations/sink.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { freePort } from "../../support/free_port.ts";
import { until } from "../../support/until.ts";
import { trial } from "./sink_conformance.ts";
import { type FakeDbManager, startFakeDbManager } from "./fake_db_manager.ts";
import { makeTls } from "./tls_files.ts";

const long = () => AbortSignal.timeout(60_000);
const row = (n: number) => ({
  time: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
  name: "loss",
  value: String(n),
});

interface Settings extends Partial<Parameters<typeof createGrpcSink>[0]> {
  readonly deadlineMs?: number;
  readonly mayWrite?: () => boolean;
}

function sinkAt(address: string, { deadlineMs = 20_000, mayWrite, ...options }: Settings = {}) {
  return createGrpcSink({
    name: "katib",
    keepsPlainJobs: false,
    client: createDbManagerClient({ address, clock: systemClock, deadlineMs, mayWrite }),
    address,
    clock: systemClock,
    settleMs: 10,
    ...options,
  });
}

async function withManager(
  settings: Settings,
  work: (sink: ObservationSink, manager: FakeDbManager) => Promise<void>,
): Promise<void> {
  const manager = await startFakeDbManager();
  const sink = sinkAt(manager.address, settings);
  try {
    await work(sink, manager);
  } finally {
    await sink.close();
    await manager.stop();
  }
}

/** The values in a manager's log, in the order in which they came. */
const valuesOf = (manager: FakeDbManager, name: string) =>
  (manager.rows.get(name) ?? []).map(({ metric }) => Number(metric?.value));
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

async function unavailable(work: Promise<unknown>): Promise<SinkError> {
  const error = await work.then(() => assert.fail("it was taken"), (error: unknown) => error);
  assert.ok(error instanceof SinkError, String(error));
  assert.equal(error.kind, "unavailable");
  return error;
}

Deno.test("after a lost reply the row is looked up, and not sent again", () =>
  withManager({}, async (sink, manager) => {
    manager.fate = (_, index) =>
      index === 0 ? { kind: "lost", code: status.UNAVAILABLE } : { kind: "written" };
    await sink.append(trial("a"), [row(0), row(1)], long());
    assert.deepEqual(valuesOf(manager, "a"), [0, 1]);
    assert.equal(manager.reports.length, 1);
    assert.equal(manager.reads(), 1);
  }));

Deno.test("after a partial write only the missing rows are sent", () =>
  withManager({}, async (sink, manager) => {
    const other = sinkAt(manager.address);
    manager.fate = async ({ trialName }, index) => {
      if (index > 0) return { kind: "written" };
      manager.fate = () => ({ kind: "written" });
      await other.append(trial(trialName), [row(0)], long());
      return { kind: "error", code: status.UNKNOWN };
    };
    await sink.append(trial("a"), [row(0), row(1)], long());
    await other.close();
    assert.deepEqual(valuesOf(manager, "a"), [0, 1]);
  }));

Deno.test("a write that becomes visible only after it was given up is not sent again", () =>
  withManager({ settleMs: 60_000 }, async (sink, manager) => {
    const late = Promise.withResolvers<void>();
    manager.fate = (_, index) =>
      index === 0
        ? { kind: "lost", code: status.DEADLINE_EXCEEDED, written: late.promise }
        : { kind: "written" };
    const appended = sink.append(trial("a"), [row(0)], long());
    await until("it was looked for twice", () => manager.reads() >= 2);
    late.resolve();
    await appended;
    assert.deepEqual(valuesOf(manager, "a"), [0]);
    assert.equal(manager.reports.length, 1);
  }));

Deno.test("rows whose caller went away while they were sent are stored once when they are retried", () =>
  withManager({}, async (sink, manager) => {
    const go = Promise.withResolvers<void>();
    manager.fate = async () => {
      await go.promise;
      return { kind: "written" };
    };
    const gone = new AbortController();
    const first = sink.append(trial("a"), [row(0)], gone.signal);
    await until("it was sent", () => manager.reports.length === 1);
    gone.abort();
    await unavailable(first);
    const second = sink.append(trial("a"), [row(0), row(1)], long());
    go.resolve();
    await second;
    await sink.append(trial("a"), [row(2)], long());
    assert.deepEqual(valuesOf(manager, "a"), [0, 1, 2]);
  }));

Deno.test("rows that are retried while they are being sent are stored once", () =>
  withManager({}, async (sink, manager) => {
    const go = Promise.withResolvers<void>();
    manager.fate = async () => {
      await go.promise;
      return { kind: "written" };
    };
    const first = sink.append(trial("a"), [row(0)], long());
    await until("it was sent", () => manager.reports.length === 1);
    const again = sink.append(trial("a"), [row(0)], long());
    go.resolve();
    await Promise.all([first, again]);
    assert.deepEqual(valuesOf(manager, "a"), [0]);
  }));

Deno.test("more rows of unknown outcome than are remembered are stored once, too", () =>
  withManager({}, async (sink, manager) => {
    manager.fate = (_, index) =>
      index === 0 ? { kind: "lost", code: status.UNAVAILABLE } : { kind: "written" };
    await sink.append(trial("a"), upTo(700).map(row), long());
    await sink.append(trial("a"), [row(700)], long());
    assert.deepEqual(valuesOf(manager, "a"), upTo(701));
  }));

Deno.test("the rows of an append go together in one call, and few calls run at a time", () =>
  withManager({}, async (sink, manager) => {
    const go = Promise.withResolvers<void>();
    manager.fate = async () => {
      await go.promise;
      return { kind: "written" };
    };
    const names = upTo(10).map((n) => `t${n}`);
    const appended = names.map((name) => sink.append(trial(name), upTo(50).map(row), long()));
    await until("calls are under way", () => manager.reports.length === 4);
    go.resolve();
    await Promise.all(appended);
    for (const name of names) assert.deepEqual(valuesOf(manager, name), upTo(50), name);
    assert.equal(manager.mostAtOnce(), 4);
    assert.equal(manager.reports.length, 10);
  }));

Deno.test("rows that a trial's log refuses hold up no others", () =>
  withManager({}, async (sink, manager) => {
    manager.fate = ({ rows }) =>
      rows.some(({ metric }) => metric?.value === "13")
        ? { kind: "error", code: status.UNKNOWN }
        : { kind: "written" };
    const soon = new AbortController();
    const bad = sink.append(trial("a"), [row(13)], soon.signal);
    const good = upTo(5).map((n) => sink.append(trial("a"), [row(n)], long()));
    const others = upTo(5).map((n) => sink.append(trial("b"), [row(n)], long()));
    await Promise.all(others);
    soon.abort();
    await unavailable(bad);
    await Promise.all(good);
    assert.deepEqual(valuesOf(manager, "a"), upTo(5));
  }));

Deno.test("rows that the DB manager calls invalid are refused", () =>
  withManager({}, async (sink, manager) => {
    manager.fate = () => ({ kind: "error", code: status.INVALID_ARGUMENT });
    await assert.rejects(
      sink.append(trial("a"), [row(0)], long()),
      (error: unknown) => error instanceof SinkError && error.kind === "refused",
    );
  }));

Deno.test("a restarted DB manager gets the waiting rows once", async () => {
  const first = await startFakeDbManager();
  const sink = sinkAt(first.address);
  await sink.append(trial("a"), [row(0)], long());
  await first.stop();
  const waiting = [row(1), row(2)].map((it) => sink.append(trial("a"), [it], long()));
  const second = await startFakeDbManager(first.port);
  await Promise.all(waiting);
  assert.deepEqual(valuesOf(second, "a"), [1, 2]);
  await sink.close();
  await second.stop();
});

Deno.test("a sink that has lost the lease sends nothing", () => {
  let may = true;
  return withManager({ mayWrite: () => may }, async (sink, manager) => {
    await sink.append(trial("a"), [row(0)], long());
    may = false;
    await unavailable(sink.append(trial("a"), [row(1)], AbortSignal.timeout(500)));
    assert.deepEqual(valuesOf(manager, "a"), [0]);
    assert.equal((await sink.read(trial("a"), long())).length, 1);
  });
});

Deno.test("rows beyond the bound are refused at once, with a time for the retry", () =>
  withManager({ maxWaitingRows: 10 }, async (sink, manager) => {
    const go = Promise.withResolvers<void>();
    manager.fate = async () => {
      await go.promise;
      return { kind: "written" };
    };
    const first = sink.append(trial("a"), upTo(10).map(row), long());
    const error = await unavailable(sink.append(trial("b"), [row(0)], long()));
    assert.ok(error.retryAfterMs >= 1000);
    assert.match(error.message, /10 rows wait already/);
    go.resolve();
    await first;
    await sink.append(trial("b"), [row(0)], long());
  }));

Deno.test("an append that ends in the queue has written nothing, and says so; one that was sent does not", () =>
  withManager({ maxCalls: 1 }, async (sink, manager) => {
    const go = Promise.withResolvers<void>();
    manager.fate = async () => {
      await go.promise;
      return { kind: "written" };
    };
    const sent = new AbortController();
    const queued = new AbortController();
    const first = sink.append(trial("a"), [row(0)], sent.signal);
    await until("it was sent", () => manager.reports.length === 1);
    const second = sink.append(trial("b"), [row(0)], queued.signal);
    queued.abort();
    assert.equal((await unavailable(second)).wroteNothing, true);
    sent.abort();
    assert.equal((await unavailable(first)).wroteNothing, false);
    go.resolve();
    await sink.append(trial("b"), [row(1)], long());
    assert.deepEqual(valuesOf(manager, "b"), [1]);
  }));

Deno.test("an append to a peer that was never reached has written nothing", async () => {
  const sink = sinkAt(`127.0.0.1:${freePort()}`);
  const refused = await unavailable(sink.append(trial("a"), [row(0)], AbortSignal.timeout(500)));
  assert.equal(refused.wroteNothing, true);
  await sink.close();
});

Deno.test("few logs are read at a time, however many are asked for", () =>
  withManager({ maxCalls: 3 }, async (sink, manager) => {
    const go = Promise.withResolvers<void>();
    manager.beforeRead = () => go.promise;
    const gone = new AbortController();
    const all = upTo(20).map((n) => sink.read(trial(`t${n}`), long()));
    const left = upTo(20).map((n) => unavailable(sink.read(trial(`u${n}`), gone.signal)));
    await until("some are read", () => manager.reads() === 3);
    gone.abort();
    await Promise.all(left);
    go.resolve();
    await Promise.all(all);
    assert.equal(manager.mostReadsAtOnce(), 3);
    assert.equal(manager.reads(), 20);
  }));

/** Behaviours of other programs on a connection. */
const PEERS: Readonly<Record<string, (socket: Socket) => void>> = {
  "hangs": () => {},
  "speaks HTTP/1": (socket) => socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"),
  "ends each connection": (socket) => socket.destroy(),
  "sends nonsense": (socket) => socket.write(new Uint8Array(5000).fill(7)),
};

for (const [does, treat] of Object.entries(PEERS)) {
  Deno.test(`the server survives a peer that ${does}, with and without TLS`, async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
      treat(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const bound = server.address();
    assert.ok(typeof bound === "object" && bound !== null);
    const address = `127.0.0.1:${bound.port}`;
    const { client: tls } = await makeTls();
    for (const own of [undefined, tls]) {
      const client = createDbManagerClient({
        address,
        clock: systemClock,
        deadlineMs: 200,
        tls: own && (() => own),
      });
      const sink = sinkAt(address, { client });
      const appended = upTo(20).map((n) =>
        unavailable(sink.append(trial("a"), [row(n)], AbortSignal.timeout(700)))
      );
      const errors = await Promise.all(appended);
      assert.match(errors[0]?.message ?? "", new RegExp(`the DB manager at ${address}: .`));
      await sink.close();
    }
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
}

Deno.test("a server whose certificate is not of the manager's CA gets no rows", async () => {
  const [{ client }, { server: foreign }] = await Promise.all([makeTls(), makeTls()]);
  const { startObservationServer } = await import("../../../katib/log/db_manager_server.ts");
  const { openLogStore } = await import("../../../katib/log/log_store.ts");
  const store = openLogStore();
  const server = await startObservationServer({
    hostname: "127.0.0.1",
    port: 0,
    tls: foreign,
    store,
    clock: systemClock,
  });
  const address = `127.0.0.1:${server.port}`;
  const sink = sinkAt(address, {
    client: createDbManagerClient({
      address,
      clock: systemClock,
      deadlineMs: 5000,
      tls: () => client,
    }),
  });
  await unavailable(sink.append(trial("a"), [row(0)], AbortSignal.timeout(1500)));
  assert.deepEqual(store.read("a"), []);
  await sink.close();
  await server.stop(1000);
  store.close();
});

Deno.test("an outage is logged once a minute, and once when it is over", async () => {
  const records: LogRecord[] = [];
  await configure({
    sinks: { here: (record) => void records.push(record) },
    loggers: [
      { category: ["milepost", "katib"], lowestLevel: "info", sinks: ["here"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
    ],
  });
  try {
    await withManager({ random: () => 0 }, async (sink, manager) => {
      manager.fate = (_, index) =>
        index < 3 ? { kind: "error", code: status.UNAVAILABLE } : { kind: "written" };
      await sink.append(trial("a"), [row(0)], long());
      assert.equal(manager.reports.length, 4);
      assert.deepEqual(records.map(({ level, rawMessage }) => [level, rawMessage]), [
        ["warning", "cannot write observations; retrying"],
        ["info", "observations are written again"],
      ]);
      assert.equal(records[0]?.properties.address, manager.address);
    });
  } finally {
    await reset();
  }
});
