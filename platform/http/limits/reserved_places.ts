/** Places of a server that are reserved for some peers. */
import type { AddressList } from "./address_list.ts";
import { createFairShare, type FairShare } from "./fair_share.ts";
import { createPeerGuard, type PeerGuard } from "./peer_guard.ts";
import type { ConnectionLimits } from "./server_limits.ts";

/** The peers, and what they have for themselves: they take nothing of the others', nor the others of theirs. */
export interface ReservedPlaces {
  readonly includes: AddressList;
  readonly connections: ConnectionLimits;
  /** Bytes of bodies. */
  readonly bodyBytes: number;
}

/** Returns a share in which reserved peers have a part of their own beside that of all others. */
export function divideShare(
  others: FairShare,
  reserved: ReservedPlaces | undefined,
  total: (places: ReservedPlaces) => number,
): FairShare {
  if (reserved === undefined) return others;
  const own = createFairShare(total(reserved));
  const shareOf = (peer: string) => reserved.includes(peer) ? own : others;
  return {
    take: (peer, amount) => shareOf(peer).take(peer, amount),
    give: (peer, amount) => shareOf(peer).give(peer, amount),
    used: () => others.used() + own.used(),
  };
}

/** Creates a {@link PeerGuard} in which reserved peers have connections of their own. */
export function createDividedGuard(
  limits: ConnectionLimits,
  reserved: ReservedPlaces | undefined,
): PeerGuard {
  const others = createPeerGuard(limits);
  if (reserved === undefined) return others;
  const own = createPeerGuard(reserved.connections);
  const guardOf = (peer: string) => reserved.includes(peer) ? own : others;
  return {
    open: () => others.open() + own.open(),
    admit: (peer, nowMs, makeRoom) => guardOf(peer).admit(peer, nowMs, makeRoom),
    release: (peer) => guardOf(peer).release(peer),
  };
}
