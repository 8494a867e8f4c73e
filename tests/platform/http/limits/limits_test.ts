/** Tests of buckets and connection counts. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { createPeerGuard } from "../../../../platform/http/limits/peer_guard.ts";
import { createPeers } from "../../../../platform/http/limits/peers.ts";
import { Bucket, createKeyedBuckets } from "../../../../platform/base/token_bucket.ts";

Deno.test("`Bucket.take()` lets the burst pass at once and the rate in the long run", () => {
  const limits = { ratePerSecond: 2, burst: 3 };
  const bucket = new Bucket(limits);
  for (let time = 0; time < 3; time++) assert.equal(bucket.take(0), 0);
  assert.equal(bucket.take(0), 500);
  assert.equal(bucket.take(499), 1);
  assert.equal(bucket.take(500), 0);
});

Deno.test("`Bucket.take()` never lets more pass than burst and rate together", () => {
  const steps = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 });
  fc.assert(fc.property(steps, (waits) => {
    const limits = { ratePerSecond: 7, burst: 5 };
    let nowMs = 0;
    const bucket = new Bucket(limits);
    let passed = 0;
    for (const wait of waits) {
      nowMs += wait;
      if (bucket.take(nowMs) === 0) passed += 1;
    }
    assert(passed <= limits.burst + limits.ratePerSecond * nowMs / 1000 + 1e-6);
  }));
});

Deno.test("`Bucket.take()` works also if time goes backwards", () => {
  const limits = { ratePerSecond: 1, burst: 1 };
  const bucket = new Bucket(limits);
  bucket.take(10_000);
  assert(bucket.take(0) > 0);
});

Deno.test("`Bucket.take()` refills no span of time twice, in any order of arrivals", () => {
  const limits = { ratePerSecond: 10, burst: 1 };
  const arrivals = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 100, maxLength: 100 });
  fc.assert(fc.property(arrivals, (times) => {
    const bucket = new Bucket(limits);
    let passed = 0;
    for (const nowMs of times) if (bucket.take(nowMs) === 0) passed += 1;
    assert.ok(passed <= limits.burst + limits.ratePerSecond, `${passed} passed in a second`);
  }));
});

Deno.test("`Bucket.charge()` goes into a debt of one burst at most, which time pays", () => {
  const limits = { ratePerSecond: 2, burst: 3 };
  const bucket = new Bucket(limits);
  bucket.charge(0);
  assert.equal(bucket.tokens(0), 2);
  for (let time = 0; time < 50; time++) bucket.charge(0);
  assert.equal(bucket.tokens(0), -3);
  assert.equal(bucket.take(0), 2000);
  assert.equal(bucket.take(2000), 0);
});

Deno.test("`createPeers()` refuses a peer that fails too often, unless a pod was proven there recently", () => {
  const failures = { ratePerSecond: 1, burst: 2 };
  const peers = createPeers({ failures, maxKeys: 10, provedForMs: 60_000 });
  peers.proved("shared", 0);
  for (let time = 0; time < 3; time++) {
    for (const peer of ["attacker", "shared"]) peers.failed(peer, 0, "signature");
  }
  assert.deepEqual(["attacker", "shared", "other"].map((it) => peers.isShunned(it, 0)), [
    true,
    false,
    false,
  ]);
  // Tokens that are not known are not looked at from either.
  assert.deepEqual(["attacker", "shared", "other"].map((it) => peers.waitMs(it, 0)), [
    2000,
    2000,
    0,
  ]);
  assert.equal(peers.isShunned("attacker", 2000), false);
  for (let time = 0; time < 3; time++) peers.failed("shared", 60_000, "signature");
  assert.equal(peers.isShunned("shared", 60_000), true);
});

Deno.test("`createPeers()` charges a suspect for its connections, so that they are limited to its rate", () => {
  const failures = { ratePerSecond: 2, burst: 4 };
  const peers = createPeers({ failures, maxKeys: 10, suspectedForMs: 60_000 });
  for (let time = 0; time < 4; time++) assert.equal(peers.refuseConnection("a", 0), false);
  for (let time = 0; time < 4; time++) peers.failed("a", 0, "signature");
  let taken = 0;
  for (let nowMs = 0; nowMs < 10_000; nowMs += 10) {
    if (!peers.refuseConnection("a", nowMs)) taken += 1;
  }
  assert.equal(taken, 19);
  assert.equal(peers.refuseConnection("b", 10_000), false);
  // A pod that is proved there is not held up.
  peers.proved("a", 10_000);
  assert.equal(peers.refuseConnection("a", 10_000), false);
  // Nobody who failed for a minute is suspected any more.
  assert.equal(peers.refuseConnection("a", 60_000), false);
  assert.equal(peers.refuseConnection("a", 60_000), false);
});

Deno.test("`createPeers()` counts cheap failures only for peers without a proven pod", () => {
  const peers = createPeers({ failures: { ratePerSecond: 1, burst: 2 }, maxKeys: 10 });
  peers.proved("shared", 0);
  for (let time = 0; time < 50; time++) {
    for (const peer of ["shared", "attacker"]) peers.failed(peer, 0, "nothing");
  }
  assert.deepEqual(["shared", "attacker"].map((it) => peers.waitMs(it, 0)), [0, 3000]);
  for (let time = 0; time < 2; time++) peers.failed("shared", 0, "signature");
  assert.equal(peers.waitMs("shared", 0), 1000);
});

Deno.test("`createPeers()` remembers no more peers than its limit", () => {
  const peers = createPeers({ failures: { ratePerSecond: 1, burst: 1 }, maxKeys: 2 });
  for (const peer of ["a", "b", "c"]) peers.failed(peer, 0, "signature");
  assert.deepEqual(["a", "b", "c"].map((it) => peers.isShunned(it, 0)), [false, true, true]);
});

Deno.test("`createKeyedBuckets()` keeps keys apart and forgets the longest unused", () => {
  const buckets = createKeyedBuckets({ ratePerSecond: 1, burst: 1 }, 2);
  assert.equal(buckets.take("a", 0), 0);
  assert.equal(buckets.take("b", 0), 0);
  assert.equal(buckets.waitMs("a", 0), 1000);
  assert.equal(buckets.waitMs("c", 0), 0);
  assert.equal(buckets.take("c", 0), 0);
  assert.equal(buckets.waitMs("b", 0), 0);
});

Deno.test("`createPeerGuard()` counts connections in all, by peer, and new ones", () => {
  const guard = createPeerGuard({
    total: 3,
    perPeer: 2,
    newPerPeer: { ratePerSecond: 1, burst: 4 },
    silent: 100,
    maxPeers: 10,
  });
  assert(guard.admit("a", 0));
  assert(guard.admit("a", 0));
  assert(!guard.admit("a", 0));
  assert(guard.admit("b", 0));
  assert(!guard.admit("c", 0));
  assert.equal(guard.open(), 3);
  guard.release("a");
  guard.release("unknown");
  assert(guard.admit("a", 0));
  guard.release("a");
  assert(guard.admit("a", 0));
  guard.release("a");
  assert(!guard.admit("a", 0));
  assert(guard.admit("a", 1000));
  for (const peer of ["a", "a", "b"]) guard.release(peer);
  assert.equal(guard.open(), 0);
});

const PLENTY = {
  newPerPeer: { ratePerSecond: 1000, burst: 1000 },
  silent: 1000,
  maxPeers: 1000,
};

Deno.test("`createPeerGuard()` leaves places to new peers, however many hold all that they can", () => {
  const guard = createPeerGuard({ ...PLENTY, total: 100, perPeer: 40 });
  for (const hog of ["a", "b", "c"]) while (guard.admit(hog, 0)) { /* It takes all. */ }
  assert(guard.open() < 90, `${guard.open()} of 100 are taken`);
  assert(guard.admit("new", 0));
});

