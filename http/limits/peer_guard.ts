/** How many connections a peer may hold and open, and how many there may be in all. */
import { type BucketLimits, createKeyedBuckets } from "./token_bucket.ts";

/** Bounds of connections. */
export interface ConnectionLimits {
  /** In all. Default 20000. */
  readonly total: number;
  /** Of one peer address at a time. Default 2000. */
  readonly perPeer: number;
  /** New ones of one peer address. Default 2000 a second, 4000 at once. */
  readonly newPerPeer: BucketLimits;
  /** Peers remembered. Default 50000. */
  readonly maxPeers: number;
}

/** What is used where nothing else is asked for. */
export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  total: 20_000,
  perPeer: 2000,
  newPerPeer: { ratePerSecond: 2000, burst: 4000 },
  maxPeers: 50_000,
};

/** Counts connections. */
export interface PeerGuard {
  /** Whether the peer may have one more connection; it counts until it is released. */
  admit(peer: string, nowMs: number): boolean;
  release(peer: string): void;
  /** Connections that count now. */
  open(): number;
}

/** Creates a {@link PeerGuard}. */
export function createPeerGuard(limits: ConnectionLimits): PeerGuard {
  const fresh = createKeyedBuckets(limits.newPerPeer, limits.maxPeers);
  /** Never more keys than connections. */
  const held = new Map<string, number>();
  let open = 0;
  return {
    open: () => open,
    admit(peer, nowMs) {
      const count = held.get(peer) ?? 0;
      if (open >= limits.total || count >= limits.perPeer) return false;
      if (fresh.take(peer, nowMs) > 0) return false;
      held.set(peer, count + 1);
      open += 1;
      return true;
    },
    release(peer) {
      const count = held.get(peer) ?? 0;
      if (count === 0) return;
      if (count === 1) held.delete(peer);
      else held.set(peer, count - 1);
      open -= 1;
    },
  };
}
