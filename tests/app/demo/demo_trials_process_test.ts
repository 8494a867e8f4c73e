/** Test of the demo of trials as a process: at least two stop early, and only the curves are left. */
import assert from "node:assert/strict";
import { z } from "zod";
import { milepost } from "../../support/milepost_process.ts";
import { processesThatMention } from "../../support/processes.ts";

const summarySchema = z.object({
  summary: z.array(z.object({
    job: z.string(),
    state: z.string(),
    seconds: z.number(),
    metrics: z.object({ loss: z.string() }),
    parameters: z.object({ "learning rate": z.string() }),
    steps: z.number(),
    ofSteps: z.number(),
    secondsSaved: z.number(),
    message: z.string(),
  })),
  curves: z.string(),
});

Deno.test("demo --trials --json stops the bad half early, and leaves only the curves behind", async () => {
  const temporary = await Deno.makeTempDir({ prefix: "milepost-trials-" });
  const svg = `${temporary}/curves.svg`;
  try {
    const { code, stdout, stderr } = await milepost(["demo", "--trials", "--json", "--svg", svg], {
      env: { TMPDIR: temporary },
      timeoutMs: 200_000,
    });
    assert.equal(code, 0, stderr);
    const lines = stdout.trimEnd().split("\n").map((line): unknown => JSON.parse(line));
    const { summary, curves } = summarySchema.parse(lines.at(-1));
    assert.deepEqual(
      summary.map((it) => [it.parameters["learning rate"], it.state]),
      [
        ["0.5", "Complete"],
        ["0.2", "Complete"],
        ["1", "Complete"],
        ["0.05", "EarlyStopped"],
        ["2", "Complete"],
        ["0.02", "EarlyStopped"],
      ],
    );
    for (const { state, steps, ofSteps, secondsSaved, message } of summary) {
      assert.equal(ofSteps, 30);
      // The training program tries once: what does not come through on a busy machine is not said again.
      if (state === "Complete") assert.ok(steps > 24 && steps <= 30, `${steps} steps`);
      else {
        assert.ok(steps >= 6 && steps < 30, `${steps} steps`);
        assert.ok(secondsSaved > 0);
        assert.match(message, /^loss .* is above .* at report 6$/);
      }
    }
    assert.equal(curves, svg);
    const drawn = await Deno.readTextFile(svg);
    assert.equal(drawn.split("<polyline").length - 1, 6);
    assert.equal(drawn.split(", stopped early</title>").length - 1, 2);
    assert.deepEqual([...Deno.readDirSync(temporary)].map((it) => it.name), ["curves.svg"]);
    assert.deepEqual(await processesThatMention(temporary), new Map());
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
});