Deno.test("`createPeerGuard()` makes room only for a peer that may have one more connection", () => {
  const guard = createPeerGuard({ ...PLENTY, total: 3, perPeer: 2 });
  for (const peer of ["a", "a", "b"]) assert(guard.admit(peer, 0));
  let asked = 0;
  const makeRoom = () => {
    asked += 1;
    guard.release("b");
  };
  assert(!guard.admit("a", 0, makeRoom));
  assert.equal(asked, 0);
  assert(guard.admit("new", 0, makeRoom));
  assert.deepEqual([asked, guard.open()], [1, 3]);
});

/** Addresses of one /64. */
const neighbour = (host: number) => `2001:db8::${host.toString(16)}`;

Deno.test("`createPeerGuard()` leaves room to the neighbours of an IPv6 peer, with a limit for their /64", () => {
  const guard = createPeerGuard({
    total: 100,
    perPeer: 2,
    newPerPeer: { ratePerSecond: 1, burst: 3 },
    silent: 100,
    maxPeers: 10,
  });
  const admitted = (host: number) => [1, 2, 3].filter(() => guard.admit(neighbour(host), 0)).length;
  assert.deepEqual([1, 2, 3, 4, 5].map(admitted), [2, 2, 2, 2, 0]);
  assert(guard.admit("2001:db8:1::1", 0), "another /64");
  for (let host = 1; host <= 4; host++) guard.release(neighbour(host));
  assert(guard.admit(neighbour(5), 0));
  for (let host = 1; host <= 5; host++) guard.release(neighbour(host));
  assert.equal(guard.open(), 1);
  // Twelve new ones of a /64 at once, nine of which are taken.
  assert.deepEqual([6, 7].map(admitted), [2, 1]);
});

Deno.test("`createPeers()` does not shun the neighbours of an IPv6 peer that forges tokens", () => {
  const failures = { ratePerSecond: 1, burst: 2 };
  const peers = createPeers({ failures, maxKeys: 20 });
  const forge = (host: number) => {
    for (let time = 0; time < 3; time++) peers.failed(neighbour(host), 0, "signature");
  };
  const waits = (...hosts: number[]) => hosts.map((host) => peers.waitMs(neighbour(host), 0) > 0);
  forge(1);
  assert.deepEqual(waits(1, 2), [true, false]);
  assert.equal(peers.isShunned(neighbour(2), 0), false);
  assert.equal(peers.refuseConnection(neighbour(2), 0), false);
  // Many of one /64 together exceed its budget; from where a pod was proved, the own budget alone counts.
  peers.proved(neighbour(9), 0);
  for (let host = 2; host <= 4; host++) forge(host);
  assert.deepEqual(waits(8, 9), [true, false]);
  assert.equal(peers.isShunned(neighbour(8), 0), true);
  assert.equal(peers.refuseConnection(neighbour(8), 0), true);
  assert.equal(peers.refuseConnection(neighbour(9), 0), false);
  assert.equal(peers.waitMs("2001:db8:1::1", 0), 0);
  forge(9);
  assert.deepEqual(waits(9), [true]);
});
