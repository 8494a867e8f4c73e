/** Counters of connections by peer address. */
import type { ConnectionLimits } from "./server_limits.ts";
import { createKeyedBuckets } from "./token_bucket.ts";

/** Counts connections. */
export interface PeerGuard {
  /** Returns whether the peer may have one more connection, which counts until it is released. */
  admit(peer: string, nowMs: number): boolean;
  release(peer: string): void;
  /** Returns the number of connections that count now. */
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
