/** Test of the whole way: three lines of Python, `milepost top`, a stop from there, and a plot in a notebook. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { milepostCommand } from "../support/milepost_process.ts";
import { shellRuntime, trainJob, trainJobThat, withStandalone } from "../support/standalone.ts";
import { atTerminal } from "../support/terminal.ts";
import { testWith } from "../training/seen_training.ts";
import { SOURCES } from "./interpreter.ts";
import { executedNotebook, notebookEnvironment, notebookOf } from "./notebook.ts";

const STEPS = 6_000;
const PROGRAM = `
import milepost, time
with milepost.Run(total=${STEPS}) as run:
    for step in range(${STEPS}):
        run.push(step=step, loss=1 / (step + 1))
        time.sleep(0.1)
        if run.stop: break
open("left", "w").write(f"{step} {run.stop.reason}")`;

testWith(
  await notebookEnvironment(),
  "who pushes from Python sees it in top, stops it there, and plots it in a notebook",
  (bin) =>
    withStandalone(async ({ client, kubeconfig, folder }) => {
      const left = `${folder}/left`;
      const program = PROGRAM.replace('"left"', JSON.stringify(left));
      const command =
        `PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${SOURCES} exec python3 - <<'END'${program}\nEND`;
      await client.create(KINDS.clusterTrainingRuntime, shellRuntime("walked", command));
      // The program is told in the answer to a push, and has time to leave its loop.
      const annotations = { "trainer.kubeflow.org/early-stopping-grace": "60s" };
      await client.create(KINDS.trainJob, trainJob("walked", "walked", { annotations }));

      await using screen = atTerminal(milepostCommand("top"), { KUBECONFIG: kubeconfig });
      await screen.shows(/walked +Running .*loss 0\.\d+/);
      await screen.type("\r");
      await screen.shows(/TrainJob default\/walked/);
      await screen.type("x");
      await screen.shows(/Stop default\/walked\? y: yes/);
      await screen.type("y");
      await screen.shows(/default\/walked was told to stop/);
      await screen.shows(/EarlyStopped/);
      await screen.type("\x1b");
      await screen.type("q");
      assert.equal(await screen.ended(), 0);

      const stopped = (it: { status?: { state?: string } }) => it.status?.state === "EarlyStopped";
      await trainJobThat(client, "walked", "is stopped", stopped);
      const [step, reason] = (await Deno.readTextFile(left)).split(" ");
      assert.ok(Number(step) < STEPS - 1, `it left at step ${step}`);
      assert.equal(reason, "EarlyStopped");

      const path = `${folder}/plot.ipynb`;
      const cells = [
        "import milepost\njob = milepost.job('default/walked')\njob.state",
        "job.metrics().loss.plot()",
      ];
      await Deno.writeTextFile(path, notebookOf(...cells));
      const [state = [], plot = []] = await executedNotebook(path, {
        bin,
        env: { KUBECONFIG: kubeconfig },
        home: folder,
      });
      assert.equal(state[0]?.["text/plain"], "'EarlyStopped'");
      const png = plot.map((output) => output["image/png"]).find((it) => it !== undefined);
      assert.match(z.string().parse(png), /^iVBORw0KGgo/);
    }),
);
