/** Test of four processes of PyTorch that hang: which pod is named, and which is not (`bench/stalls/naming/` has many more). */
import assert from "node:assert/strict";
import { createRuntime, type Hang, letHang } from "../../bench/stalls/naming/hanging_job.ts";
import { withStandalone } from "../support/standalone.ts";
import { debianTorch } from "./debian_torch.ts";
import { testWith } from "./seen_training.ts";

const HANGS: readonly Hang[] = ["frozen", "loader", "storage", "killed"];

testWith(
  await debianTorch(),
  "of four processes of DistributedDataParallel the one for which the others wait is named",
  (bin) =>
    withStandalone(async ({ client, folder }) => {
      await createRuntime(client);
      const world = { client, bin, folder: await Deno.makeTempDir({ dir: folder }) };
      const told = await Promise.all(
        HANGS.map((hang, rank) => letHang(world, { name: `hangs-${hang}`, hang, rank })),
      );
      for (const it of told) assert.ok(it.isRight, JSON.stringify(it));
    }),
);
