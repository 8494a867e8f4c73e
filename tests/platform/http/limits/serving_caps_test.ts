/** Tests of the caps that follow from a memory limit. */
import assert from "node:assert/strict";
import { capsWithin, type ServingCaps } from "../../../../platform/http/limits/serving_caps.ts";

const MI = 1 << 20;

const UPPER: ServingCaps = {
  maxConnections: 20_000,
  maxConnectionsPerPeer: 2_000,
  maxSilentConnections: 2_000,
  maxWebhookConnections: 2_500,
  maxWebhookConnectionsPerPeer: 500,
  maxBodyBytes: 64 * MI,
};

/** In the order of the fields of {@link ServingCaps}, the last one in MiB. */
const CASES: Record<string, { limit: number; caps: number[] }> = {
  "64 MiB, where the least caps hold": { limit: 64 * MI, caps: [655, 327, 128, 256, 128, 8] },
  "128 MiB": { limit: 128 * MI, caps: [1310, 655, 256, 256, 128, 8] },
  "256 MiB": { limit: 256 * MI, caps: [2621, 1310, 512, 512, 256, 16] },
  "512 MiB": { limit: 512 * MI, caps: [5242, 2000, 1024, 1024, 500, 32] },
  "1 GiB": { limit: 1024 * MI, caps: [10_485, 2000, 2000, 2048, 500, 64] },
  "4 GiB": { limit: 4096 * MI, caps: [20_000, 2000, 2000, 2500, 500, 64] },
  "no limit": { limit: Infinity, caps: [20_000, 2000, 2000, 2500, 500, 64] },
};

for (const [name, { limit, caps }] of Object.entries(CASES)) {
  Deno.test(`\`capsWithin()\`: ${name}`, () => {
    const { maxBodyBytes, ...connections } = capsWithin(limit, UPPER);
    assert.deepEqual([...Object.values(connections), maxBodyBytes / MI], caps);
  });
}

Deno.test("`capsWithin()` never gives more than a setting says, even below the least", () => {
  const upper = { ...UPPER, maxConnections: 10, maxBodyBytes: 1000 };
  const caps = capsWithin(512 * MI, upper);
  assert.deepEqual([caps.maxConnections, caps.maxConnectionsPerPeer], [10, 5]);
  assert.equal(caps.maxBodyBytes, 1000);
});
