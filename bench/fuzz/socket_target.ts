/** Target of the fuzzer: a status server over real TLS. */
import { startTestServer } from "../../tests/platform/http/test_server.ts";
import { certificate } from "../../tests/platform/http/certificates.ts";
import type { FuzzTarget } from "../../tests/status/fuzz/fuzz.ts";
import type { FuzzRequest } from "../../tests/status/fuzz/oracle.ts";
import type { hostileBench } from "../../tests/status/hostile/case.ts";
import { answersIn, exchange } from "../../tests/status/hostile/connection.ts";

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));

/** The bytes of a request; undefined where a character of it has no byte, or ends a line. */
function bytesOf({ method, url, headers, body }: FuzzRequest): Uint8Array | undefined {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = [method, url, ...Object.values(headers)].join("");
  if (/[\r\n\u0100-\uffff]/.test(text)) return undefined;
  const head = `${method} ${url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n` +
    `${lines.join("")}Content-Length: ${body.length}\r\n\r\n`;
  return Uint8Array.from([...latin1(head), ...body]);
}

/** Starts the server. What is not HTTP is answered 400 or 431, also instead of the oracle's codes. */
export async function startSocketTarget(bench: ReturnType<typeof hostileBench>) {
  const server = await startTestServer({
    tls: await certificate("fuzz"),
    handle: bench.handle,
  });
  const target: FuzzTarget = {
    besides: new Set([400, 431]),
    async send(request) {
      const bytes = bytesOf(request);
      if (bytes === undefined) return undefined;
      const [answer, ...more] = answersIn(await exchange({ port: server.port }, bytes));
      if (answer === undefined || more.length > 0) {
        throw new Error(`${more.length + (answer === undefined ? 0 : 1)} answers instead of one`);
      }
      const headers = answer.headers.split("\r\n").slice(1).map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      });
      return { status: answer.code, headers: Object.fromEntries(headers), body: answer.body };
    },
  };
  return { target, close: () => server.close(1000) };
}
