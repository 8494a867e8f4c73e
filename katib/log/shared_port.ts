/**
 * Listener for TLS and plaintext on one port, distinguished by the first byte of a connection. Katib's
 * clients speak plaintext only; clients that speak TLS must show a certificate.
 */
import { createServer, type Socket } from "node:net";
import { admitConnections } from "../../platform/http/connection_admission.ts";
import type { ConnectionLimits } from "../../platform/http/limits/server_limits.ts";
import { listen, type ListenAddress } from "../../platform/http/listening.ts";
import { after, type Clock } from "../../platform/base/clock.ts";

/** Takes a connection whose first bytes are unread. */
export type TakeConnection = (socket: Socket) => void;

/** Options of {@link listenOnSharedPort}. */
export interface SharedPortOptions extends ListenAddress {
  readonly clock: Clock;
  readonly plaintext: TakeConnection;
  /** Called for each connection; returns undefined if there is no TLS. */
  readonly tls: () => TakeConnection | undefined;
  /** More connections are closed at once. */
  readonly connections: ConnectionLimits;
  /** Time for the first byte, in milliseconds. */
  readonly firstByteMs: number;
  /** Time without any byte after which a connection is closed, in milliseconds. */
  readonly idleMs: number;
}

/** The first byte of a TLS handshake; gRPC's begins with a letter. */
const HANDSHAKE = 0x16;

/** Listens. Throws a ConfigurationError if the port is taken. */
export async function listenOnSharedPort(options: SharedPortOptions) {
  const { clock, plaintext, tls, connections, firstByteMs, idleMs } = options;
  const sockets = new Set<Socket>();

  function dispatch(socket: Socket): void {
    const bytes: unknown = socket.read();
    if (!(bytes instanceof Uint8Array)) return void socket.destroy();
    socket.unshift(bytes);
    const take = bytes[0] === HANDSHAKE ? tls() : plaintext;
    if (take === undefined) socket.destroy();
    else take(socket);
  }

  function receive(socket: Socket): void {
    sockets.add(socket);
    const cancel = after(clock, firstByteMs, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      sockets.delete(socket);
      cancel();
    });
    socket.setNoDelay();
    socket.setTimeout(idleMs, () => socket.destroy());
    socket.once("readable", () => {
      cancel();
      dispatch(socket);
    });
  }

  const server = createServer(receive);
  admitConnections(server, { clock, limits: connections });
  const port = await listen(server, options);
  return {
    port,
    /** Stops listening, and closes all connections. */
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
