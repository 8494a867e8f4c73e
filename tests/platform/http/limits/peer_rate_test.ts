/** Tests of the rate of work by peer, by network and in all. */
import assert from "node:assert/strict";
import { createPeerRate } from "../../../../platform/http/limits/peer_rate.ts";

const perPeer = { ratePerSecond: 10, burst: 20 };
const wide = { ratePerSecond: 1000, burst: 1000 };

Deno.test("`createPeerRate()` limits a peer by amounts, and not its neighbours", () => {
  const take = createPeerRate({ perPeer, total: wide, maxPeers: 10 });
  assert.equal(take("10.0.0.1", 0, 15), 0);
  assert.equal(take("10.0.0.1", 0, 10), 500);
  assert.equal(take("10.0.0.1", 0, 5), 0);
  assert.equal(take("10.0.0.2", 0, 20), 0);
  assert.equal(take("10.0.0.1", 1000, 10), 0);
});

Deno.test("`createPeerRate()` limits all peers together, but not by what a peer's own limit refused", () => {
  const take = createPeerRate({
    perPeer,
    total: { ratePerSecond: 10, burst: 40 },
    maxPeers: 10,
  });
  for (let i = 0; i < 10; i++) take("10.0.0.1", 0, 20);
  assert.equal(take("10.0.0.2", 0, 20), 0);
  assert.equal(take("10.0.0.3", 0, 10), 1000);
});

Deno.test("`createPeerRate()` gives a /64 of IPv6 four times the rate of a peer", () => {
  const take = createPeerRate({ perPeer, total: wide, maxPeers: 10 });
  const taken = Array.from({ length: 10 }, (_, index) => take(`fd00::${index}`, 0, 20));
  assert.equal(taken.filter((waitMs) => waitMs === 0).length, 4);
  assert.equal(take("fd00:0:0:1::1", 0, 20), 0);
});
