/** Limits of a server: times of connections and requests, and how many of them there may be. */
import type { BucketLimits } from "../../base/token_bucket.ts";

/** Bounds of the connections of a server. */
export interface ConnectionLimits {
  /** Connections in all. */
  readonly total: number;
  /** Connections of one peer address at a time; of its /64 of IPv6, four times as many. */
  readonly perPeer: number;
  /** New connections of one peer address; of its /64 of IPv6, four times as many. */
  readonly newPerPeer: BucketLimits;
  /**
   * Connections that have not sent a whole header yet: each costs some 50 kB with TLS. One peer may have
   * as many as are left for others.
   */
  readonly silent: number;
  /** Peers that are remembered. */
  readonly maxPeers: number;
}

/** Least rate at which a body may arrive. */
export interface BodyRate {
  /** Time before the rate counts, in milliseconds. */
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

/** Bounds of a server; all times in milliseconds. */
export interface ServerLimits {
  /** From the connection to the end of the first header. */
  readonly headerMs: number;
  /** From the first byte of a request to its last. */
  readonly requestMs: number;
  readonly body: BodyRate;
  /** Between two requests of a connection, the header of the second one apart. */
  readonly idleMs: number;
  /** Interval at which the times of connections are checked. */
  readonly checkEveryMs: number;
  /** Bytes of the header of a request. */
  readonly headerBytes: number;
  /** Bytes of the buffers that connections keep of long requests; of a peer, as many as are left. */
  readonly bufferBytes: number;
  readonly connections: ConnectionLimits;
}

/**
 * Limits of the status endpoint, and the base of those of other servers. The token is the longest
 * part of a header.
 */
export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  headerMs: 10_000,
  requestMs: 15_000,
  body: { graceMs: 3_000, bytesPerSecond: 32_768 },
  idleMs: 75_000,
  checkEveryMs: 1000,
  headerBytes: 16_384,
  bufferBytes: 32 << 20,
  connections: {
    total: 20_000,
    perPeer: 2000,
    newPerPeer: { ratePerSecond: 2000, burst: 4000 },
    silent: 2_000,
    maxPeers: 50_000,
  },
};

/** Returns bounds of connections, of which one peer may have `perPeer` at a time. */
export function connectionLimits(total: number, perPeer: number): ConnectionLimits {
  return { ...DEFAULT_SERVER_LIMITS.connections, total, perPeer };
}

/** Returns bounds of connections that one peer may use up, since only trusted ones can reach the port. */
export function connectionsInAll(total: number): ConnectionLimits {
  return connectionLimits(total, total);
}
