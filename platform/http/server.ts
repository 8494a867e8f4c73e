/** HTTP server with limits on connections, times and sizes, over TLS or plain. */
import { Buffer } from "node:buffer";
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, type Server as HttpsServer } from "node:https";
import type { Duplex } from "node:stream";
import type { SecureVersion, TLSSocket } from "node:tls";
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../kube/errors.ts";
import { type ConnectionOptions, guardConnections } from "./connections.ts";
import { createReceivedGarbage } from "./garbage.ts";
import { createHeldBodies } from "./held_bodies.ts";
import { createFairShare, type FairShare } from "./limits/fair_share.ts";
import { divideShare } from "./limits/reserved_places.ts";
import { closeWithin, listen, type ListenAddress } from "./listening.ts";
import { problemOf, refuseFault, refuseRaw, tooSlow } from "./malformed_requests.ts";
import {
  ClientGoneError,
  type HttpHandler,
  type HttpResponse,
  OverloadedError,
} from "./message.ts";
import {
  badRequest,
  failureOf,
  failureResponse,
  INTERNAL_ERROR,
  overloadedResponse,
  retryAfter,
  unavailable,
  WRONG_METHOD,
} from "./refusals.ts";
import { createDiscardRest } from "./request_body.ts";
import { clientCertificateOf, ServerRequest } from "./server_request.ts";
import { type StreamedResponse, streamResponse } from "./streamed_response.ts";
import type { ClientCertificate, TlsIdentity } from "./tls.ts";

/** TLS of a server. */
export interface ServerTls extends TlsIdentity {
  /** Whether clients show certificates of the identity's CAs. Default: the server asks for none. */
  readonly clientCertificates?: "optional" | "required";
  /** Default: TLSv1.2. */
  readonly minVersion?: SecureVersion;
}

/** Options of {@link startServer}. */
export interface ServerOptions extends ListenAddress, Omit<ConnectionOptions, "onCheck"> {
  /** Name of the server in lines of log. */
  readonly name: string;
  /** Absent: plain HTTP. */
  readonly tls?: ServerTls | undefined;
  readonly handle: HttpHandler;
  /** Budget of the bytes of bodies, which servers may share. Default: one of this server's own. */
  readonly bodyBudget?: FairShare;
  /** Returns whether a client may go on after its handshake. Default: every client may. */
  readonly admitsClient?: (client: ClientCertificate | undefined, peer: string) => boolean;
  /** Whether requests that come while the server closes get 503. Default: they are handled. */
  readonly refusesWhileClosing?: boolean;
}

/** A running server. */
export type Server = Awaited<ReturnType<typeof startServer>>;

/** Bytes of bodies that are read, or in use, unless a budget is given. */
const BODY_BYTES = 67_108_864;
const UNEXPECTED = failureResponse(
  failureOf(417, "BadRequest")("only Expect: 100-continue is supported"),
);
const SHUTTING_DOWN = failureResponse(unavailable("shutting down"), { headers: retryAfter(1000) });

function send(response: ServerResponse, answer: HttpResponse, closing: boolean): void {
  if (response.destroyed || response.writableEnded) return;
  const length = String(Buffer.byteLength(answer.body));
  const headers: Record<string, string> = { ...answer.headers, "Content-Length": length };
  if (closing) headers["Connection"] = "close";
  response.writeHead(answer.status, headers);
  response.end(answer.body);
}

/** A body's errors are its reader's; without a listener they would end the process. */
function ignore(): void {}

const contextOf = ({ cert, key, ca }: TlsIdentity, minVersion: SecureVersion = "TLSv1.2") => ({
  cert,
  key,
  ...(ca !== undefined && { ca }),
  minVersion,
});

/** Creates the runtime's server with the time-outs that the runtime itself keeps. */
function createRuntimeServer(
  { tls, limits }: Pick<ServerOptions, "tls" | "limits">,
): HttpServer | HttpsServer {
  const bounds = {
    headersTimeout: limits.headerMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    maxHeaderSize: limits.headerBytes,
    // Requests without that header are refused by `problemOf()`, with a Status as all others.
    requireHostHeader: false,
  };
  if (tls === undefined) return createPlainServer(bounds);
  return createTlsServer({
    ...bounds,
    ...contextOf(tls, tls.minVersion),
    handshakeTimeout: limits.headerMs,
    requestCert: tls.clientCertificates !== undefined,
    rejectUnauthorized: tls.clientCertificates === "required",
  });
}

/**
 * Starts a server. Throws a {@link ConfigurationError} if its port is taken, and an error if its
 * certificate cannot be used.
 */
