/** Record of peer addresses: failed authentications, and pods that were proved. */
import { createBoundedCache } from "../../base/bounded_cache.ts";
import { limitsOfNetwork, networkKey } from "./peer_key.ts";
import { type BucketLimits, createKeyedBuckets } from "../../base/token_bucket.ts";

/**
 * Record of peers. Times are monotonic, in milliseconds. Failures count against the peer and, with a larger
 * budget, against its /64 of IPv6: a client that has all of its addresses gains little, and one pod
 * does not shut out its neighbours. What is only over the budget of the /64 does not concern peers from which
 * a pod was proved lately.
 */
export type Peers = ReturnType<typeof createPeers>;

/** Creates the record of the failures of one sort of keys: of peers, or of networks. */
function createFailures(
  limits: BucketLimits,
  { maxKeys, suspectedForMs }: { readonly maxKeys: number; readonly suspectedForMs: number },
) {
  const failed = createKeyedBuckets(limits, maxKeys);
  const overBudgetAtMs = createBoundedCache<number>(maxKeys);
  return {
    waitMs: failed.waitMs,
    charge(key: string, nowMs: number): void {
      // Charged below zero: many may be under way before the first one fails.
      failed.charge(key, nowMs);
      if (failed.waitMs(key, nowMs) > 0) overBudgetAtMs.set(key, nowMs);
    },
    /** Charges a suspect in advance. Returns whether it is one that has nothing left. */
    isExhausted(key: string, nowMs: number): boolean {
      const isSuspected = isWithin(overBudgetAtMs.get(key), suspectedForMs, nowMs);
      return isSuspected && failed.take(key, nowMs) > 0;
    },
  };
}

function isWithin(atMs: number | undefined, forMs: number, nowMs: number): boolean {
  return atMs !== undefined && nowMs - atMs < forMs;
}

/** Creates {@link Peers} with bounded memory. */
export function createPeers(options: {
  /** Failed authentications of a peer. */
  readonly failures: BucketLimits;
  /** Peers remembered, each for failures and for proofs. */
  readonly maxKeys: number;
  /** How long a proof counts. Default 15 minutes. */
  readonly provedForMs?: number;
  /** How long a peer that was over its budget is suspected. Default 1 minute. */
  readonly suspectedForMs?: number;
}) {
  const { failures, maxKeys, provedForMs = 900_000, suspectedForMs = 60_000 } = options;
  const own = createFailures(failures, { maxKeys, suspectedForMs });
  const networks = createFailures(limitsOfNetwork(failures), { maxKeys, suspectedForMs });
  const provedAtMs = createBoundedCache<number>(maxKeys);

  const isProved = (peer: string, nowMs: number) =>
    isWithin(provedAtMs.get(peer), provedForMs, nowMs);

  function waitMs(peer: string, nowMs: number): number {
    const network = networkKey(peer);
    const ownMs = own.waitMs(peer, nowMs);
    if (network === undefined || isProved(peer, nowMs)) return ownMs;
    return Math.max(ownMs, networks.waitMs(network, nowMs));
  }

  return {
    /**
     * A request from there could not prove who calls. One that cost nothing to refuse, such as a token
     * that was refused before, counts only where no pod was proved lately: pods share an address with
     * misconfigured ones, too, and those come again and again.
     */
    failed(peer: string, nowMs: number, cost: "nothing" | "signature"): void {
      if (cost === "nothing" && isProved(peer, nowMs)) return;
      own.charge(peer, nowMs);
      const network = networkKey(peer);
      if (network !== undefined) networks.charge(network, nowMs);
    },
    /** A request from there came from a pod that may speak of its job. */
    proved: (peer: string, nowMs: number): void => void provedAtMs.set(peer, nowMs),
    /** Returns whether a request from there came from such a pod lately. */
    isProved,
    /** 0, or for how long tokens from there that are not known yet are not verified. */
    waitMs,
    /**
     * Returns whether the peer is shunned now: authentication failed too often, and no pod was proved
     * lately. An address that pods share with a client that fails is never shunned.
     */
    isShunned: (peer: string, nowMs: number): boolean =>
      waitMs(peer, nowMs) > 0 && !isProved(peer, nowMs),
    /**
     * Decides whether to refuse a new connection before its handshake, and returns true if so. Each connection
     * that is taken from a peer that was shunned in the last minute counts as a failure in advance.
     */
    refuseConnection(peer: string, nowMs: number): boolean {
      if (isProved(peer, nowMs)) return false;
      if (own.isExhausted(peer, nowMs)) return true;
      const network = networkKey(peer);
      return network !== undefined && networks.isExhausted(network, nowMs);
    },
  };
}
