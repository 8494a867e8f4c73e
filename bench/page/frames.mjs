/** Paints and frames of the list before a fake server, run by Node. */
import process from "node:process";
import { input, openBrowser } from "../../tests/browser/open_browser.mjs";

const { address, loads, watchMs } = input;
const FRAME_US = 16_667;
const browser = await openBrowser();

/** Opens the list in a fresh context. Returns its times since the navigation began. */
async function load(rate) {
  const context = await browser.newContext();
  await context.addInitScript(() => {
    const look = () => {
      if (globalThis.rowsMs !== undefined || !document.querySelector(".jobs tbody tr")) return;
      globalThis.rowsMs = 0;
      requestAnimationFrame(() =>
        requestAnimationFrame(() => globalThis.rowsMs = performance.now())
      );
    };
    const watch = { subtree: true, childList: true };
    addEventListener("DOMContentLoaded", () => new MutationObserver(look).observe(document, watch));
  });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate });
  await page.goto(address);
  await page.waitForFunction(() => globalThis.rowsMs > 0);
  const times = await page.evaluate(() => ({
    paintMs: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
    rowsMs: globalThis.rowsMs,
  }));
  return { context, page, times };
}

/** Returns how long the page's main thread worked within each frame, in milliseconds. */
async function frames(page) {
  await browser.startTracing(page, { categories: ["toplevel", "__metadata"] });
  await new Promise((resolve) => setTimeout(resolve, watchMs));
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const mains = traceEvents.filter(({ name, args }) =>
    name === "thread_name" && args.name === "CrRendererMain"
  );
  const busy = (main) => {
    const tasks = traceEvents.filter(({ name, ph, pid, tid }) =>
      ph === "X" && name.endsWith("RunTask") && pid === main.pid && tid === main.tid
    );
    const slots = new Map();
    let endedUs = 0;
    for (const { ts, dur = 0 } of tasks.sort((a, b) => a.ts - b.ts)) {
      // A task within another is a part of it.
      if (ts < endedUs) continue;
      endedUs = ts + dur;
      const slot = Math.floor(ts / FRAME_US);
      slots.set(slot, (slots.get(slot) ?? 0) + dur / 1_000);
    }
    return [...slots.values()];
  };
  const sum = (all) => all.reduce((total, it) => total + it, 0);
  return mains.map(busy).sort((a, b) => sum(b) - sum(a))[0] ?? [];
}

const times = { plain: [], slow: [] };
for (const [name, rate] of [["warm", 1], ["plain", 1], ["slow", 4]]) {
  for (let count = 0; count < (name === "warm" ? 1 : loads); count++) {
    const { context, times: found } = await load(rate);
    times[name]?.push(found);
    await context.close();
  }
}
const { page } = await load(1);
await new Promise((resolve) => setTimeout(resolve, 3_000));
process.stdout.write(JSON.stringify({ ...times, frames: await frames(page) }));
await browser.close();
