/**
 * HTTPS for the API server's webhooks, on the runtime's `node:https` (design, decision 11): bounds on
 * header, request and idle time and on connections, and a certificate that swaps without a restart.
 */
import { getLogger } from "@logtape/logtape";
import { createServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Clock, systemClock } from "../kube/clock.ts";
import { ConfigurationError, messageOf } from "../kube/errors.ts";
import {
  ADMISSION_LIMITS,
  type AdmissionHandlers,
  type AdmissionLimits,
  createAdmissionHttp,
  type HttpAnswer,
} from "./admission_http.ts";

const log = getLogger(["milepost", "webhook"]);

/** A certificate with its key, both PEM. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

/** Bounds of connections; times in milliseconds. */
export interface ConnectionLimits {
  /** For the TLS handshake, and for the whole head of a request. */
  readonly headersMs: number;
  /** For a whole request, body included. */
  readonly requestMs: number;
  /** Between two requests on one connection. */
  readonly idleMs: number;
  /** Connections at a time; more are closed at once. */
  readonly connections: number;
  /** How often the first two are checked. */
  readonly checkMs: number;
}

/** The API server keeps its connections: longer than its own idle time of 90 s. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  headersMs: 5_000,
  requestMs: 15_000,
  idleMs: 120_000,
  connections: 1_000,
  checkMs: 1_000,
};

/** How to serve. */
export interface AdmissionServerOptions {
  /** 0 takes a free port. */
  readonly port: number;
  /** Address to listen on; every one where absent. */
  readonly hostname?: string;
  /** The serving certificate now. */
  readonly tls: () => TlsIdentity;
  readonly handlers: AdmissionHandlers;
  readonly limits?: Partial<AdmissionLimits & ConnectionLimits>;
  readonly clock?: Clock;
}

/** A server that runs. */
export interface AdmissionServer {
  readonly port: number;
  /** Takes `tls()` again: new connections get the new certificate, open ones go on. */
  updateCertificate(): void;
  /** Refuses new connections, lets requests in hand finish for `graceMs`, then closes all. */
  close(graceMs?: number): Promise<void>;
}

/** Time that requests in hand get at the end, in milliseconds. */
const CLOSE_GRACE_MS = 2_000;

function headersOf(message: IncomingMessage): Record<string, string | undefined> {
  const entries = Object.entries(message.headers);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : value]),
  );
}

function send(response: ServerResponse, answer: HttpAnswer): void {
  if (response.destroyed) return;
  const length = String(new TextEncoder().encode(answer.body).byteLength);
  response.writeHead(answer.status, { ...answer.headers, "content-length": length });
  response.end(answer.body);
}

function listen(server: Server, port: number, hostname: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: Error) => {
      const at = `${hostname ?? "*"}:${port}`;
      reject(
        new ConfigurationError(`cannot listen on ${at}: ${messageOf(error)}`, {
          cause: error,
        }),
      );
    };
    server.once("error", refuse);
    server.listen({ port, host: hostname }, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}

function portOf(address: AddressInfo | string | null, asked: number): number {
  return address !== null && typeof address === "object" ? address.port : asked;
}

/** The connections that are open, those included that have not begun TLS. */
function followConnections(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

/**
 * Requests of a connection that may wait for their answers. The API server sends one after the other;
 * whoever sends many and reads no answer makes the runtime keep, without bound, what comes.
 */
const MAX_UNANSWERED = 64;

function cutThoseThatDoNotRead(server: Server): void {
  const waiting = new WeakMap<Socket, number>();
  const add = (socket: Socket, count: number) => {
    const sum = (waiting.get(socket) ?? 0) + count;
    waiting.set(socket, sum);
    return sum;
  };
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (add(socket, 1) > MAX_UNANSWERED) socket.destroy();
    response.once("close", () => add(socket, -1));
  });
}

function closeServer(
  server: Server,
  sockets: ReadonlySet<Socket>,
  clock: Clock,
  graceMs: number,
): Promise<void> {
  const closed = new AbortController();
  const done = new Promise<void>((resolve) =>
    server.close(() => {
      closed.abort();
      resolve();
    })
  );
  server.closeIdleConnections();
  const forced = clock.sleep(graceMs, closed.signal).then(() => {
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
  });
  return Promise.all([done, forced]).then(() => undefined);
}

/**
 * Serves admission requests until `close`.
 *
 * @throws ConfigurationError where the port cannot be had
 */
export async function startAdmissionServer(
  options: AdmissionServerOptions,
): Promise<AdmissionServer> {
  const clock = options.clock ?? systemClock;
  const limits = { ...ADMISSION_LIMITS, ...CONNECTION_LIMITS, ...options.limits };
  const handle = createAdmissionHttp(options.handlers, clock, limits);
  const server = createServer({
    ...options.tls(),
    minVersion: "TLSv1.2",
    handshakeTimeout: limits.headersMs,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.checkMs,
  }, (message, response) => {
    const { method = "", url = "" } = message;
    handle({ method, url, headers: headersOf(message), body: message })
      .then((answer) => send(response, answer))
      .catch((error) => log.warn("answer could not be sent", { error }));
  });
  server.maxConnections = limits.connections;
  cutThoseThatDoNotRead(server);
  const sockets = followConnections(server);
  server.on("tlsClientError", (error) => log.debug("TLS handshake failed", { error }));
  server.on("clientError", (_error, socket) => socket.destroy());
  await listen(server, options.port, options.hostname);
  server.on("error", (error) => log.error("webhook listener failed", { error }));
  return {
    port: portOf(server.address(), options.port),
    updateCertificate: () => server.setSecureContext({ ...options.tls(), minVersion: "TLSv1.2" }),
    close: (graceMs = CLOSE_GRACE_MS) => closeServer(server, sockets, clock, graceMs),
  };
}
