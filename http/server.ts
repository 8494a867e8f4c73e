/** The status endpoint's socket: TLS, time-outs, connection limits and certificates (decision 11). */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Duplex } from "node:stream";
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../kube/clock.ts";
import { messageOf } from "../kube/errors.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "./message.ts";
import { guardConnections } from "./connections.ts";
import { doubtOf, refuseFault, refuseRaw, valuesOf } from "./malformed_requests.ts";
import { closeWithin, listen } from "./listening.ts";
import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "./limits/peer_guard.ts";
import {
  failureResponse,
  INTERNAL_ERROR,
  retryAfter,
  unavailable,
  WRONG_METHOD,
} from "./refusals.ts";
import { discardRest, readBounded } from "./request_body.ts";
import { streamAnswer, type StreamedAnswer } from "./streamed_response.ts";

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
  readonly handle: HttpHandler;
  readonly clock: Clock;
  readonly timeouts?: Partial<ServingTimeouts>;
  readonly connections?: Partial<ConnectionLimits>;
  /** Whether a peer's new connections are closed before they cost a handshake. Default: none. */
  readonly refuses?: (peer: string, nowMs: number) => boolean;
}

/** A running endpoint. */
export interface StatusServer {
  readonly port: number;
  /** New connections get this certificate; those that are open stay. */
  updateCertificate(tls: ServingCertificate): void;
  /** Connections that are open now. */
  connections(): number;
  /**
   * Takes no new connections, refuses new pushes with 503, ends streams, lets what is in hand finish
   * for at most `drainMs`, then closes everything.
   */
  close(drainMs: number): Promise<void>;
}

/** Header bytes that a request may have; the token is the most of them. */
const MAX_HEADER_BYTES = 16_384;

const SHUTTING_DOWN = failureResponse(unavailable("shutting down"), { headers: retryAfter(1000) });

const badRequest = (code: number, message: string) =>
  failureResponse({ code, reason: "BadRequest", message });

function requestOf(message: IncomingMessage): HttpRequest {
  return {
    method: message.method ?? "",
    url: message.url ?? "",
    peer: message.socket.remoteAddress ?? "",
    connection: message.socket,
    header(name) {
      // The runtime keeps the first of two; whoever sends two may mean the other.
      if (name === "authorization") {
        const sent = valuesOf(message.rawHeaders, name);
        return sent?.length === 1 ? sent[0] : sent?.join(", ");
      }
      const value = message.headers[name];
      return typeof value === "string" ? value : value?.[0];
    },
    readBody: (maxBytes) => readBounded(message, maxBytes),
  };
}

function send(response: ServerResponse, answer: HttpResponse, closing: boolean): void {
  if (response.destroyed || response.writableEnded) return;
  const length = String(Buffer.byteLength(answer.body));
  const headers: Record<string, string> = { ...answer.headers, "Content-Length": length };
  if (closing) headers["Connection"] = "close";
  response.writeHead(answer.status, headers);
  response.end(answer.body);
}

/** Who reads a body hears of its errors; without a listener they would end the process. */
function ignore(): void {}

/** Starts the endpoint. Throws where the port cannot be had, or the certificate cannot be used. */
export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  const { handle, clock, tls } = options;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const log = getLogger(["milepost", "http"]);
  const closing = new AbortController();

  async function answerTo(message: IncomingMessage): Promise<HttpResponse> {
    if (closing.signal.aborted) {
      return SHUTTING_DOWN;
    }
    try {
      return await handle(requestOf(message));
    } catch (error) {
      log.error("a request could not be answered", { problem: messageOf(error) });
      return failureResponse(INTERNAL_ERROR);
    }
  }

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    message.on("error", ignore);
    // Closed meanwhile: others that came with this one were too many.
    if (message.socket.destroyed) return;
    const doubt = doubtOf(message);
    if (doubt !== undefined) {
      send(response, badRequest(400, doubt), true);
      return await discardRest(message, clock);
    }
    const answer = await answerTo(message);
    const { status, headers, stream } = answer;
    if (stream === undefined) send(response, answer, closing.signal.aborted);
    else await serveStream(response, { status, headers, write: stream });
    if (!message.complete) await discardRest(message, clock);
  }

  async function serveStream(response: ServerResponse, answer: StreamedAnswer): Promise<void> {
    const means = { clock, closing: closing.signal };
    await streamAnswer(response, answer, means).catch((error: unknown) => {
      log.error("a stream broke off", { problem: messageOf(error) });
    });
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
    // It is asked for here, and its absence answered as everything else is.
    requireHostHeader: false,
  });
  const connections = guardConnections(server, {
    clock,
    limits: { ...DEFAULT_CONNECTION_LIMITS, ...options.connections },
    refuses: options.refuses,
    ...timeouts,
  });
  server.on("request", (message, response) => void serve(message, response));
  server.on("checkExpectation", (_message: IncomingMessage, response: ServerResponse) => {
    send(response, badRequest(417, "of expectations 100-continue is taken"), true);
  });
  server.on("connect", (_message: IncomingMessage, socket: Duplex) => {
    const refused = failureResponse(WRONG_METHOD, { headers: { "Allow": "GET, POST" } });
    refuseRaw(socket, refused, "Method Not Allowed");
  });
  server.on("clientError", (error: Error, socket: Duplex) => {
    if (!connections.broken(socket)) refuseFault(socket, error);
  });
  const port = await listen(server, options.port, options.hostname);

  return {
    port,
    updateCertificate: ({ cert, key }) => server.setSecureContext({ cert, key }),
    connections: connections.open,
    async close(drainMs) {
      closing.abort();
      const cutRest = () => connections.closeAll();
      await closeWithin(server, { clock, drainMs, cutRest });
      await connections.stop();
    },
  };
}
