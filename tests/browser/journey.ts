/** Journey through the page in Debian's Chromium, before a fake server with the real assets and policy. */
import assert from "node:assert/strict";
import { browser } from "./chromium.ts";
import { startFakeUiServer } from "./fake_ui_server.ts";
import { runInBrowser } from "./in_browser.ts";

const SCRIPT = new URL("journey.mjs", import.meta.url);
const found = await browser();
const why = "missing" in found ? ` (${found.missing})` : "";

/** Options of a journey. */
export interface JourneyOptions {
  readonly sentence: string;
  readonly jobs: number;
  readonly hostile?: boolean;
}

/** The test of a journey of `journey.mjs`. */
export function journey(
  name: string,
  { sentence, ...options }: JourneyOptions,
): Deno.TestDefinition {
  return {
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
  };
}
