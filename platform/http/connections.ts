/** Supervision of a server's connections: how many a peer may hold, and how long one may rest. */
import type { IncomingMessage, Server as HttpServer, ServerResponse } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { every } from "../base/clock.ts";
import { type AdmissionOptions, admitConnections } from "./connection_admission.ts";
import { isLong } from "./held_bodies.ts";
import { startReads, stopReads } from "./paused_reads.ts";
import { declaredLength } from "./request_body.ts";
import { createFairShare } from "./limits/fair_share.ts";
import { divideShare } from "./limits/reserved_places.ts";
import { bufferedBytes, SHORT_BYTES } from "./limits/runtime_buffers.ts";
import type { ServerLimits } from "./limits/server_limits.ts";

/** Options of {@link guardConnections}. */
export interface ConnectionOptions
  extends Pick<AdmissionOptions, "clock" | "refuses" | "reserved"> {
  readonly limits: ServerLimits;
  /** Called at each check of the times. */
  readonly onCheck?: (nowMs: number) => void;
}

/**
 * Requests of a connection that may wait for their responses. A client that sends more at once does
 * not read the responses, and the runtime keeps, without bound, what it reads meanwhile.
 */
const MAX_UNANSWERED = 64;
/** Bytes that may come while a response is due, beside the body that its request declares. */
const MAX_WAITING_BYTES = 4 << 20;
/** Time that a connection rests before it may be given up for a new one, in milliseconds. */
const GIVEN_UP_AFTER_MS = 1000;
/** Time for a response to what is not HTTP to be taken, in milliseconds. */
const BROKEN_MS = 1000;

interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** Whether a whole header came. */
  heard: boolean;
  /** Requests without a response. */
  inHand: number;
  /** Monotonic time since which no request is in hand. */
  restsSinceMs: number;
  newest?: { readonly message: IncomingMessage; readonly response: ServerResponse };
  /** Bytes that had come with the newest request. */
  bytesThen: number;
  /** Bytes that had come at its last response. */
  bytesAnswered: number;
  /** Bytes of its buffers that count. */
  buffered: number;
  /** Its newest request, if that has a long body that nobody has wanted yet: what comes is left to the kernel. */
  unwanted?: IncomingMessage | undefined;
  /** Monotonic time since which what comes is not HTTP. */
  brokenSinceMs?: number;
}

/** Returns an id of a connection: its encrypted and its plain socket are two objects. */
function idOf(socket: Duplex): string {
  const { remoteAddress, remotePort } = socket instanceof Socket ? socket : {
    remoteAddress: undefined,
    remotePort: undefined,
  };
  return `${remoteAddress} ${remotePort}`;
}

