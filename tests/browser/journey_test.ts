/** Journeys through the page in Debian's Chromium, before a fake server with the real assets and policy. */
import assert from "node:assert/strict";
import { browser } from "./chromium.ts";
import { startFakeUiServer } from "./fake_ui_server.ts";
import { runInBrowser } from "./in_browser.ts";

const SCRIPT = new URL("journey.mjs", import.meta.url);
const found = await browser();
const why = "missing" in found ? ` (${found.missing})` : "";

const journeys: Readonly<Record<string, { sentence: string; jobs: number; hostile?: boolean }>> = {
  list: { sentence: "the list of 10,000 jobs is a window that lives", jobs: 10_000 },
  hostile: { sentence: "hostile texts are text, and break no policy", jobs: 3, hostile: true },
  logs: { sentence: "a log that breaks off is read on, each line once", jobs: 5 },
  zoom: { sentence: "a chart is zoomed into by pointer and by keyboard", jobs: 5 },
  keyboard: { sentence: "a job is found, watched and stopped by keyboard alone", jobs: 50 },
  trials: {
    sentence:
      "a search of 30 trials is looked through by keyboard alone, and stopped ones are dashed",
    jobs: 20,
  },
  states: { sentence: "disconnected, forbidden, gone and an old code are said as such", jobs: 100 },
  login: { sentence: "a token logs in, is kept by its tab, and may come from a proxy", jobs: 20 },
  charts: { sentence: "odd values are drawn, and a view is in its link", jobs: 9, hostile: true },
  faults: { sentence: "what fails is said, and comes back by itself", jobs: 9 },
  asleep: { sentence: "an hour asleep is said, and ends by itself or with a new code", jobs: 9 },
  tabs: { sentence: "twelve tabs live by one connection and one code", jobs: 50 },
  alone: { sentence: "a tab without a worker has a stream of its own", jobs: 50 },
  axe: { sentence: "axe-core finds nothing serious in either theme", jobs: 60 },
};
for (const [name, { sentence, ...options }] of Object.entries(journeys)) {
  Deno.test({
    name: `in Chromium ${sentence}${why}`,
    ignore: "missing" in found,
    async fn() {
      await using server = startFakeUiServer(options);
      if ("missing" in found) return;
      const { code, stdout, stderr } = await runInBrowser(SCRIPT, {
        found,
        input: { name, address: server.address },
        timeoutMs: 180_000,
      });
      assert.equal(code, 0, `${stdout}\n${stderr}`);
      assert.deepEqual(server.reports, []);
    },
  });
}
