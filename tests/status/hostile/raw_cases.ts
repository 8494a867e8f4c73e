/** Hostile bytes on a connection, each with the answers to them. */
import { PATH, PUSH, TOKEN } from "../chain/handler_bench.ts";

/** Bytes that are sent over one TLS connection, and the codes of all answers to them. */
export interface RawCase {
  readonly bytes: string | Uint8Array;
  /** Codes of the answers, interim ones too; empty: the connection is closed without any. */
  readonly codes: readonly number[];
  /** Codes that are as right, where times of the machine decide. */
  readonly orElse?: readonly number[];
  /** Of the last answer. */
  readonly reason?: string;
  /** Pushes that are accepted. Default 0. */
  readonly accepted?: number;
  /** Whether the client ends its side after the last byte. */
  readonly ends?: boolean;
}

const BODY = JSON.stringify(PUSH);
const LINE = `POST ${PATH} HTTP/1.1\r\n`;
const HOST = "Host: localhost\r\n";
const AUTH = `Authorization: Bearer ${TOKEN}\r\n`;
const LENGTH = `Content-Length: ${BODY.length}\r\n`;
const CLOSE = "Connection: close\r\n";
const SIZE = BODY.length.toString(16);
/** A push that is the last of its connection, and one that is not. */
export const HONEST = `${LINE}${HOST}${AUTH}${LENGTH}${CLOSE}\r\n${BODY}`;
const KEPT = `${LINE}${HOST}${AUTH}${LENGTH}\r\n${BODY}`;

const withLine = (line: string) => `${line}\r\n${HOST}${AUTH}${LENGTH}${CLOSE}\r\n${BODY}`;
const withHeader = (header: string) =>
  `${LINE}${HOST}${AUTH}${LENGTH}${CLOSE}${header}\r\n\r\n${BODY}`;
const withLength = (length: string) =>
  `${LINE}${HOST}${AUTH}${CLOSE}Content-Length: ${length}\r\n\r\n${BODY}`;
const withAuth = (auth: string) => `${LINE}${HOST}${auth}\r\n${LENGTH}${CLOSE}\r\n${BODY}`;
const CHUNKS = `${SIZE}\r\n${BODY}\r\n0\r\n\r\n`;
const withCoding = (coding: string, version = "1.1") =>
  `POST ${PATH} HTTP/${version}\r\n${HOST}${AUTH}${CLOSE}Transfer-Encoding: ${coding}\r\n\r\n${CHUNKS}`;
const withChunks = (chunks: string) =>
  `${LINE}${HOST}${AUTH}${CLOSE}Transfer-Encoding: chunked\r\n\r\n${chunks}`;

type Raws = Readonly<Record<string, string | Uint8Array>>;
type Answer = Omit<RawCase, "bytes">;
const all = (answer: Answer, raws: Raws): Record<string, RawCase> =>
  Object.fromEntries(
    Object.entries(raws).map(([sentence, bytes]) => [sentence, { ...answer, bytes }]),
  );

const encode = (text: string) => new TextEncoder().encode(text);

