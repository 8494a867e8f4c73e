/** HTTPS listener for calls of other replicas, which show a certificate of our CA. */
import { getLogger } from "@logtape/logtape";
import {
  connectionLimits,
  DEFAULT_SERVER_LIMITS,
  type ServerLimits,
} from "../limits/server_limits.ts";
import { okResponse } from "../json_responses.ts";
import type { HttpRequest, HttpResponse } from "../message.ts";
import { type Server, type ServerOptions, startServer } from "../server.ts";
import type { ReplicaTls } from "./calls.ts";

/** A call that is answered. */
export interface AnsweredCall {
  /** Bytes that the call may have. */
  readonly maxBytes: number;
  /** Returns the answer; undefined if the call is not understood. */
  readonly answer: (bytes: Uint8Array, signal: AbortSignal) => Promise<object | undefined>;
}

/** Options of {@link startReplicaListener}. */
export interface ReplicaListenerOptions extends Pick<ServerOptions, "port" | "hostname" | "clock"> {
  /** Its serving certificate, and the CAs of other replicas' certificates. */
  readonly tls: ReplicaTls;
  /** DNS name that the certificate of a replica carries. */
  readonly clientName: string;
  /** Calls by path. */
  readonly calls: Readonly<Record<string, AnsweredCall>>;
}

/** Limits of the listener: its clients are a few replicas, with some forty connections each. */
const LIMITS: ServerLimits = {
  ...DEFAULT_SERVER_LIMITS,
  headerMs: 5_000,
  requestMs: 10_000,
  idleMs: 30_000,
  connections: connectionLimits(512, 96),
};
const NEVER = new AbortController().signal;

const json = (status: number, content: unknown): HttpResponse => ({
  ...okResponse(content),
  status,
});

/** Starts the listener. Throws a ConfigurationError if its port is taken. */
export function startReplicaListener(options: ReplicaListenerOptions): Promise<Server> {
  const { clientName, calls, tls } = options;
  const log = getLogger(["milepost", "http"]);

  async function respond(request: HttpRequest): Promise<HttpResponse> {
    const call = request.method === "POST" ? calls[request.url] : undefined;
    if (call === undefined) {
      return json(404, { reason: `POST ${Object.keys(calls).join(" or ")}` });
    }
    const signal = request.signal?.() ?? NEVER;
    const bytes = await request.readBody(call.maxBytes);
    const answer = bytes && await call.answer(bytes, signal);
    return answer === undefined
      ? json(400, { reason: "this is no forwarded call" })
      : okResponse(answer);
  }

  return startServer({
    name: "forward",
    port: options.port,
    hostname: options.hostname,
    portSetting: "--forward-port",
    tls: { ...tls, clientCertificates: "required", minVersion: "TLSv1.3" },
    clock: options.clock,
    limits: LIMITS,
    admitsClient(client, peer) {
      if (client?.dnsNames.includes(clientName)) return true;
      log.warn("rejected forward: no replica certificate", { peer });
      return false;
    },
    handle: respond,
  });
}
