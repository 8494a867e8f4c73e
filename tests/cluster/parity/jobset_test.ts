/** Parity of the built-in executor with upstream's JobSet controller. */
import assert from "node:assert/strict";
import { ALLOWED_JOBSET } from "./allowed_jobset.ts";
import { JOBSETS, managedByMilepost } from "./cases/jobsets.ts";
import { ofJobSets } from "./comparable.ts";
import { describe } from "./compare.ts";
import { judgeCases } from "./differential.ts";
import { performOnBuiltInJobSet, performOnUpstreamJobSet } from "./sides.ts";

const COUNT = Object.keys(JOBSETS).length;

Deno.test(`the built-in executor does what upstream's JobSet controller does, except for the listed differences (${COUNT} cases)`, async () => {
  const judgement = await judgeCases(JOBSETS, {
    upstream: performOnUpstreamJobSet,
    milepost: (cases, atOnce) => performOnBuiltInJobSet(managedByMilepost(cases), atOnce),
    comparable: ofJobSets,
    allowed: ALLOWED_JOBSET,
  });
  assert.deepEqual(judgement.unexpected.map(describe).join("\n"), "");
  assert.deepEqual(judgement.unused, [], "listed, but not different any more");
});
