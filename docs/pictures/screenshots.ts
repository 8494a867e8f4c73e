/** `deno task screenshots FOLDER`: pictures of the page with made-up jobs, to look at and to choose from. */
import { browser } from "../../tests/browser/chromium.ts";
import { startFakeUiServer } from "../../tests/browser/fake_ui_server.ts";
import { runInBrowser } from "../../tests/browser/in_browser.ts";

const [folder] = Deno.args;
if (folder === undefined) throw new Error("name a folder for the pictures");
const found = await browser();
if ("missing" in found) throw new Error(`there is no browser: ${found.missing}`);
await Deno.mkdir(folder, { recursive: true });
await using server = startFakeUiServer({ jobs: 60, changing: 0 });
const { code, stderr } = await runInBrowser(new URL("screenshots.mjs", import.meta.url), {
  found,
  input: { address: server.address, target: await Deno.realPath(folder) },
  timeoutMs: 180_000,
});
if (code !== 0) throw new Error(`no pictures: ${stderr}`);
