/** Pictures of the page in both themes and two widths, taken by Node. */
import { input, openBrowser } from "../../tests/browser/open_browser.mjs";

const { address, target } = input;
const JOB = "#/job/trainjobs.trainer.kubeflow.org/research/whisper-small-5";
const STATES = {
  jobs: "#/jobs",
  job: JOB,
  comparison: `${JOB}?with=trainjobs.trainer.kubeflow.org/team-b/bert-base-1`,
  pods: `${JOB}?tab=pods`,
  logs: `${JOB}?tab=logs`,
  empty: "#/jobs?text=no-such-job",
  gone: "#/job/trainjobs.trainer.kubeflow.org/research/never",
  trials: "#/search/experiments.kubeflow.org/team-a/digits",
};
const THERE = "#content .notice, #content table, #content .chart, #content pre";
const browser = await openBrowser();
for (const colorScheme of ["light", "dark"]) {
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height } });
    const page = await context.newPage();
    await page.goto(address);
    await page.locator(".jobs tbody tr").nth(4).waitFor();
    for (const [name, view] of Object.entries(STATES)) {
      await page.evaluate((it) => {
        location.hash = it;
      }, view);
      await page.locator(THERE).filter({ visible: true }).first().waitFor();
      await page.getByText("Loading").waitFor({ state: "detached" });
      await page.evaluate(() => document.fonts.ready);
      await page.waitForTimeout(700);
      await page.screenshot({ path: `${target}/page-${name}-${colorScheme}-${width}.png` });
    }
    await fetch(new URL("/control?down=true", address));
    await page.getByText(/^Disconnected/).first().waitFor();
    await page.screenshot({ path: `${target}/page-disconnected-${colorScheme}-${width}.png` });
    await fetch(new URL("/control?down=false", address));
    await page.getByText(/^Live$/).waitFor();
    await fetch(new URL("/control?rights=none", address));
    await page.evaluate(() => {
      location.hash = "#/jobs";
    });
    await page.getByText("You lack access to these jobs").waitFor();
    await page.screenshot({ path: `${target}/page-forbidden-${colorScheme}-${width}.png` });
    await fetch(new URL("/control?rights=all", address));
    await context.close();
  }
}
await browser.close();
