/** Tests of the keys under which peer addresses are counted. */
import assert from "node:assert/strict";
import { networkKey, peerKey } from "../../../../platform/http/limits/peer_key.ts";

Deno.test("`peerKey()` counts each IPv6 address for itself, and mapped IPv4 as IPv4", () => {
  const cases: [string, string][] = [
    ["10.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6"],
    ["", ""],
  ];
  for (const [address, want] of cases) assert.equal(peerKey(address), want);
});

Deno.test("`networkKey()` is the /64 of an IPv6 address", () => {
  const cases: [string, string | undefined][] = [
    ["10.0.0.1", undefined],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["", undefined],
  ];
  for (const [address, want] of cases) assert.equal(networkKey(peerKey(address)), want);
});
