/** The commands of docs/guides/kueue.md that need Kueue. */
import assert from "node:assert/strict";
import { run } from "../../support/command.ts";
import { blocksOf } from "../../docs/markdown.ts";
import type { KueueWorld } from "./world.ts";

const guide = new URL("../../../docs/guides/kueue.md", import.meta.url);
const MARK = "sh test: tests/peers/kueue_test.ts";

/** Runs the commands of the guide, one block after the other, as a user does. */
export async function guideCommands(world: KueueWorld): Promise<void> {
  const { plane, player } = world;
  const blocks = blocksOf(await Deno.readTextFile(guide)).filter(({ info }) => info === MARK);
  assert.equal(blocks.length, 5);
  const bin = `${plane.folder}/bin`;
  await Deno.mkdir(bin);
  if (plane.programs.kubectl) await Deno.symlink(plane.programs.kubectl, `${bin}/kubectl`);
  for (const { text } of blocks) {
    const { code, stdout, stderr } = await run("sh", {
      args: ["-ec", text],
      env: {
        KUBECONFIG: plane.kubeconfig,
        HOME: plane.folder,
        PATH: `${bin}:${Deno.env.get("PATH")}`,
      },
      timeoutMs: 120_000,
    });
    assert.equal(code, 0, `${text}\n${stdout}\n${stderr}`);
  }
  const jobSet = await world.trainJobThat(
    "queued",
    "runs",
    ({ status }) => status?.state === "Running",
  );
  assert.equal(jobSet.spec.suspend, false);
  player.end("queued", "node");
  await world.workloadIs("queued", "Finished");
}
