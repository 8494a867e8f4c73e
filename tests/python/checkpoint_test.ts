/** Test of a program that saves: its checkpoint comes to the job, and whoever starts again goes on from there. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { shellRuntime, trainJob, trainJobThat, withStandalone } from "../support/standalone.ts";
import { SOURCES, testWithPython } from "./interpreter.ts";

/** Saves, and begins anew; the second time it says what it goes on from. */
const PROGRAM = `
import milepost, os, sys
resumption = milepost.resume(patience=60)
saved = resumption.checkpoint
with milepost.Run() as run:
    if saved is None:
        run.push(step=7, loss=1.0)
        run.checkpoint(7, "/checkpoints/$(7)")
        run.close()
        # As the manager has it, also before the job shows it.
        saved = milepost.resume().checkpoint
    names = ("MILEPOST_RESTART", "MILEPOST_CHECKPOINT_STEP", "MILEPOST_CHECKPOINT")
    told = [resumption.restart, saved.step, saved.location, *(os.environ.get(name, "") for name in names)]
    print("told", *told, flush=True)
    open(f"{FOLDER}/told-{resumption.restart}", "w").write(repr(told))
    import time
    time.sleep(3600)
`;

testWithPython(
  "a checkpoint comes to the job, and to pods after a restart",
  () =>
    withStandalone(async ({ client, folder }) => {
      const program = `FOLDER = ${JSON.stringify(folder)}\n${PROGRAM}`;
      const command =
        `PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${SOURCES} exec python3 - <<'END'\n${program}\nEND`;
      await client.create(KINDS.clusterTrainingRuntime, shellRuntime("saves", command));
      await client.create(KINDS.trainJob, trainJob("saves", "saves"));
      const { status } = await trainJobThat(
        client,
        "saves",
        "shows its checkpoint",
        (job) => job.status?.checkpoint !== undefined,
      );
      const { time: _time, ...checkpoint } = status?.checkpoint ?? {};
      assert.deepEqual(checkpoint, { step: 7, location: "/checkpoints/$(7)" });
      assert.equal("checkpoint" in (status?.trainerStatus ?? {}), false);
      const toldOf = async (count: number) => {
        const path = `${folder}/told-${count}`;
        await trainJobThat(client, "saves", `has told ${count}`, () => isThere(path));
        return await Deno.readTextFile(path);
      };
      assert.equal(await toldOf(0), "[0, 7, '/checkpoints/$(7)', '', '', '']");
      const restart = { count: 1, reason: "Asked", message: "", time: new Date().toISOString() };
      const body = { status: { restart: { ...restart, time: restart.time.slice(0, 19) + "Z" } } };
      const key = { namespace: "default", name: "saves" };
      await client.patch(KINDS.trainJob, key, { type: "merge", body }, { subresource: "status" });
      const all = "'1', '7', '/checkpoints/$(7)'";
      assert.equal(await toldOf(1), `[1, 7, '/checkpoints/$(7)', ${all}]`);
    }),
);

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).size > 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
