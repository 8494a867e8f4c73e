/** Parity of Milepost with upstream's Trainer. */
import assert from "node:assert/strict";
import { ALLOWED_TRAINER } from "./allowed_trainer.ts";
import { CHANGES } from "./cases/changes.ts";
import { FLUX } from "./cases/flux.ts";
import { FOREIGN } from "./cases/foreign.ts";
import { FRAMEWORKS } from "./cases/frameworks.ts";
import { GANGS } from "./cases/gangs.ts";
import { INITIALIZERS } from "./cases/initializers.ts";
import { LIFECYCLE } from "./cases/lifecycle.ts";
import { MPI } from "./cases/mpi.ts";
import { MPI_COMBINATIONS } from "./cases/mpi_combinations.ts";
import { PATCH_DETAILS } from "./cases/patch_details.ts";
import { PATCHES } from "./cases/patches.ts";
import { PLAIN } from "./cases/plain.ts";
import { REFUSALS } from "./cases/refusals.ts";
import { SEVERAL_PROBLEMS } from "./cases/several_problems.ts";
import { SHIPPED } from "./cases/shipped.ts";
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
  ...MPI_COMBINATIONS,
  ...FRAMEWORKS,
  ...FLUX,
  ...SHIPPED,
  ...INITIALIZERS,
  ...TEMPLATE,
  ...PATCHES,
  ...PATCH_DETAILS,
  ...LIFECYCLE,
  ...CHANGES,
  ...FOREIGN,
  ...GANGS,
  ...REFUSALS,
  ...SEVERAL_PROBLEMS,
};

Deno.test(`Milepost does what upstream's Trainer does, except for the listed differences (${Object.keys(CASES).length} cases)`, async () => {
  const judgement = await judgeCases(CASES, {
    upstream: performOnUpstreamTrainer,
    milepost: performOnMilepost,
    comparable: ofTrainer,
    allowed: ALLOWED_TRAINER,
  });
  // As a message, which is not cut as a difference of texts is.
  const { unexpected } = judgement;
  assert.equal(unexpected.length, 0, unexpected.map(describe).join("\n"));
  assert.deepEqual(judgement.unused, [], "listed, but not different any more");
});