export async function startServer(options: ServerOptions) {
  const { name, handle, clock, limits, tls, refuses, reserved, admitsClient } = options;
  const log = getLogger(["milepost", "http"]).with({ server: name });
  const closing = new AbortController();
  const server = createRuntimeServer(options);
  const { bodyBudget = createFairShare(BODY_BYTES) } = options;
  const budget = divideShare(bodyBudget, reserved, ({ bodyBytes }) => bodyBytes);
  const onReceive = createReceivedGarbage();
  const bodies = createHeldBodies({
    budget,
    rate: limits.body,
    read: (message) => connections.read(message),
    onReceive,
  });
  const discardRest = createDiscardRest(clock, onReceive);
  const requestServer = { closing: closing.signal, bodies, clock };
  const connections = guardConnections(server, {
    clock,
    limits,
    refuses,
    reserved,
    onCheck: (nowMs) => {
      for (const { socket } of bodies.check(nowMs)) server.emit("clientError", tooSlow(), socket);
    },
  });

  async function responseTo(request: ServerRequest): Promise<HttpResponse> {
    if (options.refusesWhileClosing && closing.signal.aborted) return SHUTTING_DOWN;
    try {
      return await handle(request);
    } catch (error) {
      if (error instanceof OverloadedError) return overloadedResponse(error);
      const level = error instanceof ClientGoneError ? "debug" : "error";
      log[level]("a request could not be answered", { path: request.url.split("?")[0], error });
      return failureResponse(INTERNAL_ERROR);
    }
  }

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    message.on("error", ignore);
    // The connection was closed meanwhile, because of too many requests on it.
    if (message.socket.destroyed) return;
    const problem = problemOf(message);
    const read = () => connections.read(message);
    if (problem !== undefined) {
      send(response, failureResponse(badRequest(problem)), true);
      return await discardRest(message, read);
    }
    const request = new ServerRequest(message, response, requestServer);
    const answer = await responseTo(request);
    request.release();
    const { stream } = answer;
    const closes = closing.signal.aborted || !connections.mayStay(message.socket);
    if (stream === undefined) send(response, answer, closes);
    else await serveStream(response, { ...answer, write: stream });
    if (message.complete) return;
    await discardRest(message, read);
    if (!connections.mayStay(message.socket)) message.socket.destroy();
  }

  async function serveStream(response: ServerResponse, answer: StreamedResponse): Promise<void> {
    const means = { clock, closing: closing.signal };
    await streamResponse(response, answer, means).catch((error: unknown) => {
      log.error("a response stream failed", { problem: messageOf(error) });
    });
  }

  server.on("request", (message, response) => void serve(message, response));
  server.on("checkExpectation", (_message: IncomingMessage, response: ServerResponse) => {
    send(response, UNEXPECTED, true);
  });
  server.on("connect", (_message: IncomingMessage, socket: Duplex) => {
    refuseRaw(socket, failureResponse(WRONG_METHOD, { headers: { "Allow": "GET, POST" } }));
  });
  server.on("clientError", (error: Error, socket: Duplex) => {
    if (!connections.broken(socket)) refuseFault(socket, error);
  });
  // The runtime emits "clientError" for it too. The response to that must not be sent: a handshake that
  // ends late would deliver it as the response to a valid request.
  server.prependListener("tlsClientError", (error: Error, socket: Duplex) => {
    log.debug("a TLS handshake failed", { problem: messageOf(error) });
    socket.destroy();
  });
  if (admitsClient !== undefined) {
    server.on("secureConnection", (socket: TLSSocket) => {
      const peer = socket.remoteAddress ?? "";
      if (!admitsClient(clientCertificateOf(socket), peer)) socket.destroy();
    });
  }
  const port = await listen(server, options);
  server.on("error", (error: Error) => {
    log.error("the listener failed", { problem: messageOf(error) });
  });

  return {
    port,
    /** Serves new connections with this identity; open connections stay. Plain servers ignore it. */
    updateTls(identity: TlsIdentity): void {
      if ("setSecureContext" in server) {
        server.setSecureContext(contextOf(identity, tls?.minVersion));
      }
    },
    /** Returns the number of connections that are open now. */
    connections: connections.open,
    /**
     * Takes no new connections, ends streams, lets what is in hand finish for at most `drainMs`, then
     * closes everything.
     */
    async close(drainMs: number): Promise<void> {
      closing.abort();
      const cutRest = () => connections.closeAll();
      await closeWithin(server, { clock, drainMs, cutRest });
      connections.stop();
    },
  };
}
