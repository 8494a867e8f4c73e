/** Tests of lists of addresses and networks. */
import assert from "node:assert/strict";
import {
  createAddressList,
  isAddressOrNetwork,
} from "../../../../platform/http/limits/address_list.ts";

const LIST = createAddressList(["10.0.0.1", "10.1.0.0/16", "fd00::1", "fd01:2::/32"]);
const PEERS: Record<string, boolean> = {
  "10.0.0.1": true,
  "10.0.0.2": false,
  "10.1.255.255": true,
  "10.2.0.0": false,
  "fd00::1": true,
  "fd00:0:0::1": true,
  "fd00::2": false,
  "fd01:2:ffff::9": true,
  "fd01:3::": false,
  "": false,
  "10.1": false,
};
for (const [peer, want] of Object.entries(PEERS)) {
  Deno.test(`\`createAddressList()\` ${want ? "includes" : "excludes"} "${peer}"`, () => {
    assert.equal(LIST(peer), want);
  });
}

Deno.test("an empty `createAddressList()` includes nobody", () => {
  assert.equal(createAddressList([])("10.0.0.1"), false);
});

Deno.test("`isAddressOrNetwork()` takes no host names, prefixes that are too long, or rests", () => {
  const good = ["1.2.3.4", "1.2.3.4/0", "1.2.3.4/32", "::", "::/0", "fe80::1/128"];
  const bad = [
    "",
    "host",
    "1.2.3",
    "1.2.3.4/33",
    "1.2.3.4/",
    "::/129",
    "1.2.3.4:80",
    "[::1]",
    "::1%a",
  ];
  assert.deepEqual(good.filter(isAddressOrNetwork), good);
  assert.deepEqual(bad.filter(isAddressOrNetwork), []);
  for (const text of bad) assert.throws(() => createAddressList([text]), TypeError);
});