/** Bytes that servers may interpret differently. */
const DOUBTFUL: Raws = {
  "a folded Authorization": withAuth(`Authorization: Bearer\r\n ${TOKEN}`),
  "a folded header": withHeader("X-A: a\r\n\tb"),
  "a space before the colon": withHeader("X-A : a"),
  "a space before Authorization's colon": withAuth(`Authorization : Bearer ${TOKEN}`),
  "a control character in a header's name": withHeader("X\x01A: a"),
  "a letter of another script in a header's name": withHeader("Xé: a"),
  "a parenthesis in a header's name": withHeader("X(A): a"),
  "a header without colon": withHeader("XA"),
  "a header without name": withHeader(": a"),
  "a null byte in a header": withHeader("X-A: a\0b"),
  "a carriage return alone in a header": withHeader("X-A: a\rb"),
  "a line feed alone between headers": withHeader("X-A: a\nX-B: b"),
  "line feeds alone throughout": HONEST.replaceAll("\r\n", "\n"),
  "a space before the first header": `${LINE} ${HOST}${AUTH}${LENGTH}${CLOSE}\r\n${BODY}`,
  "a negative Content-Length": withLength("-5"),
  "a Content-Length with a plus": withLength("+5"),
  "a hexadecimal Content-Length": withLength("0x10"),
  "an empty Content-Length": withLength(""),
  "a Content-Length with an exponent": withLength("1e3"),
  "a Content-Length with a fraction": withLength("159.0"),
  "a Content-Length beyond 64 bits": withLength("99999999999999999999999"),
  "a list of Content-Lengths": withLength(`${BODY.length}, ${BODY.length}`),
  "two numbers as Content-Length": withLength("1 2"),
  "the same Content-Length twice": withHeader(LENGTH.trim()),
  "two Content-Lengths": withHeader("Content-Length: 3"),
  "Content-Length and chunks": withHeader("Transfer-Encoding: chunked"),
  "chunks and Content-Length": withCoding(`chunked\r\nContent-Length: ${BODY.length}`),
  "chunked twice": withCoding("chunked, chunked"),
  "chunked in two headers": withCoding("chunked\r\nTransfer-Encoding: chunked"),
  "chunked and identity": withCoding("chunked\r\nTransfer-Encoding: identity"),
  "a transfer encoding that is unknown": withCoding("xchunked"),
  "identity as transfer encoding": withCoding("identity"),
  "gzip as transfer encoding": withCoding("gzip, chunked"),
  "gzip after chunked": withCoding("chunked, gzip"),
  "a vertical tab before chunked": withCoding("\vchunked"),
  "chunked in quotes": withCoding('"chunked"'),
  "an empty transfer encoding": withCoding(""),
  "chunked with a parameter": withCoding("chunked;q=1"),
  "chunks in HTTP/1.0": withCoding("chunked", "1.0"),
  "a chunk size that is no number": withChunks(`ZZ\r\n${BODY}\r\n0\r\n\r\n`),
  "a chunk size beyond 64 bits": withChunks(`FFFFFFFFFFFFFFFFFF\r\n${BODY}\r\n0\r\n\r\n`),
  "a negative chunk size": withChunks(`-1\r\n${BODY}\r\n0\r\n\r\n`),
  "a chunk size with 0x": withChunks(`0x${SIZE}\r\n${BODY}\r\n0\r\n\r\n`),
  "an empty chunk size": withChunks(`\r\n${BODY}\r\n0\r\n\r\n`),
  "a chunk that is longer than it says": withChunks(`5\r\n${BODY}\r\n0\r\n\r\n`),
  "no Host": `${LINE}${AUTH}${LENGTH}${CLOSE}\r\n${BODY}`,
  "two Hosts": withHeader("Host: attacker.example"),
  "an invalid Host": `${LINE}Host: a b/c\r\n${AUTH}${LENGTH}${CLOSE}\r\n${BODY}`,
  "HTTP/0.9": `GET ${PATH}\r\n\r\n`,
  "HTTP/2's first bytes": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "HTTP/3.0": withLine(`POST ${PATH} HTTP/3.0`),
  "HTTP/1.2": withLine(`POST ${PATH} HTTP/1.2`),
  "no version": withLine(`POST ${PATH} HTTP/`),
  "tabs in the first line": withLine(`POST\t${PATH}\tHTTP/1.1`),
  "a method in lower case": withLine(`post ${PATH} HTTP/1.1`),
  "an invalid method": withLine(`FOO ${PATH} HTTP/1.1`),
  "a space before the method": ` ${HONEST}`,
  "a target of UTF-8": withLine(`POST ${PATH}é HTTP/1.1`),
  "a null byte in the target": withLine(`POST ${PATH}\0 HTTP/1.1`),
  "no target": withLine("POST HTTP/1.1"),
  "a target without slash": withLine("POST apis HTTP/1.1"),
  "null bytes": "\0\0\0\0\r\n\r\n",
  "random bytes": Uint8Array.from({ length: 3000 }, (_, index) => (index * 7919) & 255),
  "a TLS record within TLS": Uint8Array.of(0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0),
  "a proxy's first line": `PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n${HONEST}`,
  "an SSH banner": "SSH-2.0-OpenSSH_9.9\r\n",
};

