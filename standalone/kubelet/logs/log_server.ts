/** The kubelet's HTTPS endpoint for logs, from which the API server reads the logs of pods. */
import { getLogger } from "@logtape/logtape";
import {
  connectionsInAll,
  DEFAULT_SERVER_LIMITS,
  type ServerLimits,
} from "../../../platform/http/limits/server_limits.ts";
import type { HttpRequest, HttpResponse, ResponseSink } from "../../../platform/http/message.ts";
import { type Server, type ServerOptions, startServer } from "../../../platform/http/server.ts";
import { assertUsable, type TlsIdentity } from "../../../platform/http/tls.ts";
import { ConfigurationError, messageOf } from "../../../platform/kube/errors.ts";
import type { CheckAccess, Proof } from "./log_access.ts";
import { LogProblem } from "./log_keys.ts";
import { type LogRequest, readLogRequest } from "./log_request.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Options of {@link startLogServer}. */
export interface LogServerOptions extends Pick<ServerOptions, "port" | "clock"> {
  /** Address to listen on. */
  readonly hostname: string;
  /** Its `ca` has signed the client certificates that are believed; without it only tokens are. */
  readonly tls: TlsIdentity;
  readonly checkAccess: CheckAccess;
  /** Returns the log. Throws a {@link LogProblem} if there is none. */
  readonly readLogs: (request: LogRequest) => ReadableStream<Uint8Array>;
}

/** Limits of the server. */
const LIMITS: ServerLimits = {
  ...DEFAULT_SERVER_LIMITS,
  idleMs: 60_000,
  connections: connectionsInAll(500),
};

/** Returns what a request proves its caller by: certificates count before tokens. */
function proofOf(request: HttpRequest): Proof {
  const { clientCertificate } = request;
  const [name] = clientCertificate?.commonNames ?? [];
  const token = /^Bearer ([\w.~+/=-]+)$/i.exec(request.header("authorization") ?? "")?.[1];
  return {
    ...name !== undefined && {
      certificate: { username: name, groups: clientCertificate?.organizations ?? [] },
    },
    ...token && { token },
  };
}

function refusal(code: number, message: string): HttpResponse {
  const headers = {
    "Content-Type": "text/plain; charset=utf-8",
    ...code === 405 && { "Allow": "GET" },
    ...code === 401 && { "WWW-Authenticate": "Bearer" },
  };
  return { status: code, headers, body: `${message}\n` };
}

/** Hands the log on as it comes. Throws if the reader goes, or the server closes, before its end. */
function copy(log: ReadableStream<Uint8Array>, sink: ResponseSink): Promise<void> {
  const writable = new WritableStream<Uint8Array>({ write: (part) => sink.write(part) });
  return log.pipeTo(writable, { signal: sink.signal });
}

async function respond(options: LogServerOptions, request: HttpRequest): Promise<HttpResponse> {
  const access = await options.checkAccess(proofOf(request));
  if (!access.ok) return refusal(access.code, access.message);
  const asked = readLogRequest(request.method, request.url);
  if ("code" in asked) return refusal(asked.code, asked.message);
  try {
    const log = options.readLogs(asked);
    const headers = { "Content-Type": "text/plain" };
    return { status: 200, headers, body: "", stream: (sink) => copy(log, sink) };
  } catch (error) {
    if (!(error instanceof LogProblem)) throw error;
    return refusal(error.code, error.message);
  }
}

/** Serves logs. Throws a ConfigurationError for a port or a certificate that cannot be used. */
export async function startLogServer(options: LogServerOptions): Promise<Server> {
  const { hostname, port, tls, clock } = options;
  try {
    assertUsable(tls);
  } catch (cause) {
    const message = `the certificates of the log endpoint cannot be used: ${messageOf(cause)}`;
    throw new ConfigurationError(message, { cause });
  }
  return await startServer({
    name: "logs",
    hostname,
    port,
    portSetting: "--port",
    // A client without a certificate, or with one of another CA, may still have a token.
    tls: { ...tls, ...tls.ca !== undefined && { clientCertificates: "optional" } },
    limits: LIMITS,
    clock,
    handle: (request) =>
      respond(options, request).catch((error: unknown) => {
        logger.warn("A log could not be served", { error: messageOf(error) });
        return refusal(500, "the log could not be read; the kubelet's own log says why");
      }),
  });
}
