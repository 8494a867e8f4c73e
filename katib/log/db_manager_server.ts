/** gRPC server of Katib's DBManager service over a store. */
import { Buffer } from "node:buffer";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import {
  type ConnectionLimits,
  connectionsInAll,
} from "../../platform/http/limits/server_limits.ts";
import { assertUsable } from "../../platform/http/tls.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import { guardSessions } from "./http2_sessions.ts";
import type { LogStore } from "./log_store.ts";
import { addObservationService } from "./db_manager_service.ts";
import { listenOnSharedPort, type SharedPortOptions } from "./shared_port.ts";
import { createStoreWriter } from "./store_writer.ts";

/** The server's certificate, and the CA of clients that may write; all PEM. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string;
}

/** Time between commits, as a multiple of their duration, to read the calls that go into the next one. */
const PAUSE_PER_COMMIT = 0.3;
/** In milliseconds. Pings come sooner than a connection counts as idle. */
const TIMES_MS = { firstByte: 5_000, ping: 30_000, pong: 20_000, idle: 90_000 } as const;
const CHANNEL = {
  "grpc.max_receive_message_length": 16 * 1024 * 1024,
  "grpc.max_send_message_length": -1,
  "grpc.max_concurrent_streams": 100,
  "grpc.keepalive_time_ms": TIMES_MS.ping,
  "grpc.keepalive_timeout_ms": TIMES_MS.pong,
} as const;

/** Returns credentials. Throws if they cannot be used: the runtime would notice at each handshake only. */
function credentialsOf({ cert, key, clientCa }: ServerTls): ServerCredentials {
  assertUsable({ cert, key, ca: clientCa });
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  return ServerCredentials.createSsl(Buffer.from(clientCa), [pair], true);
}

/** Starts a server. Rejects if the port is taken, or if certificate and key do not fit. */
export async function startObservationServer(
  options: Pick<SharedPortOptions, "hostname" | "port" | "clock"> & {
    /** Undefined for plaintext only; then no client may write. */
    readonly tls?: ServerTls | undefined;
    /** The caller closes it. */
    readonly store: LogStore;
    /** Default: 1000, of one peer too. */
    readonly connections?: ConnectionLimits;
  },
) {
  const { hostname, port, store, clock, connections = connectionsInAll(1000) } = options;
  guardSessions();
  const writer = createStoreWriter({ store, clock, pausePerCommit: PAUSE_PER_COMMIT });
  const server = new Server(CHANNEL);
  addObservationService(server, { store, writer });
  const inject = (it: ServerCredentials) => server.createConnectionInjector(it);
  const plaintext = inject(ServerCredentials.createInsecure());
  let secure = options.tls && inject(credentialsOf(options.tls));
  const listener = await listenOnSharedPort({
    hostname,
    port,
    portSetting: "--port",
    clock,
    connections,
    firstByteMs: TIMES_MS.firstByte,
    idleMs: TIMES_MS.idle,
    plaintext: (socket) => plaintext.injectConnection(socket),
    tls: () => {
      const current = secure;
      return current && ((socket) => current.injectConnection(socket));
    },
  });
  return {
    port: listener.port,
    /**
     * Uses these for new TLS connections, and asks clients to renew the open ones. If certificate and key do
     * not fit it throws, and changes nothing.
     */
    updateTls(tls: ServerTls): void {
      const older = secure;
      secure = inject(credentialsOf(tls));
      older?.drain(TIMES_MS.firstByte);
    },
    /** Stops within `drainMs`, in which open calls may end; stores all rows that were accepted. */
    async stop(drainMs: number): Promise<void> {
      const drained = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      await answerInTime(clock, drainMs, undefined, () => drained);
      server.forceShutdown();
      await listener.close();
      writer.close();
    },
  };
}
