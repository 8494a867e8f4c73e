/** Test of the demo of a search as a process: its pruner stops bad trials, and only the curves are left. */
import assert from "node:assert/strict";
import { z } from "zod";
import { milepost } from "../../support/milepost_process.ts";
import { processesThatMention } from "../../support/processes.ts";

const changeSchema = z.object({
  trial: z.string(),
  state: z.string(),
  parameters: z.object({ LEARNING_RATE: z.string() }),
  value: z.number().optional(),
  message: z.string(),
});
const summarySchema = z.object({
  summary: z.array(changeSchema.extend({ steps: z.number(), ofSteps: z.number() })),
  stepsSaved: z.object({ saved: z.number(), of: z.number() }),
  curves: z.string(),
});

Deno.test("demo --search --json prunes bad trials, and leaves only the curves behind", async () => {
  const temporary = await Deno.makeTempDir({ prefix: "milepost-search-" });
  const svg = `${temporary}/curves.svg`;
  try {
    const { code, stdout, stderr } = await milepost(["demo", "--search", "--json", "--svg", svg], {
      env: { TMPDIR: temporary },
      timeoutMs: 200_000,
    });
    assert.equal(code, 0, stderr);
    const lines = stdout.trimEnd().split("\n").map((it): unknown => JSON.parse(it));
    const { summary, stepsSaved, curves } = summarySchema.parse(lines.pop());
    const changes = lines.map((it) => changeSchema.parse(it));
    assert.equal(summary.length, 24);
    for (const { trial, state, value } of summary) {
      assert.equal(value !== undefined, state === "Complete", trial);
      assert.equal(changes.findLast((it) => it.trial === trial)?.state, state);
    }
    assert.equal(new Set(summary.map((it) => it.parameters.LEARNING_RATE)).size, 24);
    const pruned = summary.filter(({ state }) => state === "EarlyStopped");
    for (const { steps, message } of pruned) {
      assert.ok(steps < 270, `${steps} steps`);
      assert.match(message, /^Pruned: .*loss/);
    }
    assert.equal(stepsSaved.of, 24 * 270);
    assert.ok(stepsSaved.saved > stepsSaved.of / 4, `${stepsSaved.saved} steps were saved`);
    assert.equal(curves, svg);
    const drawn = await Deno.readTextFile(svg);
    assert.equal(drawn.split("<polyline").length - 1, 24);
    assert.equal(drawn.split(", stopped early</title>").length - 1, pruned.length);
    assert.deepEqual([...Deno.readDirSync(temporary)].map((it) => it.name), ["curves.svg"]);
    assert.deepEqual(await processesThatMention(temporary), new Map());
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
});
