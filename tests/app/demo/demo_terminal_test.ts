/** Test of the demo at a terminal: its page is there until Enter, and nothing is left behind. */
import assert from "node:assert/strict";
import { milepostCommand } from "../../support/milepost_process.ts";
import { openSession } from "../../support/page_client.ts";
import { atTerminal } from "../../support/terminal.ts";

Deno.test("at a terminal the page of the demo outlives the jobs, until Enter", async () => {
  const temporary = await Deno.makeTempDir({ prefix: "milepost-demo-" });
  try {
    await using screen = atTerminal(milepostCommand("demo"), { TMPDIR: temporary });
    await screen.shows(/#code=\S+\s/);
    const address = /http:\/\/\S+#code=\S+/.exec(screen.text())?.[0] ?? "";
    const session = await openSession(address);
    await screen.shows(/until you press Enter/);
    const { rows } = JSON.parse((await session.get("/view/v1/jobs")).text);
    const states = rows.map(({ name, state }: Record<string, string>) => `${name} ${state}`);
    assert.deepEqual(states.sort(), ["failing Failed", "paused Complete", "softmax Complete"]);
    await screen.type("\r");
    assert.equal(await screen.ended(), 0, screen.text());
    assert.deepEqual([...Deno.readDirSync(temporary)], []);
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
});
