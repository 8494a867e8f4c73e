/** Tests of `milepost observation-log` with Katib's clients over plaintext and the manager's over TLS. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Client, credentials, status } from "@grpc/grpc-js";
import {
  CallError,
  createDbManagerClient,
  type DbManagerClient,
} from "../../../katib/log/db_manager_client.ts";
import { encodeJson } from "../../../katib/log/grpc_history.ts";
import { openLogStore } from "../../../katib/log/log_store.ts";
import type { ClientTls } from "../../../katib/log/peer_protocol.ts";
import { startObservationServer } from "../../../katib/log/db_manager_server.ts";
import { decodeLogReply, HISTORY_METHODS, METHODS, type WireRow } from "../../../katib/log/wire.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { makeTls, type TlsFiles } from "./tls_files.ts";

const DEADLINE_MS = 20_000;
const row = (time: string, value: string, name = "loss"): WireRow => ({
  time,
  metric: { name, value },
});
const whole = (trialName: string) => ({ trialName, metricName: "", startTime: "", endTime: "" });

interface World {
  readonly server: Awaited<ReturnType<typeof startObservationServer>>;
  readonly files: TlsFiles;
  readonly address: string;
  /** A client; without certificates it speaks plaintext. */
  client(tls?: ClientTls): ReturnType<typeof createDbManagerClient>;
}

async function withServer(work: (world: World) => Promise<void>): Promise<void> {
  const files = await makeTls();
  const store = openLogStore();
  const clients: ReturnType<typeof createDbManagerClient>[] = [];
  const server = await startObservationServer({
    hostname: "127.0.0.1",
    port: 0,
    tls: files.server,
    store,
    clock: systemClock,
  });
  const address = `127.0.0.1:${server.port}`;
  try {
    await work({
      server,
      files,
      address,
      client(tls) {
        const own = tls && (() => tls);
        const options = { address, clock: systemClock, deadlineMs: DEADLINE_MS, tls: own };
        const made = createDbManagerClient(options);
        clients.push(made);
        return made;
      },
    });
  } finally {
    for (const client of clients) client.close();
    await server.stop(1000);
    store.close();
  }
}

async function fails(work: Promise<unknown>, code: status, message: RegExp): Promise<void> {
  await assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof CallError, String(error));
    assert.equal(status[error.code], status[code], error.message);
    assert.match(error.message, message);
    return true;
  });
}

/** Sends a call of raw bytes. Resolves with the reply, or with the code of its failure. */
function rawCall(client: Client, path: string, body: Uint8Array) {
  const identity = (bytes: Buffer) => bytes;
  const options = { deadline: Date.now() + DEADLINE_MS };
  return new Promise<{ reply?: Buffer; code: status }>((resolve) =>
    void client.makeUnaryRequest<Buffer, Buffer>(
      path,
      identity,
      identity,
      Buffer.from(body),
      options,
      (error, reply) =>
        resolve(reply === undefined ? { code: error?.code ?? status.UNKNOWN } : { reply, code: 0 }),
    )
  );
}

Deno.test("what the manager writes over TLS is read over plaintext, by metric and time", () =>
  withServer(async ({ client, files }) => {
    const rows = [
      row("2026-01-01T00:00:01Z", "1"),
      row("2026-01-01T00:00:02.5Z", "2"),
      row("2026-01-01T00:00:02.5Z", "0.2", "accuracy"),
      row("2026-01-01T00:00:03Z", "3"),
    ];
    const [manager, katib] = [client(files.client), client()];
    await manager.report("a", rows);
    await manager.report("a", rows);
    assert.deepEqual(await katib.get(whole("a")), rows);
    const metric = { ...whole("a"), metricName: "loss" };
    assert.deepEqual(await katib.get(metric), rows.filter((it) => it.metric?.name === "loss"));
    const range = { startTime: "2026-01-01T00:00:02.5Z", endTime: "2026-01-01T01:00:02.5+01:00" };
    assert.deepEqual(await katib.get({ ...whole("a"), ...range }), rows.slice(1, 3));
    assert.deepEqual(await katib.get(whole("b")), []);
    await katib.delete("a");
    await katib.delete("never there");
    assert.deepEqual(await manager.get(whole("a")), []);
  }));

