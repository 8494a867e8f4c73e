/** Client of a DBManager service: Katib's, or `milepost observation-log`. */
import { Buffer } from "node:buffer";
import { type ChannelCredentials, Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { onAbort } from "../../platform/base/aborted.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { parseAddress } from "../../platform/http/replicas/calls.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { guardSessions } from "./http2_sessions.ts";
import { type ClientTls, probeProtocol } from "./peer_protocol.ts";
import {
  decodeLogReply,
  encodeGet,
  encodeReport,
  type GetRequest,
  HISTORY_METHODS,
  METHODS,
  wholeLog,
  type WireRow,
} from "./wire.ts";

/** A call that failed. */
export class CallError extends Error {
  /** Whether the peer cannot have received it, so that it can be sent again without a check. */
  readonly wasNotSent: boolean;

  constructor(
    /** The status code of gRPC. */
    readonly code: number,
    message: string,
    options: { wasNotSent?: boolean } = {},
  ) {
    super(message);
    this.name = "CallError";
    this.wasNotSent = options.wasNotSent ?? false;
  }
}

/** Options of {@link createDbManagerClient}. */
export interface DbManagerClientOptions {
  /** `host:port`; an IPv6 address in brackets. */
  readonly address: string;
  /** Credentials for peers that speak TLS, read at each connection; always plaintext if undefined. */
  readonly tls?: (() => ClientTls) | undefined;
  readonly clock: Clock;
  /** Deadline of each call, including the connection, in milliseconds. */
  readonly deadlineMs: number;
  /** Whether this process may still write, asked before rows are sent (docs/decisions/0014). */
  readonly mayWrite?: (() => boolean) | undefined;
}

/** Largest reply, in bytes: a million rows of usual size. */
const MAX_REPLY_BYTES = 128 * 1024 * 1024;
/** Deadlines in a row after which a connection counts as dead. */
const DEADLINES_OF_DEAD = 2;
/** Message of grpc-js if it had no connection to send on. */
const NOT_CONNECTED = /^(No connection established|Failed to connect)/;

const CHANNEL = {
  "grpc.enable_http_proxy": 0,
  "grpc.service_config_disable_resolution": 1,
  // The sink retries: it checks first whether the rows are in the log.
  "grpc.enable_retries": 0,
  "grpc.max_receive_message_length": MAX_REPLY_BYTES,
} as const;

/** One channel, and the number of calls that use it. */
interface Channel {
  readonly client: Client;
  readonly protocol: "tls" | "plaintext";
  users: number;
  isStale: boolean;
}

/** Other protocols are read as the length of a message, which is then far too large. */
const TOO_LONG = /^Received message larger than max/;

function describe(code: number, details: string): string {
  const hint = TOO_LONG.test(details) ? "; is there a gRPC server at that address?" : "";
  return `${status[code]}: ${details}${hint}`;
}

function credentialsOf({ cert, key, ca }: ClientTls): ChannelCredentials {
  return credentials.createSsl(Buffer.from(ca), Buffer.from(key), Buffer.from(cert));
}

/** Methods that write, and methods that a peer may lack. */
const WRITES: ReadonlySet<string> = new Set([METHODS.report, HISTORY_METHODS.keep]);
const OPTIONAL: ReadonlySet<string> = new Set(Object.values(HISTORY_METHODS));
const NOT_SENT = { wasNotSent: true } as const;
const identity = (bytes: Buffer) => bytes;

/** Errors of a peer that was replaced by another, or that expects another protocol. */
const OF_ANOTHER: ReadonlySet<number> = new Set([
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.UNIMPLEMENTED,
]);

/** The methods of the service. Each rejects with a {@link CallError}, also when `signal` aborts. */
export type DbManagerClient = ReturnType<typeof createDbManagerClient>;

/** Creates a client, which connects at the first call. */
export function createDbManagerClient(options: DbManagerClientOptions) {
  const { address, tls, clock, deadlineMs, mayWrite } = options;
  guardSessions();
  let channel: Promise<Channel> | undefined;
  /** The peer's protocol when a call succeeded last. */
  let known: "tls" | "plaintext" | undefined;
  let deadlinesInARow = 0;
  let closed = false;

  async function open(): Promise<Channel> {
    const own = tls?.();
    const { host, port } = parseAddress(address) ?? { host: address, port: 0 };
    const probe = { host, port, clock, deadlineMs };
    const protocol = own === undefined
      ? "plaintext"
      : known ?? await probeProtocol({ ...probe, tls: own });
    const client = own === undefined || protocol === "plaintext"
      ? new Client(address, credentials.createInsecure(), CHANNEL)
      : new Client(address, credentialsOf(own), {
        ...CHANNEL,
        "grpc.ssl_target_name_override": own.serverName,
      });
    return { client, protocol, users: 0, isStale: false };
  }

  function closeUnused(it: Channel): void {
    if (it.isStale && it.users === 0) it.client.close();
  }

  /** Discards a channel: the next call connects, and probes the protocol, again. */
  function forget(stale: Channel): void {
    if (stale.isStale) return;
    stale.isStale = true;
    channel = undefined;
    deadlinesInARow = 0;
    closeUnused(stale);
  }

  async function connected(): Promise<Channel> {
    if (closed) throw new CallError(status.CANCELLED, "the connection is closed", NOT_SENT);
    const opening = channel ??= open();
    try {
      return await opening;
    } catch (error) {
      if (channel === opening) channel = undefined;
      throw new CallError(status.UNAVAILABLE, messageOf(error), NOT_SENT);
    }
  }

  /** Decides by the result of a call whether the channel and the known protocol can be kept. */
  function judge(it: Channel, code: number, wasNotSent: boolean): void {
    if (code === status.OK) known = it.protocol;
    else if (wasNotSent || OF_ANOTHER.has(code)) known = undefined;
    deadlinesInARow = code === status.DEADLINE_EXCEEDED ? deadlinesInARow + 1 : 0;
    const isBroken = code === status.UNAVAILABLE || OF_ANOTHER.has(code) ||
      deadlinesInARow >= DEADLINES_OF_DEAD;
    if (isBroken) forget(it);
  }

  function callOn(
    it: Channel,
    path: string,
    body: Buffer,
    deadline: number,
    signal: AbortSignal | undefined,
  ) {
    return new Promise<Buffer>((resolve, reject) => {
      const call = it.client.makeUnaryRequest<Buffer, Buffer>(
        path,
        identity,
        identity,
        body,
        new Metadata(),
        { deadline },
        (error, reply) => {
          forget();
          if (error === null && reply !== undefined) {
            judge(it, status.OK, false);
            return resolve(reply);
          }
          const { code = status.UNKNOWN, details = "no reply" } = error ?? {};
          const wasNotSent = code === status.UNAVAILABLE && NOT_CONNECTED.test(details);
          const isAbsent = code === status.UNIMPLEMENTED && OPTIONAL.has(path);
          judge(it, isAbsent ? status.OK : code, wasNotSent);
          reject(new CallError(code, describe(code, details), { wasNotSent }));
        },
      );
      const forget = onAbort(signal, () => call.cancel());
    });
  }

  async function call(path: string, body: Buffer, signal: AbortSignal | undefined) {
    const deadline = clock.now() + deadlineMs;
    const it = await connected();
    if (WRITES.has(path) && mayWrite?.() === false) {
      throw new CallError(
        status.CANCELLED,
        "this replica no longer holds the Lease",
        NOT_SENT,
      );
    }
    it.users++;
    try {
      return await callOn(it, path, body, deadline, signal);
    } finally {
      it.users--;
      closeUnused(it);
    }
  }

  return {
    async report(trialName: string, rows: readonly WireRow[], signal?: AbortSignal): Promise<void> {
      await call(METHODS.report, encodeReport({ trialName, rows }), signal);
    },
    async get(request: GetRequest, signal?: AbortSignal): Promise<WireRow[]> {
      const reply = await call(METHODS.get, encodeGet(request), signal);
      try {
        return decodeLogReply(reply);
      } catch (error) {
        throw new CallError(
          status.INTERNAL,
          `the reply is not an observation log: ${messageOf(error)}`,
        );
      }
    },
    async delete(trialName: string, signal?: AbortSignal): Promise<void> {
      await call(METHODS.delete, encodeGet(wholeLog(trialName)), signal);
    },
    /** Calls a method of the service of histories, which not every peer has. */
    call,
    close(): void {
      closed = true;
      channel?.then(forget, () => {});
    },
  };
}
