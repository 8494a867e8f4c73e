/** Tests of the observation API against hostile bytes, over real TLS connections to the endpoint's own server. */
import assert from "node:assert/strict";
import { startTestServer } from "../../platform/http/test_server.ts";
import { answersIn, exchange } from "../../status/hostile/connection.ts";
import { certificate } from "../../platform/http/certificates.ts";
import { apiBench, requestOf, tokenWith } from "./api_bench.ts";

const PATH = requestOf().url;
const AUTHORIZED = `Authorization: Bearer ${tokenWith()}`;

/** A request's bytes; the connection is closed after its answer. */
const bytesOf = (line: string, ...headers: string[]) =>
  [line, "Host: localhost", "Connection: close", ...headers, "", ""].join("\r\n");
const get = (path: string, ...headers: string[]) => bytesOf(`GET ${path} HTTP/1.1`, ...headers);

const cases: Readonly<Record<string, { bytes: string; codes: readonly number[] }>> = {
  "an honest request": { bytes: get(PATH, AUTHORIZED), codes: [200] },
  "a GET with a body": {
    bytes: get(PATH, AUTHORIZED, "Content-Length: 5") + "hello",
    codes: [200],
  },
  "two tokens": { bytes: get(PATH, AUTHORIZED, AUTHORIZED), codes: [401] },
  "a folded token": { bytes: get(PATH, `Authorization: Bearer\r\n ${tokenWith()}`), codes: [400] },
  "a NUL in the token": { bytes: get(PATH, `${AUTHORIZED}\0`), codes: [400] },
  "a path of its own host": { bytes: get(`https://localhost${PATH}`, AUTHORIZED), codes: [404] },
  "dots in the path": { bytes: get(`/x/..${PATH}`, AUTHORIZED), codes: [404] },
  "encoded letters in the path": {
    bytes: get(PATH.replace("job/", "j%6Fb/"), AUTHORIZED),
    codes: [404],
  },
  "a fragment": { bytes: get(`${PATH}#x`, AUTHORIZED), codes: [404] },
  "two slashes": { bytes: get(`/${PATH}`, AUTHORIZED), codes: [404] },
  "a query of 9,000 characters": {
    bytes: get(`${PATH}?continue=${"1".repeat(9000)}`, AUTHORIZED),
    codes: [422],
  },
  "a query longer than headers may be": {
    bytes: get(`${PATH}?continue=${"1".repeat(40_000)}`, AUTHORIZED),
    codes: [431],
  },
  "a page with an end of line": {
    bytes: get(`${PATH}?continue=1.1%0d%0aX:%201`, AUTHORIZED),
    codes: [422],
  },
  "an unknown method": { bytes: bytesOf(`BREW ${PATH} HTTP/1.1`), codes: [400] },
  "TRACE": { bytes: bytesOf(`TRACE ${PATH} HTTP/1.1`, AUTHORIZED), codes: [405] },
  "two requests at once, the first refused": {
    bytes: `GET ${PATH}?x HTTP/1.1\r\nHost: localhost\r\n\r\n${get(PATH, AUTHORIZED)}`,
    codes: [422, 200],
  },
  "HTTP of 1996 with a stream": {
    bytes: `GET ${PATH}?watch=true&watch=true HTTP/1.0\r\n${AUTHORIZED}\r\n\r\n`,
    codes: [422],
  },
};

Deno.test("the observation API answers hostile bytes, and honest requests after them", async (t) => {
  const bench = apiBench();
  const server = await startTestServer({
    tls: await certificate("observed"),
    handle: bench.api.handle,
    times: { headerMs: 5000, requestMs: 30_000, idleMs: 1000, checkEveryMs: 50 },
  });
  const codesOf = async (bytes: string) => {
    let heard = "";
    // A connection that is closed with bytes unread may be reset, and the answer lost with it.
    for (let time = 0; time < 5 && heard === ""; time++) {
      heard = await exchange({ port: server.port }, bytes);
    }
    return answersIn(heard).map(({ code }) => code);
  };
  for (const [sentence, { bytes, codes }] of Object.entries(cases)) {
    await t.step(`${codes.join(", ")} to ${sentence}`, async () => {
      assert.deepEqual(await codesOf(bytes), codes);
      assert.deepEqual(await codesOf(get(PATH, AUTHORIZED)), [200]);
    });
  }
  await server.close(5000);
  assert.equal(server.connections(), 0);
});
