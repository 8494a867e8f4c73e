/** Tests of the key source: hourly, sooner on an unknown key, never often. */
import assert from "node:assert/strict";
import {
  createJwksSource,
  type JwksOptions,
  readKeySet,
} from "../../../../platform/http/callers/jwks.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { ISSUER, signingKey } from "./tokens.ts";
import { answeringClient, never, silent } from "../../../support/answering_client.ts";

const first = await signingKey("k1");
const second = await signingKey("k2", "ES256");

/** A source over an API server whose answers a test exchanges. */
function bench(options: Partial<JwksOptions> = {}) {
  const clock = new FakeClock();
  const server: { issuer: unknown; keys: unknown[]; status: number; asked: string[] } = {
    issuer: ISSUER,
    keys: [first.jwk],
    status: 200,
    asked: [],
  };
  const results: string[] = [];
  const source = createJwksSource({
    clock,
    random: () => 1,
    client: answeringClient(({ path }) => {
      server.asked.push(path);
      const document = path.includes("jwks") ? { keys: server.keys } : { issuer: server.issuer };
      return Response.json(document, { status: server.status });
    }, clock),
    onRefresh: (result) => results.push(result),
    ...options,
  });
  const stop = new AbortController();
  const start = () => {
    const running = source.run(stop.signal);
    return async () => {
      stop.abort();
      await running;
      assert.equal(clock.sleeping, 0);
    };
  };
  return { clock, server, source, results, start };
}

Deno.test("`createJwksSource()` reads issuer and keys from the API server", async () => {
  const { source, server } = bench();
  assert.equal(source.current(), undefined);
  await source.refresh();
  assert.deepEqual(server.asked, ["/.well-known/openid-configuration", "/openid/v1/jwks"]);
  const current = source.current();
  assert.equal(current?.issuer, ISSUER);
  assert.deepEqual([...current?.keys.keys() ?? []], ["k1"]);
  await source.refresh();
  assert.equal(source.current(), current);
  server.keys = [second.jwk];
  await source.refresh();
  assert.deepEqual([...source.current()?.keys.keys() ?? []], ["k2"]);
});

const BROKEN: Record<string, { issuer?: unknown; keys?: unknown[]; status?: number }> = {
  "no issuer": { issuer: undefined },
  "an issuer that is no text": { issuer: 1 },
  "no usable key": { keys: [{ kty: "oct", kid: "x", k: "AAAA" }] },
  "an error": { status: 403 },
};
for (const [sentence, broken] of Object.entries(BROKEN)) {
  Deno.test(`\`refresh()\` throws on ${sentence} and keeps what it had`, async () => {
    const { source, server } = bench();
    await source.refresh();
    const before = source.current();
    Object.assign(server, broken);
    await assert.rejects(source.refresh());
    assert.equal(source.current(), before);
  });
}

Deno.test("`run()` reads hourly", async () => {
  const { clock, results, start } = bench();
  const end = start();
  await clock.advance(0);
  assert.equal(results.length, 1);
  await clock.advance(3_599_000);
  assert.equal(results.length, 1);
  await clock.advance(1000);
  assert.equal(results.length, 2);
  await end();
});

Deno.test("`noteUnknownKey()` brings new keys at once, and at most every 10 s", async () => {
  const { clock, server, source, results, start } = bench();
  const end = start();
  await clock.advance(60_000);
  server.keys = [first.jwk, second.jwk];
  source.noteUnknownKey();
  await clock.advance(0);
  assert.equal(source.current()?.keys.size, 2);
  const before = results.length;
  for (let step = 0; step < 600; step++) {
    source.noteUnknownKey();
    if (step % 6 === 0) await clock.advance(600);
  }
  assert(results.length - before <= 6, `${results.length - before} reads in 60 s`);
  assert(results.length - before >= 5);
  await end();
});

Deno.test("`run()` tries again with growing pauses, and never ends by itself", async () => {
  const { clock, server, source, results, start } = bench();
  server.status = 500;
  const end = start();
  await clock.advance(120_000);
  assert(results.length >= 6 && results.length <= 12, `${results.length} reads`);
  assert(results.every((result) => result === "error"));
  server.status = 200;
  await clock.advance(30_000);
  assert.notEqual(source.current(), undefined);
  await end();
});

Deno.test("`run()` ends on abort while the API server hangs", async () => {
  const { clock, start } = bench({ client: answeringClient((_request, signal) => never(signal)) });
  const end = start();
  await clock.advance(0);
  await end();
});

Deno.test("`run()` tries again when a response never ends", async () => {
  let hangs = true;
  const clock = new FakeClock();
  const { source, results, start } = bench({
    clock,
    client: answeringClient(({ path }) => {
      const document = path.includes("jwks") ? { keys: [first.jwk] } : { issuer: ISSUER };
      return hangs ? silent() : Response.json(document);
    }, clock),
  });
  const end = start();
  await clock.advance(5000);
  hangs = false;
  await clock.advance(20_000);
  assert.deepEqual(results, ["error", "ok"]);
  assert.notEqual(source.current(), undefined);
  await end();
});

Deno.test("`readKeySet()` leaves out what cannot verify a signature", async () => {
  const { alg: _, ...withoutAlgorithm } = second.jwk;
  const keys = await readKeySet({
    keys: [
      first.jwk,
      withoutAlgorithm,
      { ...first.jwk, kid: undefined },
      { ...first.jwk, kid: "enc", use: "enc" },
      { ...first.jwk, kid: "hmac", alg: "HS256" },
      { ...first.jwk, kid: "broken", n: "?" },
      { kty: "oct", kid: "secret", k: "AAAA", alg: "HS256" },
      null,
    ],
  });
  const algorithms = [...keys].map(([kid, { algorithm }]) => [kid, algorithm]);
  assert.deepEqual(algorithms, [["k1", "RS256"], ["k2", "ES256"]]);
});
