/** Counters of connections by peer address. */
import { limitsOfNetwork, networkKey, PEERS_OF_NETWORK } from "./peer_key.ts";
import type { ConnectionLimits } from "./server_limits.ts";
import { type BucketLimits, createKeyedBuckets } from "../../base/token_bucket.ts";

/** Counts connections. */
export interface PeerGuard {
  /**
   * Returns whether the peer may have one more connection, which counts until it is released. If all
   * places are taken, `makeRoom` is called, which may release one.
   */
  admit(peer: string, nowMs: number, makeRoom?: () => void): boolean;
  release(peer: string): void;
  /** Returns the number of connections that count now. */
  open(): number;
}

/** Creates the counters of one sort of keys: of peers, or of networks. */
function createCounters({ perKey, fresh: freshLimits, maxKeys }: {
  /** Connections of a key at a time. */
  readonly perKey: number;
  /** New connections of a key. */
  readonly fresh: BucketLimits;
  readonly maxKeys: number;
}) {
  const fresh = createKeyedBuckets(freshLimits, maxKeys);
  /** Never more keys than connections. */
  const held = new Map<string, number>();
  return {
    isFull: (key: string, share = Infinity) => (held.get(key) ?? 0) >= Math.min(perKey, share),
    takeFresh: (key: string, nowMs: number) => fresh.take(key, nowMs) === 0,
    add: (key: string) => void held.set(key, (held.get(key) ?? 0) + 1),
    /** Returns false if none is held. */
    remove(key: string): boolean {
      const count = held.get(key) ?? 0;
      if (count <= 1) return held.delete(key);
      held.set(key, count - 1);
      return true;
    },
  };
}

/** Creates a {@link PeerGuard}. The peers of one /64 of IPv6 share limits of their own. */
export function createPeerGuard(limits: ConnectionLimits): PeerGuard {
  const { total, perPeer, newPerPeer, maxPeers: maxKeys } = limits;
  const peers = createCounters({ perKey: perPeer, fresh: newPerPeer, maxKeys });
  const networks = createCounters({
    perKey: PEERS_OF_NETWORK * perPeer,
    fresh: limitsOfNetwork(newPerPeer),
    maxKeys,
  });
  let open = 0;
  /** A peer gets no more than it leaves to others, unless it may have all. */
  const share = () => perPeer < total ? total - open + 1 : Infinity;
  return {
    open: () => open,
    admit(peer, nowMs, makeRoom) {
      const network = networkKey(peer);
      if (peers.isFull(peer, share())) return false;
      if (network !== undefined && networks.isFull(network)) return false;
      if (!peers.takeFresh(peer, nowMs)) return false;
      if (network !== undefined && !networks.takeFresh(network, nowMs)) return false;
      if (open >= total) makeRoom?.();
      if (open >= total) return false;
      peers.add(peer);
      if (network !== undefined) networks.add(network);
      open += 1;
      return true;
    },
    release(peer) {
      if (!peers.remove(peer)) return;
      const network = networkKey(peer);
      if (network !== undefined) networks.remove(network);
      open -= 1;
    },
  };
}
