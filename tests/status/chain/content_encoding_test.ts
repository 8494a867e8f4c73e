/** Tests of compressed bodies: accepted, broken, too long, or not gzip. */
import assert from "node:assert/strict";
import { deflateSync, gzipSync } from "node:zlib";
import { packingOf, unpack } from "../../../status/chain/content_encoding.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}
function flipped(packed: Uint8Array, fromEnd: number): Uint8Array {
  return packed.map((byte, index) => index === packed.length - fromEnd ? byte ^ 1 : byte);
}

const PACKINGS: Record<string, [string | undefined, ReturnType<typeof packingOf>]> = {
  "no header": [undefined, "none"],
  "an empty one": ["", "none"],
  "identity": ["identity", "none"],
  "gzip": ["gzip", "gzip"],
  "gzip in any case, with space": [" GZip ", "gzip"],
  "the old name of gzip": ["x-gzip", "gzip"],
  "gzip twice": ["gzip, gzip", "unknown"],
  "identity and gzip": ["identity, gzip", "unknown"],
  "deflate": ["deflate", "unknown"],
  "br": ["br", "unknown"],
  "zstd": ["zstd", "unknown"],
  "a list of nothing": [",", "unknown"],
  "an unknown value": ["gzip\u0000", "unknown"],
};
for (const [sentence, [header, packing]] of Object.entries(PACKINGS)) {
  Deno.test(`\`packingOf()\` takes ${sentence} as ${packing}`, () => {
    assert.equal(packingOf(header), packing);
  });
}

const packed = gzipSync("hello");
const UNPACKED: Record<string, [Uint8Array, string]> = {
  "one member": [packed, "hello"],
  "several members": [joined(packed, gzipSync(" "), gzipSync("world")), "hello world"],
  "an empty member": [joined(gzipSync(""), packed), "hello"],
  "a body of exactly the limit": [gzipSync("x".repeat(100)), "x".repeat(100)],
};
for (const [sentence, [body, text]] of Object.entries(UNPACKED)) {
  Deno.test(`\`unpack()\` unpacks ${sentence}`, () => {
    const plain = unpack(body, 100);
    assert(plain instanceof Uint8Array, String(plain));
    assert.equal(new TextDecoder().decode(plain), text);
  });
}

const REFUSED: Record<string, [Uint8Array, "too_long" | "broken"]> = {
  "nothing": [new Uint8Array(0), "broken"],
  "plain JSON": [bytes("{}"), "broken"],
  "zlib": [deflateSync("hello"), "broken"],
  "half a header": [packed.subarray(0, 5), "broken"],
  "a header alone": [packed.subarray(0, 10), "broken"],
  "no checksum": [packed.subarray(0, -8), "broken"],
  "a byte too few": [packed.subarray(0, -1), "broken"],
  "a wrong checksum": [flipped(packed, 6), "broken"],
  "a wrong length": [flipped(packed, 2), "broken"],
  "a wrong byte in the middle": [flipped(packed, 10), "broken"],
  "garbage after the end": [joined(packed, bytes("garbage")), "broken"],
  "half a second member": [joined(packed, packed.subarray(0, -3)), "broken"],
  "a byte over the limit": [gzipSync("x".repeat(101)), "too_long"],
  "members that are too long together": [joined(gzipSync("x".repeat(99)), packed), "too_long"],
  "a bomb of 50 MB": [gzipSync(new Uint8Array(50_000_000)), "too_long"],
};
for (const [sentence, [body, want]] of Object.entries(REFUSED)) {
  Deno.test(`\`unpack()\` says that ${sentence} is ${want}`, () => {
    assert.equal(unpack(body, 100), want);
  });
}

Deno.test("`unpack()` survives every cut and every flipped byte", () => {
  const body = gzipSync(JSON.stringify({ trainerStatus: { progressPercentage: 5 } }));
  for (let cut = 0; cut < body.length; cut++) {
    assert.equal(unpack(body.subarray(0, cut), 1000), "broken");
    const outcome = unpack(flipped(body, cut + 1), 1000);
    assert(outcome === "broken" || outcome instanceof Uint8Array);
  }
});
