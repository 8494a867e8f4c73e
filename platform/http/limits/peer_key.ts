/** Keys under which peer addresses are counted: each address, and the network of one of IPv6. */
import type { BucketLimits } from "../../base/token_bucket.ts";

/** Returns the key of an address: of an IPv4 address that is mapped to IPv6 the former. */
export function peerKey(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

/**
 * Returns the key of the network of a peer: the /64 of an IPv6 address, of which one client may have
 * every address, but which the pods of a node or of a subnet share as well. Undefined for IPv4.
 */
export function networkKey(peer: string): string | undefined {
  if (!peer.includes(":")) return undefined;
  const [head = "", tail] = peer.split("::", 2);
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array<string>(zeros).fill("0"), ...after].slice(0, 4).join(":") + "::/64";
}

/** A network has the limits of this many peers. */
export const PEERS_OF_NETWORK = 4;

/** Returns the limits of a network by those of a peer. */
export function limitsOfNetwork({ ratePerSecond, burst }: BucketLimits): BucketLimits {
  return { ratePerSecond: PEERS_OF_NETWORK * ratePerSecond, burst: PEERS_OF_NETWORK * burst };
}
