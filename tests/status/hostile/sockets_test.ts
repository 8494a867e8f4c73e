/** Tests of the endpoint against hostile bytes, over real TLS connections to one server. */
import assert from "node:assert/strict";
import { startTestServer } from "../../platform/http/test_server.ts";
import { certificate } from "../../platform/http/certificates.ts";
import { TOKEN } from "../chain/handler_bench.ts";
import { assertStatus, hostileBench } from "./case.ts";
import { answersIn, exchange } from "./connection.ts";
import { HONEST, RAW_CASES, type RawCase } from "./raw_cases.ts";

const TLS = await certificate("hostile");

type Bench = ReturnType<typeof hostileBench>;

function serve({ handle }: Bench) {
  return startTestServer({
    tls: TLS,
    handle,
    times: { headerMs: 1000, requestMs: 30_000, idleMs: 500, checkEveryMs: 50 },
  });
}

async function check(one: RawCase, port: number, bench: Bench): Promise<void> {
  const { counts, accepted } = bench;
  let before = accepted.length;
  let heard = await exchange({ port }, one.bytes, one.ends);
  // A connection that is closed with bytes unread may be reset, and the answer lost with it.
  for (let time = 2; time <= 5 && heard === "" && one.codes.length > 0; time++) {
    before = accepted.length;
    heard = await exchange({ port }, one.bytes, one.ends);
  }
  assert(!heard.includes(TOKEN));
  const answers = answersIn(heard);
  const codes = answers.map(({ code }) => code);
  const isElse = one.orElse !== undefined && codes.join() === one.orElse.join();
  if (!isElse) assert.deepEqual(codes, one.codes);
  const last = answers.at(-1);
  if (one.reason !== undefined && last !== undefined) {
    assertStatus(JSON.parse(last.body), last.code, one.reason);
  }
  assert.equal(accepted.length - before, one.accepted ?? 0);
  const [honest] = answersIn(await exchange({ port }, HONEST));
  assert.equal(honest?.code, 200);
  assert.equal(counts.unknownKeys, 0);
}

Deno.test("`startServer()` answers hostile bytes as documented, and honest pushes after them", async (t) => {
  const bench = hostileBench();
  const server = await serve(bench);
  for (const [sentence, one] of Object.entries(RAW_CASES)) {
    await t.step(
      `${one.codes.at(-1) ?? "no answer"} to ${sentence}`,
      () => check(one, server.port, bench),
    );
  }
  await server.close(5000);
  assert.equal(server.connections(), 0);
  assert.equal(bench.counts.reviews, 1);
  await bench.reviews.close();
});
