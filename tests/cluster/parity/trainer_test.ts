/** Parity of Milepost with upstream's Trainer. */
import assert from "node:assert/strict";
import { ALLOWED_TRAINER } from "./allowed_trainer.ts";
import { FRAMEWORKS } from "./cases/frameworks.ts";
import { GANGS } from "./cases/gangs.ts";
import { INITIALIZERS } from "./cases/initializers.ts";
import { LIFECYCLE } from "./cases/lifecycle.ts";
import { MPI } from "./cases/mpi.ts";
import { PATCHES } from "./cases/patches.ts";
import { PLAIN } from "./cases/plain.ts";
import { REFUSALS } from "./cases/refusals.ts";
import { TEMPLATE } from "./cases/template.ts";
import { TORCH } from "./cases/torch.ts";
import { TORCHTUNE } from "./cases/torchtune.ts";
import { ofTrainer } from "./comparable.ts";
import { describe } from "./compare.ts";
import { judgeCases } from "./differential.ts";
import { performOnMilepost, performOnUpstreamTrainer } from "./sides.ts";

const CASES = {
  ...PLAIN,
  ...TORCH,
  ...TORCHTUNE,
  ...MPI,
  ...FRAMEWORKS,
  ...INITIALIZERS,
  ...TEMPLATE,
  ...PATCHES,
  ...LIFECYCLE,
  ...GANGS,
  ...REFUSALS,
};

Deno.test(`Milepost does what upstream's Trainer does, except for the listed differences (${Object.keys(CASES).length} cases)`, async () => {
  const judgement = await judgeCases(CASES, {
    upstream: performOnUpstreamTrainer,
    milepost: performOnMilepost,
    comparable: ofTrainer,
    allowed: ALLOWED_TRAINER,
  });
  assert.deepEqual(judgement.unexpected.map(describe).join("\n"), "");
  assert.deepEqual(judgement.unused, [], "listed, but not different any more");
});
