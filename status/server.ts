/** The status endpoint's socket: TLS, time-outs, connection limits and certificates (decision 11). */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../kube/clock.ts";
import { messageOf } from "../kube/errors.ts";
import { failureStatus, type PushResponse, refusalResponse } from "./answer.ts";
import type { PushRequest } from "./exchange.ts";
import { type ConnectionLimits, createPeerGuard, DEFAULT_CONNECTION_LIMITS } from "./peer_guard.ts";
import { peerKey, type PushHandler } from "./push_handler.ts";
import { discardRest, readBounded } from "./request_body.ts";

/** Certificate chain and key, as PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

/** How long clients may take, in milliseconds. */
export interface ServingTimeouts {
  /** From the connection to the end of the first header. Default 10 s. */
  readonly headerMs: number;
  /** From the first byte of a request to its last. Default 15 s. */
  readonly requestMs: number;
  /** Between two requests of a connection. Default 75 s. */
  readonly idleMs: number;
  /** How often header and request times are checked. Default 1 s. */
  readonly checkEveryMs: number;
}

/** What is used where nothing else is asked for. */
export const DEFAULT_TIMEOUTS: ServingTimeouts = {
  headerMs: 10_000,
  requestMs: 15_000,
  idleMs: 75_000,
  checkEveryMs: 1000,
};

/** Options of {@link startStatusServer}. */
export interface StatusServerOptions {
  /** 0 stands for a free one. */
  readonly port: number;
  /** Address to listen on. Default: all. */
  readonly hostname?: string;
  readonly tls: ServingCertificate;
  readonly handle: PushHandler;
  readonly clock: Clock;
  readonly timeouts?: Partial<ServingTimeouts>;
  readonly connections?: Partial<ConnectionLimits>;
}

/** A running endpoint. */
export interface StatusServer {
  readonly port: number;
  /** New connections get this certificate; those that are open stay. */
  updateCertificate(tls: ServingCertificate): void;
  /** Connections that are open now. */
  connections(): number;
  /**
   * Takes no new connections, refuses new pushes with 503, lets those in hand finish for at most
   * `drainMs`, then closes everything.
   */
  close(drainMs: number): Promise<void>;
}

/** Header bytes that a request may have; the token is the most of them. */
const MAX_HEADER_BYTES = 16_384;

function requestOf(message: IncomingMessage): PushRequest {
  return {
    method: message.method ?? "",
    url: message.url ?? "",
    peer: message.socket.remoteAddress ?? "",
    header(name) {
      const value = message.headers[name];
      return typeof value === "string" ? value : value?.[0];
    },
    readBody: (maxBytes) => readBounded(message, maxBytes),
  };
}

function send(response: ServerResponse, answer: PushResponse, closing: boolean): void {
  if (response.destroyed || response.writableEnded) return;
  const length = new TextEncoder().encode(answer.body).length;
  const connection = closing ? { "Connection": "close" } : {};
  response.writeHead(answer.status, {
    ...answer.headers,
    "Content-Length": String(length),
    ...connection,
  });
  response.end(answer.body);
}

/** Answers what is not HTTP, or comes too slowly, in the shape of every other error. */
function refuseRaw(error: Error & { code?: string }, socket: Duplex): void {
  if (socket.destroyed || !socket.writable) return void socket.destroy();
  const [line, reason, message] = error.code === "HPE_HEADER_OVERFLOW"
    ? ["431 Request Header Fields Too Large", "BadRequest", "the headers are too long"]
    : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? ["408 Request Timeout", "Timeout", "the request came too slowly"]
    : ["400 Bad Request", "BadRequest", "this is not a request that HTTP allows"];
  const body = failureStatus({ code: Number(line.slice(0, 3)), reason, message });
  socket.end(
    `HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

function listen(server: Server, port: number, hostname: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: hostname }, () => {
      server.off("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** Keeps count of connections, and closes those that send no request in time. */
function guardConnections(
  server: Server,
  options: { clock: Clock; limits: ConnectionLimits; headerMs: number },
): { open: () => number; closeAll: () => void } {
  const { clock, limits, headerMs } = options;
  const guard = createPeerGuard(limits);
  const sockets = new Set<Socket>();
  /** Connections that have not sent a request yet, by address and port of the peer. */
  const silent = new Map<string, AbortController>();
  const idOf = (socket: Socket) => `${socket.remoteAddress} ${socket.remotePort}`;

  server.on("connection", (socket: Socket) => {
    const peer = peerKey(socket.remoteAddress ?? "");
    if (!guard.admit(peer, clock.monotonic())) return void socket.destroy();
    const id = idOf(socket);
    const heard = new AbortController();
    silent.set(id, heard);
    sockets.add(socket);
    socket.once("close", () => {
      guard.release(peer);
      sockets.delete(socket);
      heard.abort();
      silent.delete(id);
    });
    clock.sleep(headerMs, heard.signal).then(() => {
      if (!heard.signal.aborted) socket.destroy();
    });
  });
  server.on("request", (message: IncomingMessage) => silent.get(idOf(message.socket))?.abort());
  return {
    open: guard.open,
    closeAll: () => sockets.forEach((socket) => socket.destroy()),
  };
}

/** Starts the endpoint. Throws where the port cannot be had, or the certificate cannot be used. */
export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  const { handle, clock, tls } = options;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const log = getLogger(["milepost", "status"]);
  let closing = false;

  async function answerTo(message: IncomingMessage): Promise<PushResponse> {
    if (!closing) return await handle(requestOf(message));
    return refusalResponse({ why: "unavailable", reason: "shutting down", retryAfterMs: 1000 });
  }

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    // Who reads the body hears of its errors; without this one they would end the process.
    message.on("error", () => {});
    const answer = await answerTo(message).catch((error: unknown) => {
      log.error("a request could not be answered", { problem: messageOf(error) });
      return refusalResponse({ why: "internal" });
    });
    send(response, answer, closing);
    await discardRest(message, clock);
  }

  const server = createServer({
    cert: tls.cert,
    key: tls.key,
    minVersion: "TLSv1.2",
    handshakeTimeout: timeouts.headerMs,
    headersTimeout: timeouts.headerMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.idleMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const connections = guardConnections(server, {
    clock,
    limits: { ...DEFAULT_CONNECTION_LIMITS, ...options.connections },
    headerMs: timeouts.headerMs,
  });
  server.on("request", (message, response) => void serve(message, response));
  server.on("clientError", refuseRaw);
  const port = await listen(server, options.port, options.hostname);

  return {
    port,
    updateCertificate: ({ cert, key }) => server.setSecureContext({ cert, key }),
    connections: connections.open,
    async close(drainMs) {
      closing = true;
      const closed = new AbortController();
      const done = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const cut = clock.sleep(drainMs, closed.signal).then(() => {
        if (closed.signal.aborted) return;
        server.closeAllConnections();
        connections.closeAll();
      });
      await done;
      closed.abort();
      await cut;
    },
  };
}
