/** A program that opens a page and comes to a bad end, for the test of its runner. */
import process from "node:process";
import { input, openBrowser } from "./open_browser.mjs";

process.stdout.write(input.folder);
const browser = await openBrowser();
const page = await browser.newPage();
await page.goto("about:blank");
if (input.end === "fails") throw new Error("as it must");
if (input.end === "is killed") process.kill(process.pid, "SIGKILL");
// An open browser keeps the program alive.
