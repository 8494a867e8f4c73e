/** Chromium for a program of Node, whose only argument is an object of JSON with the places of things. */
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import process from "node:process";

/** What the program was given. */
export const input = JSON.parse(process.argv[2]);

/** Loads a package that is kept beside the browser's driver. */
export const require = createRequire(`${input.packages}/`);

/** Opens the browser; it closes with the program, and at the latest when the program's input ends. */
export async function openBrowser() {
  const { chromium, folder } = input;
  // All that the driver and the browser write goes there.
  Object.assign(process.env, { TMPDIR: folder, HOME: folder });
  for (const name of ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"]) {
    delete process.env[name];
  }
  const browser = await require("playwright-core").chromium.launch({
    executablePath: chromium,
    // Root has no sandbox, and nothing but pages of this house is opened.
    args: ["--no-sandbox"],
  });
  // Who reads what it says may be gone as well.
  for (const output of [process.stdout, process.stderr]) output.on("error", () => {});
  process.stdin.on("end", async () => {
    process.stderr.write("the input ended: the time is over, or who waited is gone\n");
    await browser.close().catch(() => {});
    await rm(folder, { recursive: true, force: true, maxRetries: 20 });
    process.exit(1);
  });
  process.stdin.resume();
  process.stdin.unref();
  return browser;
}