const TOO_LONG: Raws = {
  "a header of 20,000 bytes": withHeader(`X-A: ${"x".repeat(20_000)}`),
  "a header's name of 20,000 bytes": withHeader(`${"x".repeat(20_000)}: a`),
  "10,000 headers": withHeader(Array(10_000).fill("aa: b").join("\r\n")),
  "a target of 20,000 bytes": withLine(`POST ${PATH}?${"x".repeat(20_000)} HTTP/1.1`),
  "trailers of 40,000 bytes": withChunks(
    `${SIZE}\r\n${BODY}\r\n0\r\nX: ${"x".repeat(40_000)}\r\n\r\n`,
  ),
};

const TOO_LARGE: Raws = {
  "a Content-Length over the limit": withLength("65537"),
  "a Content-Length of 2 to the 53rd less one": withLength("9007199254740991"),
  "chunks over the limit": withChunks(`10001\r\n${" ".repeat(0x10001)}\r\n0\r\n\r\n`),
};

const UNAUTHORIZED: Raws = {
  "two Authorizations, the first good":
    `${LINE}${HOST}${AUTH}Authorization: Bearer a.b.c\r\n${LENGTH}${CLOSE}\r\n${BODY}`,
  "two Authorizations, the second good":
    `${LINE}${HOST}Authorization: Bearer a.b.c\r\n${AUTH}${LENGTH}${CLOSE}\r\n${BODY}`,
  "the same Authorization twice": `${LINE}${HOST}${AUTH}${AUTH}${LENGTH}${CLOSE}\r\n${BODY}`,
  "Authorization only after 2,500 headers": `${LINE}${HOST}${
    "a:b\r\n".repeat(2500)
  }${AUTH}${LENGTH}${CLOSE}\r\n${BODY}`,
  "Authorization among the trailers":
    `${LINE}${HOST}${CLOSE}Transfer-Encoding: chunked\r\n\r\n${SIZE}\r\n${BODY}\r\n0\r\n${AUTH}\r\n`,
  "an Authorization of tabs": withAuth("Authorization: \t\t"),
  "an Authorization of 12,000 characters": withAuth(`Authorization: Bearer ${"a".repeat(12_000)}`),
};

const ODD: Raws = {
  "a push": HONEST,
  "chunks": withChunks(CHUNKS),
  "chunks of a byte each": withChunks(
    [...BODY].map((byte) => `1\r\n${byte}\r\n`).join("") + "0\r\n\r\n",
  ),
  "CHUNKED": withCoding("CHUNKED"),
  "a chunk extension": withChunks(`${SIZE};a=b\r\n${BODY}\r\n0\r\n\r\n`),
  "a chunk size with zeros": withChunks(`0000${SIZE}\r\n${BODY}\r\n0\r\n\r\n`),
  "HTTP/1.0": withLine(`POST ${PATH} HTTP/1.0`),
  "an empty Host": `${LINE}Host:\r\n${AUTH}${LENGTH}${CLOSE}\r\n${BODY}`,
  "empty lines before it": `\r\n\r\n${HONEST}`,
  "1,500 headers": withHeader(Array(1500).fill("a:b").join("\r\n")),
  "bytes that are no UTF-8 in a header": Uint8Array.from([
    ...encode(`${LINE}${HOST}${AUTH}${LENGTH}${CLOSE}X-A: `),
    0xff,
    0xfe,
    ...encode(`\r\n\r\n${BODY}`),
  ]),
  "an offer to speak another protocol": withHeader("Upgrade: h2c"),
  "Connection that names Authorization": withHeader("Connection: close, Authorization"),
};

