/** Parity of the built-in executor with upstream's JobSet controller. */
import assert from "node:assert/strict";
import { ALLOWED_JOBSET } from "./allowed_jobset.ts";
import { JOBSETS, managedByMilepost, SINGLE_RESTARTS } from "./cases/jobsets.ts";
import { ofJobSets } from "./comparable.ts";
import { type Allowed, describe } from "./compare.ts";
import type { CaseTable } from "./case.ts";
import { judgeCases } from "./differential.ts";
import { performOnBuiltInJobSet, performOnUpstreamJobSet } from "./sides.ts";

/** Throws if the two executors differ in anything that `allowed` does not list, or no more in what it lists. */
async function compare(
  cases: CaseTable,
  { gates = [], allowed }: { gates?: readonly string[]; allowed: readonly Allowed[] },
): Promise<void> {
  const judgement = await judgeCases(cases, {
    upstream: (some, atOnce) => performOnUpstreamJobSet(some, atOnce, gates),
    milepost: (some, atOnce) => performOnBuiltInJobSet(managedByMilepost(some), atOnce),
    comparable: ofJobSets,
    allowed,
  });
  assert.deepEqual(judgement.unexpected.map(describe).join("\n"), "");
  assert.deepEqual(judgement.unused, [], "listed, but not different any more");
}

const count = (cases: CaseTable) => `${Object.keys(cases).length} cases`;

Deno.test(
  `the built-in executor does what upstream's JobSet controller does, except for the listed differences (${
    count(JOBSETS)
  })`,
  async () => {
    await compare(JOBSETS, { allowed: ALLOWED_JOBSET });
  },
);

Deno.test(
  `the built-in executor restarts single Jobs as upstream's JobSet controller does behind its gate (${
    count(SINGLE_RESTARTS)
  })`,
  async () => {
    const allowed = ALLOWED_JOBSET.filter(({ id }) =>
      id === "defaults-in-memory" || id === "stale-creations"
    );
    await compare(SINGLE_RESTARTS, { gates: ["RestartJob"], allowed });
  },
);
