/** Windows that note when a value is painted, run by Node: the list, and a job with its curves. */
import process from "node:process";
import { input, openBrowser } from "../../tests/browser/open_browser.mjs";

const { address, views, sights } = input;
const { origin } = new URL(address);
const browser = await openBrowser();

// A value counts when the frame that has it was handed over: after the next frame has begun.
function noteSights(all) {
  globalThis.seen = [];
  const look = () => {
    const { selector, pattern } = all.find(({ at }) => location.hash.startsWith(at)) ?? {};
    const it = selector === undefined ? null : document.querySelector(selector);
    const text = it?.getAttribute("aria-label") ?? it?.textContent ?? "";
    const value = Number(new RegExp(pattern).exec(text)?.[1]);
    if (!(value > (globalThis.seen.at(-1)?.value ?? 0))) return;
    globalThis.seen.push({ value, ms: 0 });
    const mine = globalThis.seen.at(-1);
    requestAnimationFrame(() => requestAnimationFrame(() => mine.ms = Date.now()));
  };
  const watch = { subtree: true, childList: true, characterData: true, attributes: true };
  addEventListener("DOMContentLoaded", () => new MutationObserver(look).observe(document, watch));
}

const first = await browser.newPage();
await first.goto(address);
await first.locator(".jobs tbody tr").first().waitFor();
const storage = await first.evaluate(() => JSON.stringify({ ...sessionStorage }));
await first.close();
const result = {};
// Of the tabs of one window only that in front is painted at once, so each view has a window of its own.
const windows = await Promise.all(views.map(async ({ at }) => {
  const context = await browser.newContext();
  await context.addInitScript(noteSights, views);
  await context.addInitScript((text) => Object.assign(sessionStorage, JSON.parse(text)), storage);
  const page = await context.newPage();
  await page.goto(`${origin}/${at}`);
  return { at, page };
}));
for (const { at, page } of windows) {
  await page.waitForFunction((count) => globalThis.seen.length >= count, sights, {
    timeout: 150_000,
  });
  result[at] = (await page.evaluate(() => globalThis.seen)).filter(({ ms }) => ms > 0);
}
process.stdout.write(JSON.stringify(result));
await browser.close();
