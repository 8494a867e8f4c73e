/** Record of peer addresses: failed authentications, and pods that were proved. */
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import { type BucketLimits, createKeyedBuckets } from "./token_bucket.ts";

/** Record of peers. Times are monotonic, in milliseconds. */
export interface Peers {
  /**
   * A request from there could not prove who calls. One that cost nothing to refuse, such as a token
   * that was refused before, counts only where no pod was proved lately: pods share an address with
   * misconfigured ones, too, and those come again and again.
   */
  failed(peer: string, nowMs: number, cost: "nothing" | "signature"): void;
  /** A request from there came from a pod that may speak of its job. */
  proved(peer: string, nowMs: number): void;
  /** 0, or for how long tokens from there that are not known yet are not looked at. */
  waitMs(peer: string, nowMs: number): number;
  /**
   * Returns whether the peer is shunned now: authentication failed too often, and no pod was proved
   * lately. An address that pods share with a client that fails is never shunned.
   */
  isShunned(peer: string, nowMs: number): boolean;
  /**
   * Decides whether to refuse a new connection before its handshake, and returns true if so. Each connection
   * that is taken from a peer that was shunned in the last minute counts as a failure in advance.
   */
  refuseConnection(peer: string, nowMs: number): boolean;
}

/** Options of {@link createPeers}. */
export interface PeersOptions {
  /** Failed authentications of a peer. */
  readonly failures: BucketLimits;
  /** Peers remembered, each for failures and for proofs. */
  readonly maxKeys: number;
  /** How long a proof counts. Default 15 minutes. */
  readonly provedForMs?: number;
  /** How long a peer that was over its budget is suspected. Default 1 minute. */
  readonly suspectedForMs?: number;
}

/** Creates {@link Peers} with bounded memory. */
export function createPeers(options: PeersOptions): Peers {
  const { failures, maxKeys, provedForMs = 900_000, suspectedForMs = 60_000 } = options;
  const failed = createKeyedBuckets(failures, maxKeys);
  const provedAtMs = createBoundedCache<number>(maxKeys);
  const overBudgetAtMs = createBoundedCache<number>(maxKeys);

  const isWithin = (atMs: number | undefined, forMs: number, nowMs: number) =>
    atMs !== undefined && nowMs - atMs < forMs;
  const isProved = (peer: string, nowMs: number) =>
    isWithin(provedAtMs.get(peer), provedForMs, nowMs);

  return {
    failed(peer, nowMs, cost) {
      if (cost === "nothing" && isProved(peer, nowMs)) return;
      // Charged below zero: many may be under way before the first one fails.
      failed.charge(peer, nowMs);
      if (failed.waitMs(peer, nowMs) > 0) overBudgetAtMs.set(peer, nowMs);
    },
    proved: (peer, nowMs) => void provedAtMs.set(peer, nowMs),
    waitMs: (peer, nowMs) => failed.waitMs(peer, nowMs),
    isShunned: (peer, nowMs) => failed.waitMs(peer, nowMs) > 0 && !isProved(peer, nowMs),
    refuseConnection(peer, nowMs) {
      const isSuspected = isWithin(overBudgetAtMs.get(peer), suspectedForMs, nowMs);
      return isSuspected && !isProved(peer, nowMs) && failed.take(peer, nowMs) > 0;
    },
  };
}
