/** Test of the runner of browser programs: what they leave when they come to a bad end. */
import assert from "node:assert/strict";
import { processesThatMention } from "../support/processes.ts";
import { browser } from "./chromium.ts";
import { runInBrowser } from "./in_browser.ts";

const found = await browser();
const why = "missing" in found ? ` (${found.missing})` : "";

Deno.test("a browser is there, or it is said why not", async () => {
  if ("missing" in found) return assert.match(found.missing, /\w/);
  for (const path of [found.chromium, `${found.packages}/playwright-core`]) await Deno.stat(path);
});

for (const end of ["fails", "is killed", "hangs"]) {
  Deno.test({
    name: `a program that ${end} leaves no browser and no folder${why}`,
    ignore: "missing" in found,
    async fn() {
      if ("missing" in found) return;
      const { code, stdout } = await runInBrowser(new URL("bad_end.mjs", import.meta.url), {
        found,
        input: { end },
        timeoutMs: end === "hangs" ? 3_000 : 60_000,
      });
      assert.notEqual(code, 0);
      const folder = stdout.trim();
      assert.match(folder, /milepost-browser-/);
      assert.deepEqual([...await processesThatMention(folder)], []);
      await assert.rejects(Deno.stat(folder), Deno.errors.NotFound);
    },
  });
}
