/** Test of the demo at a terminal: its page is there until Enter, and nothing is left behind. */
import assert from "node:assert/strict";
import { openSession } from "../support/page_client.ts";
import { until } from "../support/until.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;

Deno.test("at a terminal the page of the demo outlives the jobs, until Enter", async () => {
  const temporary = await Deno.makeTempDir({ prefix: "milepost-demo-" });
  // `script` gives it a terminal, and ends as it does.
  const child = new Deno.Command("script", {
    args: ["-qfec", `${Deno.execPath()} run -A --no-check ${main} demo`, "/dev/null"],
    env: { TMPDIR: temporary },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const keys = child.stdin.getWriter();
  let shown = "";
  const reading = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) shown += text;
  })();
  try {
    const address = await until("the address", () => /http:\/\/\S+#code=\S+/.exec(shown)?.[0]);
    const session = await openSession(address);
    await until("the end of the jobs", () => shown.includes("until you press Enter"), {
      timeoutMs: 180_000,
    });
    const { rows } = JSON.parse((await session.get("/view/v1/jobs")).text);
    const states = rows.map(({ name, state }: Record<string, string>) => `${name} ${state}`);
    assert.deepEqual(states.sort(), ["failing Failed", "paused Complete", "softmax Complete"]);
    await keys.write(new TextEncoder().encode("\r"));
    assert.equal((await child.status).code, 0, shown);
    assert.deepEqual([...Deno.readDirSync(temporary)], []);
  } finally {
    await keys.close().catch(() => {});
    await child.status;
    await reading;
    await Deno.remove(temporary, { recursive: true });
  }
});
