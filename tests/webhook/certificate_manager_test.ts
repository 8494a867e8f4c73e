/** Tests of certificates in a shared Secret: created, shared, renewed, repaired. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import { KINDS } from "../../crds/kinds.ts";
import { splitBundle } from "../../platform/base/certificates.ts";
import { createCertificateManager } from "../../webhook/certificate_manager.ts";
import { failure, manualClock, MemoryStore } from "./builders.ts";

const NAME = "kubeflow-trainer-webhook-cert";
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const address = { service: "svc", namespace: "ns", baseUrls: ["https://127.0.0.1:9443"] };

function setup(store = new MemoryStore(), clock = manualClock()) {
  const manager = createCertificateManager({ store, address, clock, changes: store.changes });
  return { store, clock, manager };
}

async function data(store: MemoryStore): Promise<Record<string, string>> {
  const secret = await store.get(KINDS.secret, { name: NAME });
  const entries = Object.entries(secret.data ?? {});
  return Object.fromEntries(
    entries.map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );
}

/** Changes keys of the stored Secret behind the manager's back; undefined removes one. */
async function tamper(store: MemoryStore, changes: Record<string, string | undefined>) {
  const secret = await store.get(KINDS.secret, { name: NAME });
  const merged = { ...await data(store), ...changes };
  const encoded = Object.entries(merged).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, Buffer.from(value).toString("base64")]]
  );
  store.put({ ...secret, ...{ data: Object.fromEntries(encoded) } });
}

/** Whether whoever trusts `bundle` trusts `cert`. */
function isTrusted(cert: string, bundle: string): boolean {
  const leaf = new X509Certificate(cert);
  return splitBundle(bundle).some((ca) => leaf.verify(new X509Certificate(ca).publicKey));
}

Deno.test("`ensure()` creates the Secret and holds what is in it", async () => {
  const { store, manager } = setup();
  assert.throws(() => manager.current(), /ensure/);
  await manager.ensure();
  const stored = await data(store);
  const { cert, key, caBundle } = manager.current();
  assert.deepEqual(Object.keys(stored).sort(), ["ca.crt", "ca.key", "tls.crt", "tls.key"]);
  assert.deepEqual([stored["tls.crt"], stored["tls.key"], stored["ca.crt"]], [cert, key, caBundle]);
  assert.equal(new X509Certificate(cert).checkIP("127.0.0.1"), "127.0.0.1");
  assert.ok(isTrusted(cert, caBundle));
});

Deno.test("`ensure()` writes nothing if the certificates are valid", async () => {
  const { store, manager } = setup();
  await manager.ensure();
  await manager.ensure();
  assert.equal(store.writes, 1);
});

Deno.test("`ensure()` reports a change once", async () => {
  const said: string[] = [];
  const store = new MemoryStore();
  const clock = manualClock();
  const rotated = (message: string) => said.push(message);
  const manager = createCertificateManager({ store, address, clock, rotated });
  await manager.ensure();
  await manager.ensure();
  assert.deepEqual(said, ["create: there is no usable CA"]);
});

Deno.test("`ensure()` of replicas that race agrees on one CA", async () => {
  const store = new MemoryStore();
  const replicas = Array.from({ length: 4 }, () => setup(store).manager);
  await Promise.all(replicas.map((manager) => manager.ensure()));
  assert.equal(store.writes, 1);
  assert.equal(new Set(replicas.map((manager) => manager.current().key)).size, 1);
});

Deno.test("`ensure()` adopts the certificates that another replica stored, and notifies listeners", async () => {
  const { store, clock, manager } = setup();
  await manager.ensure();
  const before = manager.current();
  let told = 0;
  const stop = manager.onChange(() => told++);
  await tamper(store, { "tls.key": undefined });
  await setup(store, clock).manager.ensure();
  await manager.ensure();
  assert.notEqual(manager.current().cert, before.cert);
  assert.equal(manager.current().caBundle, before.caBundle);
  await manager.ensure();
  assert.equal(told, 1);
  stop();
  await tamper(store, { "tls.crt": "rubbish" });
  await manager.ensure();
  assert.equal(told, 1);
});

Deno.test("`ensure()` keeps metadata and keys of others", async () => {
  const { store, manager } = setup();
  await manager.ensure();
  await tamper(store, { "mine": "x", "tls.crt": "" });
  const secret = await store.get(KINDS.secret, { name: NAME });
  store.put({ ...secret, metadata: { ...secret.metadata, ...{ labels: { a: "b" } } } });
  await manager.ensure();
  const repaired = await store.get(KINDS.secret, { name: NAME });
  assert.deepEqual(repaired.metadata?.labels, { a: "b" });
  assert.equal((await data(store)).mine, "x");
});