const REPORTS: Readonly<Record<string, { rows: WireRow[]; taken: boolean }>> = {
  "Katib's own row": { rows: [row("0001-01-01T00:00:00Z", "unavailable")], taken: true },
  "a row of another time": { rows: [row("2026-01-01T00:00:00Z", "unavailable")], taken: false },
  "a row of another value": { rows: [row("0001-01-01T00:00:00Z", "0.1")], taken: false },
  "two such rows": {
    rows: [
      row("0001-01-01T00:00:00Z", "unavailable"),
      row("0001-01-01T00:00:00Z", "unavailable", "accuracy"),
    ],
    taken: false,
  },
  "no rows": { rows: [], taken: false },
};
for (const [says, { rows, taken }] of Object.entries(REPORTS)) {
  Deno.test(`without a certificate ${says} ${taken ? "is" : "is not"} taken`, () =>
    withServer(async ({ client }) => {
      const report = client().report("a", rows);
      if (taken) await report;
      else await fails(report, status.PERMISSION_DENIED, /client certificate of the manager/);
      assert.equal((await client().get(whole("a"))).length, taken ? 1 : 0);
    }));
}

Deno.test("what is beside a log is read and kept only with a certificate", () =>
  withServer(async ({ client, files }) => {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const keep = (its: DbManagerClient, log: string) =>
      its.call(HISTORY_METHODS.keep, encodeJson({ news: [{ log, text: "seen" }] }), signal);
    const read = (its: DbManagerClient) =>
      its.call(HISTORY_METHODS.read, encodeJson({ log: "a/b/c" }), signal);
    await keep(client(files.client), "a/b/c");
    assert.equal(String(await read(client(files.client))), '{"text":"seen"}');
    await fails(keep(client(), "a/b/c"), status.PERMISSION_DENIED, /client certificate/);
    await fails(read(client()), status.PERMISSION_DENIED, /client certificate/);
    await fails(keep(client(files.client), ""), status.INVALID_ARGUMENT, /trial_name must have/);
    const broken = client(files.client).call(HISTORY_METHODS.keep, Buffer.from("{"), signal);
    await assert.rejects(broken);
  }));

Deno.test("TLS refuses a certificate of another CA, or none", () =>
  withServer(async ({ client, files, address }) => {
    const foreign = (await makeTls()).client;
    const stranger = client({ ...foreign, ca: files.client.ca });
    await fails(stranger.report("a", [row("2026-01-01T00:00:00Z", "1")]), status.UNAVAILABLE, /./);
    const bare = new Client(address, credentials.createSsl(Buffer.from(files.client.ca)), {
      "grpc.ssl_target_name_override": files.client.serverName,
    });
    const { code } = await rawCall(bare, METHODS.get, new Uint8Array());
    assert.equal(status[code], "UNAVAILABLE");
    bare.close();
    assert.deepEqual(await client().get(whole("a")), []);
  }));

