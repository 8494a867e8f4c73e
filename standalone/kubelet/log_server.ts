/** The kubelet's log endpoint: what the API server asks when somebody reads a pod's log. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { TLSSocket } from "node:tls";
import { getLogger } from "@logtape/logtape";
import { ConfigurationError, messageOf } from "../../kube/errors.ts";
import type { Caller, CheckAccess, Proof } from "./log_access.ts";
import { LogProblem } from "./log_keys.ts";
import type { LogRequest } from "./log_request.ts";
import { readLogRequest } from "./log_request.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Options of {@link startLogServer}. */
export interface LogServerOptions {
  /** Address to listen on. */
  readonly hostname: string;
  /** 0: one that is free. */
  readonly port: number;
  /** Certificate chain and key, PEM. */
  readonly tls: { readonly cert: string; readonly key: string };
  /** PEM of the CA whose client certificates are believed; without it only tokens are. */
  readonly clientCa?: string;
  readonly checkAccess: CheckAccess;
  /** The log. Throws a {@link LogProblem} where there is none. */
  readonly readLogs: (request: LogRequest) => ReadableStream<Uint8Array>;
}

/** A log endpoint that serves. */
export interface LogServer {
  readonly port: number;
  /** Ends every stream. Safe to call again. */
  close(): Promise<void>;
}

/** For those who do not speak, and for all together. */
const LIMITS = { headerMs: 10_000, requestMs: 15_000, idleMs: 60_000, connections: 500 } as const;

function list(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}

/** The user of a verified client certificate: its common name; organizations are groups. */
function certificateOf(message: IncomingMessage): Caller | undefined {
  const { socket } = message;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  const [name] = list(subject?.CN);
  return name === undefined ? undefined : { name, groups: list(subject.O) };
}

function proofOf(message: IncomingMessage): Proof {
  const certificate = certificateOf(message);
  const token = /^Bearer ([\w.~+/=-]+)$/i.exec(message.headers.authorization ?? "")?.[1];
  return { ...certificate ? { certificate } : {}, ...token ? { token } : {} };
}

function refuse(response: ServerResponse, code: number, message: string): void {
  if (response.destroyed || response.headersSent) return void response.destroy();
  const allow = code === 405 ? { allow: "GET" } : {};
  const ask = code === 401 ? { "www-authenticate": "Bearer" } : {};
  response.writeHead(code, { "content-type": "text/plain; charset=utf-8", ...allow, ...ask });
  response.end(`${message}\n`);
}

/** Resolves when the response takes more, or takes nothing any more. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
    if (response.destroyed) done();
  });
}

/** Hands the log on as it comes; ends it when the reader goes. */
async function send(response: ServerResponse, log: ReadableStream<Uint8Array>): Promise<void> {
  response.writeHead(200, { "content-type": "text/plain" });
  response.flushHeaders();
  const reader = log.getReader();
  const gone = () =>
    void reader.cancel().catch((error) => logger.debug("A log's reader cannot end", { error }));
  response.once("close", gone);
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (response.destroyed) break;
      if (!response.write(part.value)) await drained(response);
    }
  } finally {
    response.off("close", gone);
    await reader.cancel();
    response.end();
  }
}

async function answer(
  options: LogServerOptions,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const access = await options.checkAccess(proofOf(message));
  if (!access.ok) return refuse(response, access.code, access.message);
  const request = readLogRequest(message.method ?? "", message.url ?? "");
  if ("code" in request) return refuse(response, request.code, request.message);
  try {
    await send(response, options.readLogs(request));
  } catch (error) {
    if (!(error instanceof LogProblem)) throw error;
    refuse(response, error.code, error.message);
  }
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: Error & { code?: string }) => {
      const why = cause.code === "EADDRINUSE" ? "it is in use; choose another port" : cause.message;
      reject(new ConfigurationError(`cannot serve logs on ${host}:${port}: ${why}`, { cause }));
    });
    server.listen({ port, host }, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** Throws a ConfigurationError for what is no certificate, no key, or not the certificate's key. */
function checkCertificates({ tls, clientCa }: LogServerOptions): void {
  try {
    const fits = new X509Certificate(tls.cert).checkPrivateKey(createPrivateKey(tls.key));
    if (!fits) throw new Error("the key is not the certificate's");
    if (clientCa !== undefined) new X509Certificate(clientCa);
  } catch (cause) {
    const message = `the certificates of the log endpoint cannot be used: ${messageOf(cause)}`;
    throw new ConfigurationError(message, { cause });
  }
}

function createTlsServer({ tls, clientCa }: LogServerOptions): Server {
  return createServer({
    ...tls,
    ...clientCa === undefined ? {} : { ca: clientCa, requestCert: true },
    // Whoever shows no certificate, or one of another CA, may still have a token.
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    handshakeTimeout: LIMITS.headerMs,
    headersTimeout: LIMITS.headerMs,
    requestTimeout: LIMITS.requestMs,
    keepAliveTimeout: LIMITS.idleMs,
  });
}

/** Serves. Throws a ConfigurationError for a port or a certificate that cannot be used. */
export async function startLogServer(options: LogServerOptions): Promise<LogServer> {
  checkCertificates(options);
  const server = createTlsServer(options);
  server.maxConnections = LIMITS.connections;
  server.on("request", (message: IncomingMessage, response: ServerResponse) => {
    answer(options, message, response).catch((error: unknown) => {
      logger.warn("A log could not be served", { error: messageOf(error) });
      refuse(response, 500, "the log could not be read; the kubelet's own log says why");
    });
  });
  const port = await listen(server, options.port, options.hostname);
  let closed: Promise<void> | undefined;
  return {
    port,
    close: () =>
      closed ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
