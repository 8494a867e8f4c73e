/** Rate limit of work by peer address, by network and in all. */
import { limitsOfNetwork, networkKey } from "./peer_key.ts";
import { Bucket, type BucketLimits, createKeyedBuckets } from "../../base/token_bucket.ts";

/** Bounds of {@link createPeerRate}. */
export interface PeerRateLimits {
  /** Of one peer; of its /64 of IPv6, four times as much. */
  readonly perPeer: BucketLimits;
  /** Of all peers together. */
  readonly total: BucketLimits;
  /** Peers, and networks, that are remembered. */
  readonly maxPeers: number;
}

/** Takes an amount, at most the burst. Returns 0, or the milliseconds until there is as much. */
export type TakeOfPeer = (peer: string, nowMs: number, amount: number) => number;

/** Creates a {@link TakeOfPeer}. What a peer's own limit refuses does not count for the others. */
export function createPeerRate({ perPeer, total, maxPeers }: PeerRateLimits): TakeOfPeer {
  const peers = createKeyedBuckets(perPeer, maxPeers);
  const networks = createKeyedBuckets(limitsOfNetwork(perPeer), maxPeers);
  const all = new Bucket(total);
  return (peer, nowMs, amount) => {
    const network = networkKey(peer);
    return peers.take(peer, nowMs, amount) ||
      (network === undefined ? 0 : networks.take(network, nowMs, amount)) ||
      all.take(nowMs, amount);
  };
}
