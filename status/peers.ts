/** What is known of peer addresses: how often authentication failed there, and whether a pod pushes from there. */
import { LRUCache } from "lru-cache";
import { type BucketLimits, createKeyedBuckets } from "./token_bucket.ts";

/** What is kept of peers. Times are monotonic, in milliseconds. */
export interface Peers {
  /** A request from there could not prove who calls. */
  failed(peer: string, nowMs: number): void;
  /** A request from there came from a pod that may speak of its job. */
  proved(peer: string, nowMs: number): void;
  /** 0, or for how long tokens from there that are not known yet are not looked at. */
  waitMs(peer: string, nowMs: number): number;
  /**
   * Whether whoever comes from there now is not worth a handshake: authentication failed too often,
   * and no pod was proved lately. An address that pods share with somebody who fails is never shunned.
   */
  isShunned(peer: string, nowMs: number): boolean;
}

/** Options of {@link createPeers}. */
export interface PeersOptions {
  /** Failed authentications of a peer. */
  readonly failures: BucketLimits;
  /** Peers remembered, each for failures and for proofs. */
  readonly maxKeys: number;
  /** How long a proof counts. Default 15 minutes. */
  readonly provedForMs?: number;
}

/** Creates {@link Peers} with bounded memory. */
export function createPeers(options: PeersOptions): Peers {
  const { failures, maxKeys, provedForMs = 900_000 } = options;
  const failed = createKeyedBuckets(failures, maxKeys);
  const provedAtMs = new LRUCache<string, number>({ max: maxKeys });

  function isProved(peer: string, nowMs: number): boolean {
    const atMs = provedAtMs.get(peer);
    return atMs !== undefined && nowMs - atMs < provedForMs;
  }

  return {
    // Charged below zero: many may be under way before the first one fails.
    failed: (peer, nowMs) => failed.charge(peer, nowMs),
    proved: (peer, nowMs) => void provedAtMs.set(peer, nowMs),
    waitMs: (peer, nowMs) => failed.waitMs(peer, nowMs),
    isShunned: (peer, nowMs) => failed.waitMs(peer, nowMs) > 0 && !isProved(peer, nowMs),
  };
}
