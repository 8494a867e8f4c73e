/** The demo as its users run it: it ends well, and leaves nothing behind. */
import assert from "node:assert/strict";
import { z } from "zod";
import { milepost } from "../support/milepost_process.ts";
import { processesThatMention } from "../support/processes.ts";

const summarySchema = z.object({
  summary: z.array(z.object({
    job: z.string(),
    state: z.string(),
    seconds: z.number(),
    metrics: z.record(z.string(), z.string()),
  })),
});

Deno.test("demo --json trains, shows progress, and leaves no process and no file", async () => {
  const temporary = await Deno.makeTempDir({ prefix: "milepost-demo-" });
  try {
    const { code, stdout, stderr } = await milepost(["demo", "--json"], {
      env: { TMPDIR: temporary },
      timeoutMs: 180_000,
    });
    assert.equal(code, 0, stderr);
    const lines = stdout.trimEnd().split("\n").map((line): unknown => JSON.parse(line));
    const { summary } = summarySchema.parse(lines.at(-1));
    assert.deepEqual(summary.map((it) => [it.job, it.state]), [
      ["softmax", "Complete"],
      ["failing", "Failed"],
      ["paused", "Complete"],
    ]);
    const [softmax] = summary;
    assert.ok(Number(softmax?.metrics.accuracy) > 0.9, JSON.stringify(softmax));
    const softmaxLines = lines.filter((it) => JSON.stringify(it).includes('"job":"softmax"'));
    assert.ok(softmaxLines.length >= 4, "progress was not shown as it came");
    const left = [...Deno.readDirSync(temporary)].map((it) => it.name);
    assert.deepEqual(left, []);
    assert.deepEqual(await processesThatMention(temporary), new Map());
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
});