/** Every case by sentence. */
export const RAW_CASES: Readonly<Record<string, RawCase>> = {
  ...all({ codes: [400], reason: "BadRequest" }, DOUBTFUL),
  ...all({ codes: [431], reason: "BadRequest" }, TOO_LONG),
  ...all({ codes: [413], reason: "RequestEntityTooLarge" }, TOO_LARGE),
  ...all({ codes: [401], reason: "Unauthorized" }, UNAUTHORIZED),
  ...all({ codes: [404], reason: "NotFound" }, {
    "an absolute form": withLine(`POST https://localhost${PATH} HTTP/1.1`),
    "an asterisk": withLine("OPTIONS * HTTP/1.1"),
    "a fragment": withLine(`POST ${PATH}#x HTTP/1.1`),
    "a target of 10,000 bytes": withLine(`POST /${"x".repeat(10_000)} HTTP/1.1`),
  }),
  ...all({ codes: [405], reason: "MethodNotAllowed" }, {
    "PUT": withLine(`PUT ${PATH} HTTP/1.1`),
    "TRACE": withLine(`TRACE ${PATH} HTTP/1.1`),
    "CONNECT to a host": `CONNECT x:443 HTTP/1.1\r\n${HOST}\r\n`,
    "CONNECT to the path": withLine(`CONNECT ${PATH} HTTP/1.1`),
  }),
  ...all({ codes: [200], accepted: 1 }, ODD),
  "HEAD, which has no body": { bytes: withLine(`HEAD ${PATH} HTTP/1.1`), codes: [405] },
  "an expectation that is known": {
    bytes: withHeader("Expect: 100-continue"),
    codes: [100, 200],
    accepted: 1,
  },
  "an expectation of a body over the limit": {
    bytes: `${LINE}${HOST}${AUTH}${CLOSE}Expect: 100-continue\r\nContent-Length: 65537\r\n\r\n`,
    codes: [100, 413],
    reason: "RequestEntityTooLarge",
  },
  "an expectation without token": {
    bytes: `${LINE}${HOST}${CLOSE}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n`,
    codes: [100, 401],
    reason: "Unauthorized",
  },
  "an expectation that is unknown": {
    bytes: withHeader("Expect: 200-maybe"),
    codes: [417],
    reason: "BadRequest",
  },
  "twenty pushes at once": {
    bytes: KEPT.repeat(19) + HONEST,
    codes: Array(20).fill(200),
    accepted: 20,
  },
  "a push and null bytes after it": { bytes: `${KEPT}\0\0\0\r\n\r\n`, codes: [200], accepted: 1 },
  "a push within the body of another without token": {
    bytes: `${LINE}${HOST}Content-Length: ${HONEST.length}\r\n${CLOSE}\r\n${HONEST}`,
    codes: [401],
    reason: "Unauthorized",
  },
  "a Content-Length that is too short": {
    bytes: `${LINE}${HOST}${AUTH}Content-Length: 5\r\n\r\n${BODY}`,
    codes: [422],
    reason: "Invalid",
  },
  "a Content-Length that is too long, and the end": {
    bytes: withLength("500"),
    codes: [],
    ends: true,
  },
  "a chunk that is cut off, and the end": {
    bytes: withChunks(`fff\r\n${BODY}`),
    codes: [],
    ends: true,
  },
  "half a header, and the end": { bytes: LINE + HOST, codes: [], ends: true },
  // Cut as an idle connection; on a machine that is kept waiting the time of its header may be over first.
  "nothing but empty lines": { bytes: "\r\n".repeat(2000), codes: [], orElse: [408] },
};
