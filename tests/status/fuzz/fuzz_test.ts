/** Tests of the chain by requests of all kinds, against an oracle. */
import assert from "node:assert/strict";
import { hostileBench } from "../hostile/case.ts";
import { fuzz, inMemory } from "./fuzz.ts";

const SEED = 2779;

Deno.test("`createPushHandler()` answers 10,000 requests of all kinds as an oracle says", async () => {
  const bench = hostileBench();
  const counts = await fuzz(bench, inMemory(bench), { seed: SEED, runs: 10_000 });
  // All kinds were among them.
  for (const code of [200, 401, 403, 404, 405, 413, 422]) {
    assert((counts[code] ?? 0) >= 20, `${code}: ${counts[code]}`);
  }
  await bench.reviews.close();
});