Deno.test("an invalid call is refused with its problem", () =>
  withServer(async ({ client, files }) => {
    const manager = client(files.client);
    const good = row("2026-01-01T00:00:00Z", "1");
    const wrong: [() => Promise<unknown>, RegExp][] = [
      [() => manager.report("", [good]), /trial_name must have 1 to 255/],
      [() => manager.report("n".repeat(256), [good]), /trial_name must have 1 to 255/],
      [
        () => manager.report("a", [good, row("yesterday", "1")]),
        /"yesterday" is not an RFC 3339 time/,
      ],
      [
        () => manager.report("a", [{ time: good.time, metric: undefined }]),
        /each row must have a metric/,
      ],
      [() => manager.report("a", [row(good.time, "1", "")]), /name of a metric must have 1 to 255/],
      [
        () => manager.get({ ...whole("a"), startTime: "now" }),
        /start_time: "now" is not an RFC 3339 time/,
      ],
      [
        () => manager.get({ ...whole("a"), endTime: "now" }),
        /end_time: "now" is not an RFC 3339 time/,
      ],
    ];
    for (const [call, message] of wrong) await fails(call(), status.INVALID_ARGUMENT, message);
    await manager.report("a", [row("", "skipped"), good]);
    assert.deepEqual(await manager.get(whole("a")), [good]);
  }));

Deno.test("health is SERVING for the names that Katib's DB manager knows", () =>
  withServer(async ({ address }) => {
    const client = new Client(address, credentials.createInsecure());
    const named = (name: string) => Uint8Array.of(10, name.length, ...Buffer.from(name));
    const serving = Buffer.from([8, 1]);
    assert.deepEqual((await rawCall(client, METHODS.health, new Uint8Array())).reply, serving);
    const own = named("grpc.health.v1.Health");
    assert.deepEqual((await rawCall(client, METHODS.health, own)).reply, serving);
    const other = await rawCall(client, METHODS.health, named("other"));
    assert.equal(status[other.code], "NOT_FOUND");
    client.close();
  }));

Deno.test("invalid messages and unknown methods are errors of that call only", () =>
  withServer(async ({ address, client }) => {
    const raw = new Client(address, credentials.createInsecure());
    const nonsense = await rawCall(raw, METHODS.get, Uint8Array.of(10, 200, 1));
    assert.notEqual(nonsense.code, status.OK);
    const unknown = await rawCall(raw, "/api.v1.beta1.DBManager/DropTables", new Uint8Array());
    assert.equal(status[unknown.code], "UNIMPLEMENTED");
    raw.close();
    assert.deepEqual(await client().get(whole("a")), []);
  }));

const STRANGERS: Readonly<Record<string, string>> = {
  "HTTP/1": "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
  "nonsense": "\x00\x01\x02 nonsense",
  "half a handshake": "\x16\x03\x01\x02\x00\x01",
  "nothing": "",
};
for (const [says, text] of Object.entries(STRANGERS)) {
  Deno.test(`a connection with ${says} harms no other`, () =>
    withServer(async ({ server, client }) => {
      const stranger = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
      if (text !== "") await stranger.write(Uint8Array.from(text, (it) => it.charCodeAt(0)));
      assert.deepEqual(await client().get(whole("a")), []);
      stranger.close();
      assert.deepEqual(await client().get(whole("a")), []);
    }));
}

Deno.test("new certificates are loaded without an interruption", () =>
  withServer(async ({ server, client, files }) => {
    const before = client(files.client);
    await before.report("a", [row("2026-01-01T00:00:00Z", "1")]);
    const next = await makeTls();
    const bundle = `${files.server.clientCa}\n${next.server.clientCa}`;
    server.updateTls({ ...next.server, clientCa: bundle });
    const both = `${files.client.ca}\n${next.client.ca}`;
    await client({ ...files.client, ca: both }).report("a", [row("2026-01-01T00:00:01Z", "1")]);
    await client({ ...next.client, ca: both }).report("a", [row("2026-01-01T00:00:02Z", "1")]);
    assert.equal((await client().get(whole("a"))).length, 3);
  }));

Deno.test("`decodeLogReply()` ignores unknown fields, and refuses invalid messages", () => {
  // In the row the field 100, and in the log the field 3.
  const known = Buffer.from("0a120a0e0a016112060a016c120131a006011801", "hex");
  assert.deepEqual(decodeLogReply(known), [{ time: "a", metric: { name: "l", value: "1" } }]);
  assert.throws(() => decodeLogReply(Uint8Array.of(10, 200)));
});
