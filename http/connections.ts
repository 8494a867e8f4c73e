/** The connections of the status endpoint: how many a peer may hold, and how long one may rest. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../kube/clock.ts";
import { type ConnectionLimits, createPeerGuard } from "./limits/peer_guard.ts";
import { peerKey } from "./limits/peer_key.ts";

/** Options of {@link guardConnections}; all times in milliseconds. */
export interface ConnectionOptions {
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  /** Whether a peer's new connections are closed before they cost a handshake. Default: none. */
  readonly refuses?: (peer: string, nowMs: number) => boolean;
  /** From the connection to the end of the first header. */
  readonly headerMs: number;
  /** Between two requests, the header of the second one apart. */
  readonly idleMs: number;
  /** How often they are looked at. */
  readonly checkEveryMs: number;
}

/** The connections that are open. */
export interface Connections {
  /** How many there are. */
  open(): number;
  /**
   * What came on a connection after this is not HTTP: whether an answer that says so would be taken
   * for that of another request, which is in hand. Then the connection is closed after the latter.
   */
  broken(socket: Duplex): boolean;
  closeAll(): void;
  /** Ends the looking. */
  stop(): Promise<void>;
}

/**
 * Requests of a connection that may wait for their answers. Whoever sends more at once does not read the
 * answers, and the runtime keeps reading, without bound, what nobody takes from it.
 */
const MAX_UNANSWERED = 64;
/** Bytes that may come while an answer is due: the longest body, and some. */
const MAX_WAITING_BYTES = 4 << 20;
/** Time for an answer to what is not HTTP to be taken, in milliseconds. */
const BROKEN_MS = 1000;

interface Connection {
  readonly socket: Socket;
  /** Whether a whole header came. */
  heard: boolean;
  /** Requests that are not answered. */
  inHand: number;
  /** Monotonic time since which none is in hand. */
  restsSinceMs: number;
  newest?: { readonly message: IncomingMessage; readonly response: ServerResponse };
  /** Bytes that had come with the newest request. */
  bytesThen: number;
  /** Monotonic time since which nothing is HTTP that comes. */
  brokenSinceMs?: number;
}

/** The encrypted and the plain socket are two objects; these two numbers are of both. */
function idOf(socket: Duplex): string {
  const { remoteAddress, remotePort } = socket instanceof Socket ? socket : {
    remoteAddress: undefined,
    remotePort: undefined,
  };
  return `${remoteAddress} ${remotePort}`;
}

/**
 * Asks `admit` before the server takes a connection: one that it refuses is closed before the server
 * has made anything for it, which costs a fifth, and a thirtieth of a handshake.
 */
function putBefore(server: Server, admit: (socket: Socket) => boolean): void {
  const takers = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    if (!admit(socket)) return void socket.destroy();
    for (const take of takers) Reflect.apply(take, server, [socket]);
  });
}

/** Counts connections from now on, and closes those that send no whole header in time. */
export function guardConnections(server: Server, options: ConnectionOptions): Connections {
  const { clock, limits, refuses = () => false, headerMs, idleMs, checkEveryMs } = options;
  const guard = createPeerGuard(limits);
  const connections = new Map<string, Connection>();
  /** Saves the making of an id for each request. */
  const bySocket = new WeakMap<Duplex, Connection>();
  const stopped = new AbortController();

  function find(socket: Duplex): Connection | undefined {
    const known = bySocket.get(socket);
    if (known !== undefined) return known;
    const found = connections.get(idOf(socket));
    if (found !== undefined) bySocket.set(socket, found);
    return found;
  }

  function admit(socket: Socket): boolean {
    const peer = peerKey(socket.remoteAddress ?? "");
    const nowMs = clock.monotonic();
    if (refuses(peer, nowMs) || !guard.admit(peer, nowMs)) return false;
    const id = idOf(socket);
    const connection: Connection = {
      socket,
      heard: false,
      inHand: 0,
      restsSinceMs: nowMs,
      bytesThen: 0,
    };
    connections.set(id, connection);
    socket.once("close", () => {
      guard.release(peer);
      if (connections.get(id) === connection) connections.delete(id);
    });
    return true;
  }
  putBefore(server, admit);

  server.on("request", (message: IncomingMessage, response: ServerResponse) => {
    const connection = find(message.socket);
    if (connection === undefined) return;
    connection.heard = true;
    connection.inHand += 1;
    connection.newest = { message, response };
    connection.bytesThen = connection.socket.bytesRead;
    if (connection.inHand > MAX_UNANSWERED) message.socket.destroy();
    // It comes once: `once` would make a function more for each request.
    response.on("close", () => {
      connection.inHand -= 1;
      if (connection.newest?.message === message) connection.newest = undefined;
      if (connection.inHand > 0) return;
      connection.restsSinceMs = clock.monotonic();
      if (connection.brokenSinceMs !== undefined) message.socket.end();
    });
  });

  /** Empty lines count for nothing: the runtime would take them for signs of life. */
  function isOver(connection: Connection, nowMs: number): boolean {
    const { socket, heard, inHand, restsSinceMs, bytesThen, brokenSinceMs } = connection;
    if (brokenSinceMs !== undefined && nowMs - brokenSinceMs >= BROKEN_MS) return true;
    if (inHand > 0) return socket.bytesRead - bytesThen > MAX_WAITING_BYTES;
    return nowMs - restsSinceMs >= (heard ? idleMs + headerMs : headerMs);
  }

  function closeThoseThatAreOver(): void {
    const nowMs = clock.monotonic();
    for (const connection of connections.values()) {
      if (isOver(connection, nowMs)) connection.socket.destroy();
    }
  }

  async function keepLooking(): Promise<void> {
    while (!stopped.signal.aborted) {
      await clock.sleep(checkEveryMs, stopped.signal);
      closeThoseThatAreOver();
    }
  }
  const looking = keepLooking();

  return {
    open: guard.open,
    broken(socket) {
      const connection = find(socket);
      if (connection === undefined) return false;
      connection.brokenSinceMs = clock.monotonic();
      if (connection.inHand === 0) return false;
      const { message, response } = connection.newest ?? {};
      const isInBody = message?.complete === false;
      // Of the one request in hand the body is what is wrong: the answer is that request's.
      if (connection.inHand === 1 && isInBody && response?.headersSent === false) return false;
      // The rest of that body never comes: nobody may wait for it.
      if (isInBody) message.socket.end(() => connection.socket.destroy());
      return true;
    },
    closeAll: () => connections.forEach(({ socket }) => socket.destroy()),
    stop: () => {
      stopped.abort();
      return looking;
    },
  };
}
