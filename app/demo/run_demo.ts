/** The demo from start to end: a control plane in a temporary folder, the scenario, the table. */
import { startStandalone } from "../standalone/standalone.ts";
import { keepPage } from "./kept_page.ts";
import { displayOfProcess } from "./process_display.ts";
import { playScenario, wentAsPlanned } from "./scenario.ts";

/** How the demo is shown. */
export interface DemoOptions {
  readonly json: boolean;
  readonly write: (text: string) => void;
  /** Ends the demo. */
  readonly signal: AbortSignal;
}

/** Longest time of the whole demo, in milliseconds; a machine that is too slow gets an error. */
const DEADLINE_MS = 180_000;

/** Plays the demo. Throws if a job did not end as it should; leaves no process and no file. */
export async function runDemoOnScreen(options: DemoOptions): Promise<void> {
  const display = displayOfProcess(options);
  const limit = AbortSignal.timeout(DEADLINE_MS);
  const signal = AbortSignal.any([options.signal, limit]);
  display.note("Starting a control plane on this machine ...");
  const standalone = await startStandalone({ port: 0, statusPort: 0, uiPort: 0 }, signal);
  try {
    if (standalone.page) display.note(`Watch them in a browser: ${standalone.page.newAddress()}`);
    display.note("Three TrainJobs: one on two nodes, one that fails, one that is paused first.");
    const summaries = await playScenario(standalone.client, display, signal);
    if (limit.aborted) throw new Error(`the demo took more than ${DEADLINE_MS / 1000} s`);
    display.finished(summaries);
    await keepPage(standalone.page, display, options);
    if (!options.signal.aborted && !wentAsPlanned(summaries)) {
      throw new Error("a job did not end as expected; see the table");
    }
  } finally {
    await standalone.stop();
  }
}