/** Counts connections from now on, and closes those that send no whole header in time. */
export function guardConnections(
  server: HttpServer | HttpsServer,
  { clock, limits, refuses, reserved, onCheck }: ConnectionOptions,
) {
  const { headerMs, idleMs, checkEveryMs } = limits;
  const connections = new Map<string, Connection>();
  /** Saves the making of an id for each request. */
  const bySocket = new WeakMap<Duplex, Connection>();
  /** Those without a request in hand that had one, longest first. */
  const resting = new Set<Connection>();
  const silent = divideShare(
    createFairShare(limits.connections.silent),
    reserved,
    ({ connections }) => connections.silent,
  );
  const buffers = divideShare(
    createFairShare(limits.bufferBytes),
    reserved,
    ({ bodyBytes }) => bodyBytes / 2,
  );

  function find(socket: Duplex): Connection | undefined {
    const known = bySocket.get(socket);
    if (known !== undefined) return known;
    const found = connections.get(idOf(socket));
    if (found !== undefined) bySocket.set(socket, found);
    return found;
  }

  function hear(connection: Connection): void {
    if (!connection.heard) silent.give(connection.peer, 1);
    connection.heard = true;
  }

  /** Leaves the body of a new request to the kernel, if it is long, until somebody wants it. */
  function steerReads(connection: Connection, unwanted: IncomingMessage | undefined): void {
    const wereStopped = connection.unwanted !== undefined;
    connection.unwanted = unwanted;
    if (wereStopped === (unwanted !== undefined)) return;
    if (wereStopped) startReads(connection.socket);
    else stopReads(connection.socket);
  }

  /** Reads a body that was left to the kernel. An older request says nothing about the body of a newer one. */
  function readBody(connection: Connection, message: IncomingMessage): void {
    if (connection.unwanted === message) steerReads(connection, undefined);
  }

  function onAdmit(socket: Socket, peer: string, nowMs: number): void {
    const id = idOf(socket);
    const connection: Connection = {
      socket,
      peer,
      heard: false,
      inHand: 0,
      restsSinceMs: nowMs,
      bytesThen: 0,
      bytesAnswered: 0,
      buffered: 0,
    };
    connections.set(id, connection);
    socket.once("close", () => {
      hear(connection);
      resting.delete(connection);
      if (connection.buffered > 0) buffers.give(peer, connection.buffered);
      connection.buffered = 0;
      if (connections.get(id) === connection) connections.delete(id);
    });
  }

  /** So that clients that rest do not keep others out: they connect again when they have something to say. */
  function giveUp(peer: string, nowMs: number): Socket | undefined {
    const isReserved = reserved?.includes(peer);
    const longest = resting.values().find((it) => reserved?.includes(it.peer) === isReserved);
    if (longest === undefined || nowMs - longest.restsSinceMs < GIVEN_UP_AFTER_MS) return undefined;
    resting.delete(longest);
    longest.socket.destroy();
    return longest.socket;
  }

  const open = admitConnections(server, {
    clock,
    limits: limits.connections,
    refuses,
    reserved,
    admits: (peer) => silent.take(peer, 1),
    giveUp,
    onAdmit,
  });

  server.on("request", (message: IncomingMessage, response: ServerResponse) => {
    const connection = find(message.socket);
    if (connection === undefined) return;
    hear(connection);
    connection.inHand += 1;
    resting.delete(connection);
    connection.newest = { message, response };
    connection.bytesThen = connection.socket.bytesRead;
    steerReads(connection, isLong(message) ? message : undefined);
    if (connection.inHand > MAX_UNANSWERED) message.socket.destroy();
    // It comes once: `once` would make a function more for each request.
    response.on("close", () => {
      connection.inHand -= 1;
      if (connection.newest?.message === message) connection.newest = undefined;
      // All of it had come at once.
      if (message.complete) readBody(connection, message);
      if (connection.inHand > 0) return;
      connection.restsSinceMs = clock.monotonic();
      if (!connection.socket.destroyed) resting.add(connection);
      if (connection.brokenSinceMs !== undefined) message.socket.end();
    });
  });

  /** Empty lines count for nothing: the runtime would take them for signs of life. */
  function isOverdue(connection: Connection, nowMs: number): boolean {
    const { socket, heard, inHand, restsSinceMs, bytesThen, newest, brokenSinceMs } = connection;
    if (brokenSinceMs !== undefined && nowMs - brokenSinceMs >= BROKEN_MS) return true;
    const declared = newest && declaredLength(newest.message) || 0;
    if (inHand > 0) return socket.bytesRead - bytesThen > MAX_WAITING_BYTES + declared;
    return nowMs - restsSinceMs >= (heard ? idleMs + headerMs : headerMs);
  }

  function closeOverdue(): void {
    const nowMs = clock.monotonic();
    for (const connection of connections.values()) {
      if (isOverdue(connection, nowMs)) connection.socket.destroy();
    }
    onCheck?.(nowMs);
  }

  const stop = every(clock, checkEveryMs, closeOverdue);

  return {
    /** Returns how many there are. */
    open,
    /**
     * Notes that a connection no longer carries valid HTTP. Returns true if a response that
     * says so would be taken for that of another request, which is being handled: then the connection is
     * closed after the response to that one.
     */
    broken(socket: Duplex): boolean {
      const connection = find(socket);
      if (connection === undefined) return false;
      connection.brokenSinceMs = clock.monotonic();
      if (connection.inHand === 0) return false;
      const { message, response } = connection.newest ?? {};
      const isInBody = message?.complete === false;
      // Of the one request in hand the body is what is wrong: the response is that request's.
      if (connection.inHand === 1 && isInBody && response?.headersSent === false) return false;
      // The rest of that body never comes: it must not be waited for.
      if (isInBody) message.socket.end(() => connection.socket.destroy());
      return true;
    },
    /**
     * Returns whether a connection may stay open after the response to its newest request; false if its
     * buffers have grown and there is no room for them.
     */
    mayStay(socket: Duplex): boolean {
      const connection = find(socket);
      if (connection === undefined) return true;
      const { bytesRead } = connection.socket;
      const came = bytesRead - connection.bytesAnswered;
      connection.bytesAnswered = bytesRead;
      const amount = bufferedBytes(came) - connection.buffered;
      if (came <= SHORT_BYTES || amount <= 0) return true;
      if (socket.destroyed || !buffers.take(connection.peer, amount)) return false;
      connection.buffered += amount;
      return true;
    },
    /** Reads the body of a request, if it was left to the kernel. */
    read(message: IncomingMessage): void {
      const connection = find(message.socket);
      if (connection !== undefined) readBody(connection, message);
    },
    closeAll: (): void => connections.forEach(({ socket }) => socket.destroy()),
    /** Ends the supervision. */
    stop,
  };
}
