/** Admission of connections by peer address, before a server has made anything for them. */
import type { Server, Socket } from "node:net";
import type { Clock } from "../base/clock.ts";
import { peerKey } from "./limits/peer_key.ts";
import { createDividedGuard, type ReservedPlaces } from "./limits/reserved_places.ts";
import type { ConnectionLimits } from "./limits/server_limits.ts";

/** Returns whether new connections of a peer are closed before they cost a handshake. */
export type RefusePeer = (peer: string, nowMs: number) => boolean;

/** Options of {@link admitConnections}. */
export interface AdmissionOptions {
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  /** Default: no peer is refused. */
  readonly refuses?: RefusePeer | undefined;
  /** Default: no places are reserved. */
  readonly reserved?: ReservedPlaces | undefined;
  /** Returns whether a connection within the limits is admitted. Default: each is. */
  readonly admits?: (peer: string) => boolean;
  /**
   * Gives up a connection when all places are taken that `peer` may have. Returns it; undefined if none
   * can be given up.
   */
  readonly giveUp?: (peer: string, nowMs: number) => Socket | undefined;
  /** Called with each connection that is admitted, before the server has it. */
  readonly onAdmit?: (socket: Socket, peer: string, nowMs: number) => void;
}

/**
 * Asks for each new connection of `server` whether it may be taken. One that is refused is closed
 * before the server sees it, which costs a fifth of a connection, and a thirtieth of a handshake. Returns a function that
 * returns how many are open.
 */
export function admitConnections(server: Server, options: AdmissionOptions): () => number {
  const { clock, limits, refuses, reserved, admits, giveUp, onAdmit } = options;
  const guard = createDividedGuard(limits, reserved);
  const peers = new WeakMap<Socket, string>();
  function release(socket: Socket | undefined): void {
    const peer = socket && peers.get(socket);
    if (socket === undefined || peer === undefined) return;
    peers.delete(socket);
    guard.release(peer);
  }
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const peer = peerKey(socket.remoteAddress ?? "");
    const nowMs = clock.monotonic();
    const makeRoom = () => release(giveUp?.(peer, nowMs));
    if (refuses?.(peer, nowMs) || !guard.admit(peer, nowMs, makeRoom)) return void socket.destroy();
    if (admits?.(peer) === false) {
      guard.release(peer);
      return void socket.destroy();
    }
    peers.set(socket, peer);
    socket.once("close", () => release(socket));
    onAdmit?.(socket, peer, nowMs);
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  });
  return guard.open;
}
