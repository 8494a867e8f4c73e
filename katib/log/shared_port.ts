/**
 * One port for TLS and plaintext: the first byte of a connection tells which. Katib's clients know
 * plaintext only; whoever speaks TLS shows a certificate.
 */
import { createServer, type Socket } from "node:net";
import type { Clock } from "../../kube/clock.ts";

/** Takes a connection whose first bytes are unread. */
export type TakeConnection = (socket: Socket) => void;

/** Options of {@link listenOnSharedPort}. */
export interface SharedPortOptions {
  readonly hostname: string;
  /** 0 takes one that is free. */
  readonly port: number;
  readonly clock: Clock;
  readonly plaintext: TakeConnection;
  /** Asked for each connection; undefined where there is no TLS. */
  readonly tls: () => TakeConnection | undefined;
  /** Connections at a time; more are closed at once. */
  readonly maxConnections: number;
  /** Time for the first byte, in milliseconds. */
  readonly firstByteMs: number;
  /** Time without any byte after which a connection is closed, in milliseconds. */
  readonly idleMs: number;
}

/** A listener. */
export interface SharedPort {
  readonly port: number;
  /** Takes no more connections, and ends those that are there. */
  close(): Promise<void>;
}

/** The first byte of a TLS handshake; gRPC's begins with a letter. */
const HANDSHAKE = 0x16;

/** Listens. Rejects where the port cannot be had. */
export async function listenOnSharedPort(options: SharedPortOptions): Promise<SharedPort> {
  const { clock, plaintext, tls, maxConnections, firstByteMs, idleMs } = options;
  const sockets = new Set<Socket>();

  function dispatch(socket: Socket): void {
    const bytes: unknown = socket.read();
    if (!(bytes instanceof Uint8Array)) return void socket.destroy();
    socket.unshift(bytes);
    const take = bytes[0] === HANDSHAKE ? tls() : plaintext;
    if (take === undefined) socket.destroy();
    else take(socket);
  }

  function admit(socket: Socket): void {
    sockets.add(socket);
    const begun = new AbortController();
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      sockets.delete(socket);
      begun.abort();
    });
    socket.setNoDelay();
    socket.setTimeout(idleMs, () => socket.destroy());
    clock.sleep(firstByteMs, begun.signal).then(() => {
      if (!begun.signal.aborted) socket.destroy();
    });
    socket.once("readable", () => {
      begun.abort();
      dispatch(socket);
    });
  }

  const server = createServer(admit);
  server.maxConnections = maxConnections;
  const port = await new Promise<number>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.hostname, () => {
      server.removeListener("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : options.port);
    });
  });
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
