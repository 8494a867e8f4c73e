/** Refusals of malformed requests, before their path is read. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest, failureOf, failureResponse } from "./refusals.ts";
import type { HttpResponse } from "./message.ts";

/** Characters that a host and port may be made of (RFC 3986, 3.2). */
const HOST = /^[A-Za-z0-9\-._~%!$&'()*+,;=:[\]]*$/;

/** Returns all values of a header; undefined if it was not sent. `name` is in lower case. */
export function valuesOf(rawHeaders: readonly string[], name: string): string[] | undefined {
  let values: string[] | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index];
    if (sent?.length === name.length && sent.toLowerCase() === name) {
      (values ??= []).push(rawHeaders[index + 1] ?? "");
    }
  }
  return values;
}

/**
 * Returns what another server on the way may understand in another way than this one does (RFC 9112,
 * 3.2, 6.1), in words; undefined if there is nothing of the kind.
 */
export function problemOf(
  message: Pick<IncomingMessage, "httpVersion" | "rawHeaders">,
): string | undefined {
  const { httpVersion, rawHeaders } = message;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "send HTTP/1.1";
  const hosts = valuesOf(rawHeaders, "host");
  if (hosts === undefined ? httpVersion === "1.1" : hosts.length > 1) {
    return "send the header Host once";
  }
  if (!HOST.test(hosts?.[0] ?? "")) return "the header Host holds no host";
  const codings = valuesOf(rawHeaders, "transfer-encoding");
  if (codings === undefined) return undefined;
  const isPlain = codings.length === 1 && codings[0]?.trim().toLowerCase() === "chunked";
  return isPlain && httpVersion === "1.1"
    ? undefined
    : "of transfer encodings HTTP/1.1's chunked is taken, alone and once";
}

/** Returns a response as the text of a connection on which nothing else is sent. */
function rawResponse({ status, headers, body }: HttpResponse): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n${lines.join("")}` +
    `Content-Length: ${new TextEncoder().encode(body).length}\r\n\r\n${body}`;
}

/** Sends a response over a socket that the server has given up, then closes it. */
export function refuseRaw(socket: Duplex, response: HttpResponse): void {
  if (socket.destroyed || !socket.writable) return void socket.destroy();
  socket.end(rawResponse(response), () => socket.destroy());
}

/** Code of the runtime's error for a request that comes too slowly. */
const TOO_SLOW = "ERR_HTTP_REQUEST_TIMEOUT";

/** Returns the error for a request that comes too slowly, as the runtime's own would be. */
export function tooSlow(): Error & { readonly code: string } {
  return Object.assign(new Error("the body comes too slowly"), { code: TOO_SLOW });
}

/** What is said of a fault, by the code of the runtime's error; of any other it is that this is not HTTP. */
const FAULTS = new Map([
  ["HPE_HEADER_OVERFLOW", failureOf(431, "BadRequest")("the headers are too long")],
  [TOO_SLOW, failureOf(408, "Timeout")("the request took too long to arrive")],
]);
const NOT_HTTP = badRequest("this is not a valid HTTP request");

/** Refuses a request that is not HTTP, or comes too slowly. */
export function refuseFault(socket: Duplex, { code = "" }: Error & { code?: string }): void {
  refuseRaw(socket, failureResponse(FAULTS.get(code) ?? NOT_HTTP));
}