const broken: Record<string, Record<string, string | undefined>> = {
  "lost its CA's key": { "ca.key": undefined },
  "has a CA of rubbish": { "ca.crt": "rubbish" },
  "has another key type": {
    "ca.key": "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----",
  },
  "lost everything": {
    "ca.crt": undefined,
    "ca.key": undefined,
    "tls.crt": undefined,
    "tls.key": undefined,
  },
};
for (const [sentence, changes] of Object.entries(broken)) {
  Deno.test(`\`ensure()\` makes a CA if the Secret ${sentence} and no replica holds one`, async () => {
    const { store, clock, manager } = setup();
    await manager.ensure();
    await tamper(store, changes);
    const fresh = setup(store, clock).manager;
    await fresh.ensure();
    const { cert, caBundle } = fresh.current();
    assert.ok(isTrusted(cert, caBundle));
    assert.notEqual(cert, manager.current().cert);
    const keptCert = changes["ca.crt"] === undefined && !("ca.crt" in changes);
    assert.equal(isTrusted(manager.current().cert, caBundle), keptCert);
  });

  Deno.test(`\`ensure()\` keeps the old CA trusted if the Secret ${sentence}, and starts a new CA`, async () => {
    const { store, manager } = setup();
    await manager.ensure();
    const before = manager.current();
    await tamper(store, changes);
    await manager.ensure();
    const after = manager.current();
    assert.equal(after.cert, before.cert);
    assert.ok(after.caBundle.startsWith(before.caBundle));
    assert.equal(splitBundle(after.caBundle).length, 2);
    assert.ok((await data(store))["ca-next.key"]);
  });
}

Deno.test("`ensure()` replaces a deleted Secret by a new CA that every client trusts at all times", async () => {
  const { store, clock, manager } = setup();
  await manager.ensure();
  const first = manager.current();
  store.remove(NAME);
  await manager.ensure();
  const second = manager.current();
  assert.equal(second.cert, first.cert, "serves as before while the next CA spreads");
  clock.advance(HOUR);
  await manager.ensure();
  const third = manager.current();
  assert.notEqual(third.cert, second.cert);
  assert.ok(isTrusted(third.cert, second.caBundle), "who has the bundle of before trusts it");
  assert.ok(isTrusted(second.cert, third.caBundle), "a replica that is behind is trusted");
  clock.advance(HOUR);
  await manager.ensure();
  const last = manager.current();
  assert.equal(last.cert, third.cert);
  assert.equal(splitBundle(last.caBundle).length, 1);
  assert.equal(isTrusted(first.cert, last.caBundle), false);
  assert.deepEqual(Object.keys(await data(store)).sort(), [
    "ca.crt",
    "ca.key",
    "tls.crt",
    "tls.key",
  ]);
});

Deno.test("`ensure()` through twelve years never serves what an hour-old bundle distrusts", async () => {
  const { clock, manager } = setup();
  await manager.ensure();
  let before = manager.current();
  const certificates = new Set([before.cert]);
  const bundles = new Set([before.caBundle]);
  for (let step = 0; step < 12 * 365 / 30; step++) {
    clock.advance(30 * DAY);
    await manager.ensure();
    const now = manager.current();
    assert.ok(isTrusted(now.cert, before.caBundle), `step ${step}`);
    assert.ok(Date.parse(new X509Certificate(now.cert).validTo) > clock.now());
    before = now;
    certificates.add(now.cert);
    bundles.add(now.caBundle);
  }
  assert.ok(certificates.size >= 12);
  assert.equal(bundles.size, 4, "one CA, both, both the other way round, the other");
});

Deno.test("`ensure()` adds names that are wanted now and keeps those of other replicas", async () => {
  const { store, clock, manager } = setup();
  await manager.ensure();
  const moved = createCertificateManager({
    store,
    clock,
    address: { ...address, baseUrls: ["https://other.example"] },
  });
  await moved.ensure();
  const certificate = new X509Certificate(moved.current().cert);
  assert.ok(certificate.checkHost("other.example"));
  assert.ok(certificate.checkIP("127.0.0.1"));
  await manager.ensure();
  assert.equal(manager.current().cert, moved.current().cert);
});

Deno.test("`ensure()` throws other errors, and gives up after too many conflicts", async () => {
  const forbidden = new MemoryStore();
  forbidden.fault = () => failure(403, "Forbidden");
  await assert.rejects(setup(forbidden).manager.ensure(), { code: 403 });
  const contested = new MemoryStore();
  contested.fault = (verb) => verb === "create" ? failure(409, "AlreadyExists") : undefined;
  await assert.rejects(setup(contested).manager.ensure(), /changed 5 times/);
});

Deno.test("`run()` repairs a deleted Secret, survives failures and stops on abort", async () => {
  const { store, clock, manager } = setup();
  const stop = new AbortController();
  const { promise: created, resolve } = Promise.withResolvers<void>();
  manager.onChange(resolve);
  let calls = 0;
  store.fault = () => calls++ === 0 ? failure(500, "InternalError") : undefined;
  const running = manager.run(stop.signal);
  const ticking = tick(clock, stop.signal);
  await created;
  const { promise: repaired, resolve: again } = Promise.withResolvers<void>();
  manager.onChange(again);
  store.remove(NAME);
  await repaired;
  stop.abort();
  await Promise.all([running, ticking]);
  assert.equal(store.listeners.size, 0);
  assert.ok(store.objects.has(NAME));
});

/** Lets time pass, a little at every turn of the event loop; not for ever, so that failures show. */
async function tick(clock: { advance(ms: number): void }, signal: AbortSignal): Promise<void> {
  for (let turn = 0; turn < 5_000 && !signal.aborted; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    clock.advance(100);
  }
}
